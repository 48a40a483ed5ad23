package elfgen

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Limits of a spec. Names are short enough to stand, with a hash and a suffix,
// in a file name (NAME_MAX, 255) and in the name of a memfd (249); the others
// keep an object within what 32-bit offsets and readers bear.
const (
	// MaxName is the largest length of the name of a provider, probe,
	// argument, struct or field, in bytes.
	MaxName = 200
	// MaxProbes is the largest number of probes of one object.
	MaxProbes = 1 << 16
	// MaxTypeDepth is how deep types may nest, pointers included.
	MaxTypeDepth = 64
	// MaxTypes is the largest number of types that one argument may refer
	// to, directly or through others, and of fields of a struct.
	MaxTypes = 1 << 14
	// MaxTypeSize is the largest size of a struct or array in bytes: BTF
	// counts the bits of an offset in 32 bits.
	MaxTypeSize = 1 << 28
)

// A SpecError says what is wrong with a spec, and where.
type SpecError struct {
	// Provider is the name of the provider, "" if a probe was checked
	// alone.
	Provider string
	// Probe and Argument are the names of what is at fault; ProbeIndex and
	// ArgumentIndex their places in the spec, counted from 0 (the text counts
	// from 1), -1 if the fault lies above.
	Probe, Argument           string
	ProbeIndex, ArgumentIndex int
	// Reason is the fault, for instance "name contains ':'".
	Reason string
}

func (e *SpecError) Error() string {
	var b strings.Builder
	b.WriteString("spec of ")
	where := func(what, name string, index int) {
		if index < 0 {
			return
		}
		b.WriteString(what)
		if name != "" {
			b.WriteString(strconv.Quote(name))
		} else {
			b.WriteString("number " + strconv.Itoa(index+1))
		}
		b.WriteString(": ")
	}
	if e.Provider != "" || e.ProbeIndex < 0 {
		b.WriteString("provider " + strconv.Quote(e.Provider) + ": ")
	}
	where("probe ", e.Probe, e.ProbeIndex)
	where("argument ", e.Argument, e.ArgumentIndex)
	b.WriteString(e.Reason)
	return b.String()
}

// faults collects what is wrong with a spec.
type faults struct {
	provider string
	errs     []error
}

func (f *faults) add(probe string, probeIndex int, arg string, argIndex int, format string, args ...any) {
	f.errs = append(f.errs, &SpecError{
		Provider: f.provider,
		Probe:    probe, ProbeIndex: probeIndex,
		Argument: arg, ArgumentIndex: argIndex,
		Reason: fmt.Sprintf(format, args...),
	})
}

// Validate reports whether Build accepts the spec: the joined SpecErrors of
// all its faults, or nil. A provider without probes is valid, though Build
// has nothing to make of it.
func (p *ProviderSpec) Validate() error {
	f := faults{provider: p.Name}
	if why := nameFault(p.Name); why != "" {
		f.add("", -1, "", -1, "%s", why)
	}
	if len(p.Probes) > MaxProbes {
		f.add("", -1, "", -1, "%d probes, at most %d", len(p.Probes), MaxProbes)
		return errors.Join(f.errs...)
	}
	for i := range p.Probes {
		p.Probes[i].validate(&f, i)
	}
	findDuplicates(len(p.Probes),
		func(i int) string { return p.Probes[i].Name },
		func(i, first int) {
			f.add(p.Probes[i].Name, i, "", -1, "same name as probe number %d", first+1)
		})
	return errors.Join(f.errs...)
}

// Validate reports whether a provider may hold the probe: the joined
// SpecErrors of all its faults, or nil.
func (p *ProbeSpec) Validate() error {
	var f faults
	p.validate(&f, 0)
	return errors.Join(f.errs...)
}

