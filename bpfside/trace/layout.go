package trace

import (
	"strconv"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// plan decides what of a target's arguments is loaded and how it is shown. All
// locations of the target have one argument string. An argument that cannot be
// read becomes a field with the reason; it costs no load.
func plan(t *usdt.Target, opts *Options) (*layout, []field) {
	m := t.Locations[0].Machine
	args := t.Locations[0].Args()
	params := t.Params
	if len(params) != len(args) {
		params = nil // nothing says which is which
	}

	described := make([]field, len(args))
	lengths := make(map[int]int)      // of an argument the one that counts its bytes
	counts := make([]bool, len(args)) // arguments that only count bytes
	for i, arg := range args {
		described[i] = describe(i, arg, nil)
		if params != nil {
			described[i] = describe(i, arg, &params[i])
			if described[i].form == formBytes {
				lengths[i] = params[i].Len
			}
		}
	}
	rules, _ := parseStringRules(opts.Strings) // withDefaults has seen to its errors
	for i, s := range findStrings(rules, t.Name, args, params) {
		f := &described[i]
		if !isAddress(f.form, args[i], m) {
			continue
		}
		f.form, f.typ = formString, "string"
		if s.len >= 0 {
			f.form, lengths[i] = formCounted, s.len
		}
	}
	for _, n := range lengths {
		counts[n] = true
	}

	l := &layout{machine: m}
	var fields []field
	var loads []int // of each field its load, -1 for none
	for i, arg := range args {
		if counts[i] {
			continue
		}
		f := described[i]
		ld := load{op: f.form.op(), arg: arg}
		f.err = readable(m, arg)
		if f.err == nil && ld.op == opBytes {
			ld.len = args[lengths[i]]
			f.err = readable(m, ld.len)
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
	_, fields := plan(&usdt.Target{Probe: *p}, &Options{})
	params := make([]Param, len(fields))
	for i, f := range fields {
		params[i] = Param{f.name, f.typ}
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
func argName(i int) string { return "arg" + strconv.Itoa(i+1) }

// isAddress reports whether the argument may be an address that the user knows
// to be one.
func isAddress(f form, arg stapsdt.Arg, m stapsdt.Machine) bool {
	return f == formPointer || (f == formInt || f == formUint) && arg.Size == m.WordSize()
}

// noteType returns what the note alone says: size and sign.
func noteType(arg stapsdt.Arg) (form, string) {
	bits := strconv.Itoa(8 * arg.Size)
	switch {
	case arg.Float && arg.Size == 4:
		return formFloat32, "float32"
	case arg.Float && arg.Size == 8:
		return formFloat64, "float64"
	case arg.Signed:
		return formInt, "int" + bits
	}
	return formUint, "uint" + bits
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
