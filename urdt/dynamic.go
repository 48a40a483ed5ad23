package urdt

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"unsafe"

	"github.com/nopfire/nopfire/internal/argument"
	"github.com/nopfire/nopfire/internal/call"
	"github.com/nopfire/nopfire/urdt/abi"
)

// A Handle is a name with a number of arguments, whose types are those of the
// values at hand. The zero value is inert.
type Handle struct {
	handle handle
	name   string // PROVIDER:NAME, "" for a handle that is no good
	nargs  int
}

// New makes the handle of a name with nargs arguments of any types that can
// travel. Provider and name are printable ASCII without ':' and blanks, at most
// 200 bytes each.
//
// If the process has a handle of another name that has the same hash and the
// same number of arguments, the error, a *CollisionError, names both. The
// handle returned with an error is inert.
func New(provider, name string, nargs int) (*Handle, error) {
	h := new(Handle)
	if nargs < 0 || nargs > abi.MaxArgs {
		return h, nameError(provider, name, fmt.Sprintf("%d arguments are not within 0..%d", nargs, abi.MaxArgs))
	}
	if err := h.handle.define(provider, name, make([]argument.Type, nargs)...); err != nil {
		return h, err
	}
	h.name, h.nargs = provider+":"+name, nargs
	return h, nil
}

// Enabled reports whether somebody traces the site of the name.
func (h *Handle) Enabled() bool { return h.handle.enabled() }

// Fire shows the values to whoever traces the name. It returns an *ArgError if
// their number is wrong or one has a type that cannot travel, whether or not
// somebody traces: a mistake shows in the first test.
func (h *Handle) Fire(values ...any) error {
	// Hidden from escape analysis: the values that the caller boxes stay on
	// its stack.
	return h.fire((*[]any)(argument.NoEscape(unsafe.Pointer(&values))))
}

//go:noinline
func (h *Handle) fire(values *[]any) error {
	if h.name == "" {
		return nil
	}
	if len(*values) != h.nargs {
		return &ArgError{Probe: h.name, Index: -1, Reason: fmt.Sprintf("%d values for %d arguments", len(*values), h.nargs)}
	}
	var args [abi.MaxArgs]argument.Arg
	var words [call.MaxArgs]uint64
	for i, v := range *values {
		op, word := valueOp(v)
		if op == 0 {
			return &ArgError{Probe: h.name, Index: i, Reason: fmt.Sprintf("a value of type %T cannot travel", v)}
		}
		args[i] = argument.Arg{Op: op, Place: place(i + 1)}
		words[i] = word
	}
	h.handle.fast(func(h *handle) {
		var f argument.Frame
		f.FillValues(args[:len(*values)], &words, *values)
		f.Registers.Words[hashPlace] = h.hashes
		call.Site(uintptr(unsafe.Pointer(h.word)), &f.Registers)
		runtime.KeepAlive(h)
		f.Release()
	})
	return nil
}

// valueOp returns how a value travels, and the word of a scalar.
func valueOp(v any) (argument.Op, uint64) {
	switch v := v.(type) { // the usual ones without reflection
	case nil:
		return argument.Uint64, 0
	case int:
		return argument.Int64, uint64(v)
	case int64:
		return argument.Int64, uint64(v)
	case uint64:
		return argument.Uint64, v
	case string:
		return argument.String, 0
	case error:
		return argument.Error, 0
	}
	r := reflect.ValueOf(v)
	switch op := argument.OpOf(r.Type()); {
	case r.CanInt():
		return op, uint64(r.Int())
	case r.CanUint():
		return op, r.Uint()
	case r.Kind() == reflect.Bool:
		if r.Bool() {
			return op, 1
		}
		return op, 0
	case r.Kind() == reflect.Float32:
		return op, uint64(math.Float32bits(float32(r.Float())))
	case r.Kind() == reflect.Float64:
		return op, math.Float64bits(r.Float())
	case op == argument.Unsafe:
		return argument.Pointer, 0 // which looks before it touches
	case op == argument.Bytes:
		return 0, 0
	default:
		return op, 0
	}
}
