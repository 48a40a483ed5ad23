package emit

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/internal/argument"
	"github.com/nopfire/nopfire/internal/call"
)

// A Type is the type of an argument of a dynamic probe.
type Type uint8

// The types of the arguments of a dynamic probe, and the values that Fire
// takes for them. A type derived from one of those, such as time.Duration, goes
// wherever that goes.
const (
	Bool    Type = iota + 1 // bool
	Int8                    // any integer that fits
	Int16                   // any integer that fits
	Int32                   // any integer that fits
	Int64                   // any integer that fits
	Uint8                   // any integer that fits
	Uint16                  // any integer that fits
	Uint32                  // any integer that fits
	Uint64                  // any integer that fits
	Float32                 // float32
	Float64                 // float64, float32
	String                  // string
	Bytes                   // []byte
	Error                   // error, nil
	Pointer                 // any pointer, unsafe.Pointer, uintptr, nil
)

// types describes the Types: their names, how they travel, and the Go type
// that gives their metadata.
var types = [...]struct {
	name string
	op   argument.Op
	kind elfgen.Kind
	size int
}{
	Bool:    {"Bool", argument.Uint8, elfgen.Bool, 1},
	Int8:    {"Int8", argument.Int8, elfgen.Int, 1},
	Int16:   {"Int16", argument.Int16, elfgen.Int, 2},
	Int32:   {"Int32", argument.Int32, elfgen.Int, 4},
	Int64:   {"Int64", argument.Int64, elfgen.Int, 8},
	Uint8:   {"Uint8", argument.Uint8, elfgen.Uint, 1},
	Uint16:  {"Uint16", argument.Uint16, elfgen.Uint, 2},
	Uint32:  {"Uint32", argument.Uint32, elfgen.Uint, 4},
	Uint64:  {"Uint64", argument.Uint64, elfgen.Uint, 8},
	Float32: {"Float32", argument.Uint32, elfgen.Float, 4},
	Float64: {"Float64", argument.Uint64, elfgen.Float, 8},
	String:  {"String", argument.String, elfgen.String, 0},
	Bytes:   {"Bytes", argument.Bytes, elfgen.Bytes, 0},
	Error:   {"Error", argument.Error, elfgen.Error, 0},
	Pointer: {"Pointer", argument.Pointer, elfgen.Pointer, 0},
}

// String returns the name of the constant.
func (t Type) String() string {
	if t == 0 || int(t) >= len(types) {
		return fmt.Sprintf("Type(%d)", uint8(t))
	}
	return types[t].name
}

// An Arg describes an argument of a dynamic probe.
type Arg struct {
	// Name is a C identifier; "" means arg1, arg2 …
	Name string
	Type Type
	// Elem is the type that a Pointer leads to, for the object's type
	// information; nil for nothing known. Fire takes pointers of every type
	// nevertheless.
	Elem reflect.Type
}

// argType translates the description.
func (a Arg) argType() argument.Type {
	if a.Type == 0 || int(a.Type) >= len(types) {
		return argument.Type{Reason: fmt.Sprintf("unknown type %d", a.Type)}
	}
	if a.Elem != nil {
		if a.Type != Pointer {
			return argument.Type{Reason: fmt.Sprintf("%s has no Elem", a.Type)}
		}
		return argument.Type{Op: argument.Pointer, Meta: argument.PointerMeta(reflect.PointerTo(a.Elem))}
	}
	t := types[a.Type]
	return argument.Type{Op: t.op, Meta: &elfgen.Type{Kind: t.kind, Size: t.size}}
}

// A Probe is the handle of a probe whose arguments are decided at run time. The
// zero value is inert.
//
// Fire takes its arguments as interfaces and checks them, so it costs some
// nanoseconds for each while nobody traces; it does not allocate.
type Probe struct {
	probe probe
	types []Type
}

// NewProbe defines a probe with the given arguments, which Load makes visible.
// ProbeOptions.Args must be nil: the arguments have their names. The handle is
// inert until the Load; it is not nil, and inert for good, if there is an error.
func NewProbe(p *Provider, name string, args []Arg, o *ProbeOptions) (*Probe, error) {
	var opts ProbeOptions
	if o != nil {
		opts = *o
	}
	h := new(Probe)
	if opts.Args != nil {
		return h, specError(p.Name(), name, -1, "", "the options name arguments that have names")
	}
	var argTypes []argument.Type
	kinds := make([]Type, 0, len(args))
	opts.Args = make([]string, 0, len(args))
	for _, a := range args {
		argTypes = append(argTypes, a.argType())
		kinds = append(kinds, a.Type)
		opts.Args = append(opts.Args, a.Name)
	}
	if err := h.probe.define(p, name, &opts, argTypes...); err != nil {
		return h, err
	}
	h.types = kinds
	return h, nil
}

// Enabled reports whether somebody traces the probe.
func (h *Probe) Enabled() bool { return h.probe.enabled() }

// Fire shows the arguments to whoever traces the probe. It returns an
// *ArgError if their number or types do not fit, whether or not somebody
// traces: a mistake shows in the first test. Only a handle that never was
// defined, because of an error or as a zero value, takes anything.
func (h *Probe) Fire(args ...any) error {
	// Hidden, as in the typed handles: the values that the caller boxes
	// stay on its stack.
	return h.fire((*[]any)(argument.NoEscape(unsafe.Pointer(&args))))
}

// FireFunc calls f and shows its results, if somebody traces the probe.
func (h *Probe) FireFunc(f func() []any) error {
	if !h.Enabled() {
		return nil
	}
	return h.Fire(f()...)
}

// Remove makes the handle inert for good. The note that tracers find vanishes
// with the last probe of those that were loaded together.
func (h *Probe) Remove() { h.probe.remove() }

//go:noinline
func (h *Probe) fire(args *[]any) error {
	if h.probe.provider == nil || h.types == nil {
		return nil
	}
	if len(*args) != len(h.types) {
		return h.argError(-1, fmt.Sprintf("%d values for %d arguments", len(*args), len(h.types)))
	}
	var words [call.MaxArgs]uint64
	for i, t := range h.types {
		var reason string
		if words[i], reason = t.check((*args)[i]); reason != "" {
			return h.argError(i, reason)
		}
	}
	if s := h.probe.site.Load(); s != nil {
		s.fireValues(&words, *args)
	}
	return nil
}

func (h *Probe) argError(i int, reason string) error {
	e := &ArgError{Provider: h.probe.provider.name, Probe: h.probe.spec.Name, Index: i, Reason: reason}
	if i >= 0 {
		e.Name = h.probe.spec.Args[i].Name
	}
	return e
}