func (p *ProbeSpec) validate(f *faults, index int) {
	if why := nameFault(p.Name); why != "" {
		f.add(p.Name, index, "", -1, "%s", why)
	}
	places := 0
	for i := range p.Args {
		a := &p.Args[i]
		if a.Name != "" {
			if why := identifierFault(a.Name); why != "" {
				f.add(p.Name, index, a.Name, i, "%s", why)
			}
		}
		if why := argTypeFault(a.Type); why != "" {
			f.add(p.Name, index, a.Name, i, "%s", why)
			continue
		}
		places += a.Type.places()
	}
	if places > MaxArgs {
		f.add(p.Name, index, "", -1, "arguments take %d places, at most %d (a []byte takes two)", places, MaxArgs)
		return
	}
	var names [MaxArgs]string
	var owner [MaxArgs]int
	n := 0
	for i := range p.Args {
		if p.Args[i].Type == nil || len(p.Args) > MaxArgs {
			return // reported above
		}
		for j := range p.Args[i].Type.places() {
			names[n], owner[n] = paramName(p.Args, i, j), i
			n++
		}
	}
	findDuplicates(n, func(i int) string { return names[i] }, func(i, first int) {
		f.add(p.Name, index, p.Args[owner[i]].Name, owner[i], "parameter name %q is taken by argument number %d", names[i], owner[first]+1)
	})
}

// findDuplicates calls found for every name that occurred before.
func findDuplicates(n int, name func(int) string, found func(i, first int)) {
	if n <= 16 { // quicker than a map, and allocates nothing
		for i := 1; i < n; i++ {
			for j := range i {
				if name(i) == name(j) {
					found(i, j)
					break
				}
			}
		}
		return
	}
	seen := make(map[string]int, n)
	for i := range n {
		if first, ok := seen[name(i)]; ok {
			found(i, first)
			continue
		}
		seen[name(i)] = i
	}
}

// nameFault says what is wrong with the name of a provider or probe.
func nameFault(s string) string {
	if s == "" {
		return "name is empty"
	}
	if len(s) > MaxName {
		return fmt.Sprintf("name has %d bytes, at most %d", len(s), MaxName)
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c == 0:
			return fmt.Sprintf("name contains NUL at byte %d", i)
		case c == ':':
			return fmt.Sprintf("name contains ':' at byte %d", i)
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			return fmt.Sprintf("name contains a blank at byte %d", i)
		case c < '!' || c > '~':
			return fmt.Sprintf("name contains %#02x at byte %d, which is not printable ASCII", c, i)
		}
	}
	return ""
}

// identifierFault says why s is no C identifier.
func identifierFault(s string) string {
	if len(s) > MaxName {
		return fmt.Sprintf("name has %d bytes, at most %d", len(s), MaxName)
	}
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return fmt.Sprintf("name is no C identifier: byte %d is %q", i, c)
		}
	}
	return ""
}

// places returns how many registers an argument of the type takes, 0 for a
// type that cannot be an argument.
func (t *Type) places() int {
	switch t.Kind {
	case Int, Uint, Bool, Float, String, Error, Pointer:
		return 1
	case Bytes:
		return 2
	}
	return 0
}

// argTypeFault says why t cannot be the type of an argument.
func argTypeFault(t *Type) string {
	if t == nil {
		return "no type"
	}
	switch t.Kind {
	case Struct, Array:
		return "a struct or array travels by pointer only"
	case Pointer:
		if t.Elem == nil {
			return goNameFault(t.Go)
		}
		w := typeWalk{state: make(map[*Type]walkState)}
		return w.all(t)
	}
	if why := goNameFault(t.Go); why != "" {
		return why
	}
	return scalarFault(t)
}

// scalarFault checks kind and size of a type without parts.
func scalarFault(t *Type) string {
	switch t.Kind {
	case Int, Uint:
		if t.Size != 1 && t.Size != 2 && t.Size != 4 && t.Size != 8 {
			return fmt.Sprintf("integer of %d bytes: 1, 2, 4 or 8", t.Size)
		}
	case Float:
		if t.Size != 4 && t.Size != 8 {
			return fmt.Sprintf("float of %d bytes: 4 or 8", t.Size)
		}
	case Bool, String, Bytes, Error:
	default:
		return fmt.Sprintf("unsupported kind %d", t.Kind)
	}
	return ""
}

