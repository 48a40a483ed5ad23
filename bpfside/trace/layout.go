package trace

import (
	"strconv"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// A shown argument is how an argument is named and typed.
type shown struct {
	field
	// len is the index of the argument that counts its bytes, -1 for none.
	// One that only counts is hidden.
	len    int
	hidden bool
}

// show names and types the arguments of a target, whose locations all have one
// argument string.
func show(t *usdt.Target, opts *Options) ([]stapsdt.Arg, []shown) {
	args := t.Locations[0].Args()
	all := make([]shown, len(args))
	params := t.Params
	if len(params) != len(args) {
		params = nil // nothing says which is which
	}
	for i, arg := range args {
		if params == nil {
			all[i] = shown{field: describe(i, arg, nil), len: -1}
			continue
		}
		all[i] = shown{field: describe(i, arg, &params[i]), len: -1}
		if all[i].form == formBytes {
			all[i].len = params[i].Len
		}
	}
	if len(opts.Strings) > 0 {
		rules, _ := parseStringRules(opts.Strings) // withDefaults has seen to its errors
		for i, s := range findStrings(rules, t.Name, args, params) {
			a := &all[i]
			if !isAddress(a.form, args[i], t.Locations[0].Machine) {
				continue
			}
			a.form, a.typ = formString, "string"
			if s.len >= 0 {
				a.form, a.len = formCounted, s.len
			}
		}
	}
	for i := range all {
		if n := all[i].len; n >= 0 {
			all[n].hidden = true
		}
	}
	return args, all
}

// plan decides what of a target's arguments is loaded and how it is shown. All
// locations of the target have one argument string. An argument that cannot be
// read becomes a field with the reason; it costs no load.
func plan(t *usdt.Target, opts *Options) (*layout, []field) {
	args, all := show(t, opts)
	l := &layout{machine: t.Locations[0].Machine}
	var fields []field
	var loads []int // of each field its load, -1 for none
	for i, arg := range args {
		if all[i].hidden {
			continue
		}
		f := all[i].field
		ld := load{op: f.form.op(), arg: arg}
		f.err = readable(l.machine, arg)
		if f.err == nil && ld.op == opBytes {
			ld.len = args[all[i].len]
			f.err = readable(l.machine, ld.len)
		}
		if f.err != nil {
			loads = append(loads, -1)
		} else {
			loads = append(loads, len(l.loads))
			l.loads = append(l.loads, ld)
		}
		fields = append(fields, f)
	}

	l.finish(opts.MaxString)
	for i := range fields {
		if n := loads[i]; n >= 0 {
			fields[i].slot, fields[i].area = l.loads[n].slot, l.loads[n].area
		}
	}
	return l, fields
}

// A Param is the name and the type of an argument, as the Values of its events
// have them.
type Param struct{ Name, Type string }

// Params returns the arguments that the events of a probe have, for a listing:
// those of its first location if they differ.
func Params(p *usdt.Probe) []Param {
	if len(p.Locations) == 0 {
		return nil
	}
	_, all := show(&usdt.Target{Probe: *p}, &Options{})
	params := make([]Param, 0, len(all))
	for _, a := range all {
		if !a.hidden {
			params = append(params, Param{a.name, a.typ})
		}
	}
	return params
}

// describe names and types argument i: by the metadata if there is some, else
// by the note.
func describe(i int, arg stapsdt.Arg, param *usdt.Param) field {
	f := field{name: argName(i)}
	f.form, f.typ = noteType(arg)
	if param != nil {
		if param.Name != "" {
			f.name = param.Name
		}
		if form, typ, ok := paramType(param); ok {
			f.form, f.typ = form, typ
		}
	}
	return f
}

// argName is the name of an argument without a name.
func argName(i int) string {
	if i < len(argNames) {
		return argNames[i]
	}
	return "arg" + strconv.Itoa(i+1)
}

// argNames are the names that nearly all probes get along with, made once.
var argNames = [...]string{"arg1", "arg2", "arg3", "arg4", "arg5", "arg6", "arg7", "arg8", "arg9", "arg10", "arg11", "arg12"}

// isAddress reports whether the argument may be an address that the user knows
// to be one.
func isAddress(f form, arg stapsdt.Arg, m stapsdt.Machine) bool {
	return f == formPointer || (f == formInt || f == formUint) && arg.Size == m.WordSize()
}

// noteType returns what the note alone says: size and sign.
func noteType(arg stapsdt.Arg) (form, string) {
	switch {
	case arg.Float && arg.Size == 4:
		return formFloat32, "float32"
	case arg.Float && arg.Size == 8:
		return formFloat64, "float64"
	case arg.Signed:
		return formInt, integerName("int", arg.Size, &intNames)
	}
	return formUint, integerName("uint", arg.Size, &uintNames)
}

// The usual names of integers by their size, made once.
var (
	intNames  = [9]string{1: "int8", 2: "int16", 4: "int32", 8: "int64"}
	uintNames = [9]string{1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64"}
)

// integerName returns the name of an integer type of size bytes.
func integerName(kind string, size int, usual *[9]string) string {
	if size < len(usual) && usual[size] != "" {
		return usual[size]
	}
	return kind + strconv.Itoa(8*size)
}

// paramType returns what the metadata says, false if nothing that helps.
func paramType(p *usdt.Param) (form, string, bool) {
	t := p.Type
	name := func(plain string) string {
		if t.Go != "" {
			return t.Go
		}
		return plain
	}
	bits := strconv.Itoa(8 * t.Size)
	switch t.Kind {
	case usdt.Int:
		return formInt, name("int" + bits), true
	case usdt.Uint:
		return formUint, name("uint" + bits), true
	case usdt.Bool:
		return formBool, name("bool"), true
	case usdt.Float:
		if t.Size == 4 {
			return formFloat32, name("float32"), true
		}
		return formFloat64, name("float64"), true
	case usdt.String:
		return formString, name("string"), true
	case usdt.Error:
		return formString, name("error"), true
	case usdt.Bytes:
		if p.Len == 0 {
			return formPointer, name("*byte"), true
		}
		if t.Go == "[]uint8" { // reflection's name for it
			return formBytes, "[]byte", true
		}
		return formBytes, name("[]byte"), true
	case usdt.Pointer:
		return formPointer, name(pointerName(t.Elem)), true
	}
	return 0, "", false
}

// pointerName spells the type of a pointer to elem.
func pointerName(elem *usdt.Type) string {
	switch {
	case elem == nil:
		return "unsafe.Pointer"
	case elem.Go != "":
		return "*" + elem.Go
	case elem.Kind == usdt.Struct && elem.Name != "":
		return "*" + elem.Name
	}
	return "*" + elem.Kind.String()
}

// readable returns why a program cannot load the argument, nil if it can.
func readable(m stapsdt.Machine, arg stapsdt.Arg) error {
	_, err := loadWord(m, arg)
	return err
}
