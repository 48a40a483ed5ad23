package argument

import (
	"fmt"
	"reflect"

	"github.com/nopfire/nopfire/elfgen"
)

// A Type is the type of an argument: how it travels and what the object
// says of it, or the reason why it cannot.
type Type struct {
	Op     Op
	Meta   *elfgen.Type
	Reason string // "" if it can travel
}

// TypeFor returns the argument type for a Go type.
func TypeFor[T any]() Type { return typeOf(reflect.TypeFor[T]()) }

func typeOf(t reflect.Type) Type {
	kind := t.Kind()
	op := OpOf(t)
	meta := &elfgen.Type{Go: goName(t)}
	switch op {
	case String:
		meta.Kind = elfgen.String
	case Bytes:
		meta.Kind = elfgen.Bytes
	case Error:
		meta.Kind, meta.Go = elfgen.Error, ""
	case Pointer, Unsafe:
		meta.Kind = elfgen.Pointer
		if kind == reflect.Pointer {
			meta = PointerMeta(t)
		}
	case 0:
		return Type{Reason: reason(t)}
	default:
		meta.Kind, meta.Size = scalarMeta(t)
	}
	return Type{Op: op, Meta: meta}
}

// OpFor returns how values of a Go type travel, 0 if they cannot. Unlike
// TypeFor it allocates nothing.
func OpFor[T any]() Op { return OpOf(reflect.TypeFor[T]()) }

// OpOf is OpFor for a type of reflection.
func OpOf(t reflect.Type) Op {
	kind := t.Kind()
	if op := scalarOp(kind); op != 0 {
		return op
	}
	switch {
	case kind == reflect.String:
		return String
	case kind == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return Bytes
	case t == reflect.TypeFor[error]():
		return Error
	case kind == reflect.Pointer:
		if t.Elem().Size() == 0 {
			return Unsafe // nothing there to touch
		}
		return Pointer
	case kind == reflect.UnsafePointer:
		return Unsafe
	}
	return 0
}

// reason says why values of a type cannot travel.
func reason(t reflect.Type) string {
	switch kind := t.Kind(); kind {
	case reflect.Interface:
		return fmt.Sprintf("type %s is an interface; error is the only one that can travel", t)
	case reflect.Struct, reflect.Array:
		return fmt.Sprintf("type %s is a %s; a pointer to one can travel", t, kind)
	}
	return fmt.Sprintf("type %s cannot travel", t)
}

// scalarOp returns how a value of one word or less travels, 0 for others.
func scalarOp(k reflect.Kind) Op {
	switch k {
	case reflect.Int8:
		return Int8
	case reflect.Int16:
		return Int16
	case reflect.Int32:
		return Int32
	case reflect.Int64:
		return Int64
	case reflect.Bool, reflect.Uint8:
		return Uint8
	case reflect.Uint16:
		return Uint16
	case reflect.Uint32, reflect.Float32:
		return Uint32
	case reflect.Uint64, reflect.Float64:
		return Uint64
	case reflect.Int:
		return intOp
	case reflect.Uint, reflect.Uintptr:
		return uintOp
	}
	return 0
}

// scalarMeta returns what the object says of a scalar.
func scalarMeta(t reflect.Type) (elfgen.Kind, int) {
	size := int(t.Size())
	switch t.Kind() {
	case reflect.Bool:
		return elfgen.Bool, size
	case reflect.Float32, reflect.Float64:
		return elfgen.Float, size
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return elfgen.Int, size
	}
	return elfgen.Uint, size
}

// goName returns the Go spelling of a type that C lacks, "" for the
// predeclared types and for names too long to be of use.
func goName(t reflect.Type) string {
	if t.Name() != "" && t.PkgPath() == "" && t.Kind() != reflect.Complex64 && t.Kind() != reflect.Complex128 {
		return ""
	}
	if s := t.String(); len(s) <= elfgen.MaxName {
		return s
	}
	return ""
}