// goNameFault checks a Go spelling, which ends in a string of BTF.
func goNameFault(s string) string {
	if len(s) > 4*MaxName {
		return fmt.Sprintf("Go type name has %d bytes, at most %d", len(s), 4*MaxName)
	}
	if strings.IndexByte(s, 0) >= 0 {
		return "Go type name contains NUL"
	}
	return ""
}

// A typeWalk checks a type that has parts, each part once. What a pointer to a
// struct refers to is put off, so that only types nested in each other without
// such a pointer are on the stack, and a type found there again is a fault:
// neither C nor BTF can spell it.
type typeWalk struct {
	state map[*Type]walkState
	later []*Type
}

type walkState uint8

const (
	unseen walkState = iota
	open
	done
)

// all checks t and everything that it refers to.
func (w *typeWalk) all(t *Type) string {
	w.later = append(w.later, t)
	for len(w.later) > 0 {
		t := w.later[len(w.later)-1]
		w.later = w.later[:len(w.later)-1]
		if why := w.fault(t, 0); why != "" {
			return why
		}
	}
	return ""
}

func (w *typeWalk) fault(t *Type, depth int) string {
	switch {
	case w.state[t] == done:
		return ""
	case w.state[t] == open:
		return "type refers to itself without a pointer to a struct between"
	case depth > MaxTypeDepth:
		return fmt.Sprintf("type nests deeper than %d", MaxTypeDepth)
	case len(w.state) >= MaxTypes:
		return fmt.Sprintf("type refers to more than %d types", MaxTypes)
	}
	w.state[t] = open
	defer func() { w.state[t] = done }()
	if why := goNameFault(t.Go); why != "" {
		return why
	}
	switch t.Kind {
	case Pointer:
		switch {
		case t.Elem == nil:
			return ""
		case t.Elem.Kind == Struct:
			w.later = append(w.later, t.Elem)
			return ""
		}
		return w.fault(t.Elem, depth+1)
	case Array:
		return w.arrayFault(t, depth)
	case Struct:
		return w.structFault(t, depth)
	}
	return scalarFault(t)
}

func (w *typeWalk) arrayFault(t *Type, depth int) string {
	if t.Elem == nil {
		return "array without element type"
	}
	if why := w.fault(t.Elem, depth+1); why != "" {
		return why
	}
	// By division: the product could overflow.
	if size := t.Elem.memorySize(); t.Len < 0 || t.Len > MaxTypeSize/max(1, size) {
		return fmt.Sprintf("array of %d elements of %d bytes: at most %d bytes", t.Len, size, MaxTypeSize)
	}
	return ""
}

func (w *typeWalk) structFault(t *Type, depth int) string {
	switch {
	case t.Size < 0 || t.Size > MaxTypeSize:
		return fmt.Sprintf("struct %q of %d bytes: at most %d", t.Name, t.Size, MaxTypeSize)
	case len(t.Fields) > MaxTypes:
		return fmt.Sprintf("struct %q has %d fields, at most %d", t.Name, len(t.Fields), MaxTypes)
	case len(t.Name) > MaxName:
		return fmt.Sprintf("struct name has %d bytes, at most %d", len(t.Name), MaxName)
	}
	end := 0
	for i := range t.Fields {
		f := &t.Fields[i]
		if len(f.Name) > MaxName {
			return fmt.Sprintf("field name of struct %q has %d bytes, at most %d", t.Name, len(f.Name), MaxName)
		}
		if f.Type == nil {
			return fmt.Sprintf("field %q of struct %q has no type", f.Name, t.Name)
		}
		if why := w.fault(f.Type, depth+1); why != "" {
			return fmt.Sprintf("field %q of struct %q: %s", f.Name, t.Name, why)
		}
		size := f.Type.memorySize()
		if f.Offset < end || f.Offset > t.Size || size > t.Size-f.Offset {
			return fmt.Sprintf("field %q of struct %q: %d bytes at offset %d overlap the field before or the end at %d", f.Name, t.Name, size, f.Offset, t.Size)
		}
		end = f.Offset + size
	}
	return ""
}
