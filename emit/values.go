package emit

import (
	"fmt"
	"math"
	"reflect"
	"runtime"

	"github.com/nopfire/nopfire/internal/argument"
	"github.com/nopfire/nopfire/internal/call"
)

// check reports why a value does not fit the type, "" if it does, and returns
// the word that a scalar travels as.
func (t Type) check(v any) (word uint64, reason string) {
	switch t {
	case Bool:
		if b, ok := v.(bool); ok {
			return boolWord(b), ""
		}
		if r := reflect.ValueOf(v); r.Kind() == reflect.Bool {
			return boolWord(r.Bool()), ""
		}
	case Int8, Int16, Int32, Int64:
		if w, negative, ok := integer(v); ok {
			return t.checkInt(w, negative)
		}
	case Uint8, Uint16, Uint32, Uint64:
		if w, negative, ok := integer(v); ok {
			return t.checkUint(w, negative)
		}
	case Float32:
		// reflect gives a float64 that is exactly the float32.
		if r := reflect.ValueOf(v); r.Kind() == reflect.Float32 {
			return uint64(math.Float32bits(float32(r.Float()))), ""
		}
	case Float64:
		if f, ok := v.(float64); ok {
			return math.Float64bits(f), ""
		}
		if r := reflect.ValueOf(v); r.CanFloat() {
			return math.Float64bits(r.Float()), ""
		}
	case String:
		if _, ok := v.(string); ok || kindOf(v) == reflect.String {
			return 0, ""
		}
	case Bytes:
		if _, ok := v.([]byte); ok || isBytes(v) {
			return 0, ""
		}
	case Error:
		if _, ok := v.(error); ok || v == nil {
			return 0, ""
		}
	case Pointer:
		switch kindOf(v) {
		case reflect.Invalid, reflect.Pointer, reflect.UnsafePointer:
			return 0, ""
		case reflect.Uintptr:
			return reflect.ValueOf(v).Uint(), ""
		}
	}
	if v == nil {
		return 0, "nil does not fit " + t.String()
	}
	return 0, fmt.Sprintf("%s does not fit %s", reflect.TypeOf(v), t)
}

// kindOf returns the kind of a value, Invalid for nil.
func kindOf(v any) reflect.Kind {
	if v == nil {
		return reflect.Invalid
	}
	return reflect.TypeOf(v).Kind()
}

func isBytes(v any) bool {
	return kindOf(v) == reflect.Slice && reflect.TypeOf(v).Elem().Kind() == reflect.Uint8
}

func boolWord(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// integer returns the 64 bits of any integer and whether it is below zero.
func integer(v any) (word uint64, negative, ok bool) {
	switch x := v.(type) { // the usual ones without reflection
	case int:
		return uint64(x), x < 0, true
	case int64:
		return uint64(x), x < 0, true
	case int32:
		return uint64(x), x < 0, true
	case uint64:
		return x, false, true
	case uint32:
		return uint64(x), false, true
	case uint8:
		return uint64(x), false, true
	}
	switch r := reflect.ValueOf(v); {
	case r.CanInt():
		return uint64(r.Int()), r.Int() < 0, true
	case r.CanUint():
		return r.Uint(), false, true
	}
	return 0, false, false
}

// checkInt checks that an integer fits a signed type.
func (t Type) checkInt(w uint64, negative bool) (uint64, string) {
	shift := 64 - 8*types[t].size
	if i := int64(w); (i < 0) == negative && i<<shift>>shift == i {
		return w, ""
	}
	return 0, overflow(t, w, negative)
}

// checkUint checks that an integer fits an unsigned type.
func (t Type) checkUint(w uint64, negative bool) (uint64, string) {
	shift := 64 - 8*types[t].size
	if !negative && w<<shift>>shift == w {
		return w, ""
	}
	return 0, overflow(t, w, negative)
}

func overflow(t Type, w uint64, negative bool) string {
	if negative {
		return fmt.Sprintf("%d overflows %s", int64(w), t)
	}
	return fmt.Sprintf("%d overflows %s", w, t)
}

// fireValues is the slow path of the dynamic handle, behind the check of the
// values: words are the scalars among them.
func (s *site) fireValues(words *[call.MaxArgs]uint64, values []any) {
	if !s.traced() {
		return
	}
	var f argument.Frame
	f.FillValues(s.args, words, values)
	call.Site(s.entry, &f.Registers)
	runtime.KeepAlive(s)
	f.Release()
}
