package trace

import (
	"fmt"
	"strconv"

	"github.com/nopfire/nopfire/bpfside/trace/internal/body"
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

// plan decides what the program does for the hits of a target that a clause has
// selected, and how the values are shown. All locations of the target have one
// argument string. An argument that cannot be read becomes a field with the reason;
// it costs no load.
func plan(t *usdt.Target, c *clause, opts *Options, compile func(*body.Input) (*compiled, error)) (*layout, []field, error) {
	args, all := show(t, opts)
	params := t.Params
	if len(params) != len(args) {
		params = nil
	}
	sources, fn, err := c.sources(args, all, params, compile)
	if err != nil {
		return nil, nil, err
	}
	l := &layout{machine: t.Locations[0].Machine}
	if fn != nil {
		if l.body, err = planBody(fn, l.machine, args); err != nil {
			return nil, nil, err
		}
	}
	p := planner{l: l, args: args, all: all}
	for i, capture := range c.Capture {
		p.capture(capture, sources[i])
	}
	if c.Capture == nil && !c.counts() {
		for i := range args {
			if !all[i].hidden {
				p.argument(i, all[i].field)
			}
		}
	}
	if c.counts() {
		l.count = &counting{clause: c}
		if c.Value != "" {
			if err := p.number(sources[len(c.Capture)], c.Value); err != nil {
				return nil, nil, err
			}
		}
		l.finishKey(opts.MaxString)
		if err := l.fits(); err != nil {
			return nil, nil, err
		}
	} else {
		l.finish(opts.MaxString)
	}
	for i := range p.fields {
		if n := p.loads[i]; n >= 0 {
			f, ld := &p.fields[i], &l.loads[n]
			f.load, f.slot, f.area, f.max = n, ld.slot, ld.area, l.maxString
		}
	}
	return l, p.fields, nil
}

// A planner gathers the loads of a layout and the fields that they become.
type planner struct {
	l      *layout
	args   []stapsdt.Arg
	all    []shown
	fields []field
	loads  []int // of each field its load, -1 for none
}

// add adds a field, and its load unless it has a reason against it.
func (p *planner) add(f field, ld load) {
	at := -1
	if f.err == nil {
		at = len(p.l.loads)
		p.l.loads = append(p.l.loads, ld)
	}
	p.fields, p.loads = append(p.fields, f), append(p.loads, at)
}

// argument adds an argument.
func (p *planner) argument(i int, f field) {
	ld := load{op: f.form.op(), arg: p.args[i], value: -1}
	f.err = readable(p.l.machine, ld.arg)
	if f.err == nil && ld.op == opBytes {
		ld.len = p.args[p.all[i].len]
		f.err = readable(p.l.machine, ld.len)
	}
	p.add(f, ld)
}

// capture adds a capture, whose value comes from a source.
func (p *planner) capture(c Capture, src source) {
	f := field{name: c.Name}
	if f.name == "" {
		f.name = c.Expr
	}
	switch {
	case src.comm:
		f.typ, f.form = "string", formComm
		p.add(f, load{op: opComm, value: -1})
	case src.arg >= 0:
		shown := p.all[src.arg].field
		f.typ, f.form = shown.typ, shown.form
		if c.String && isAddress(f.form, p.args[src.arg], p.l.machine) {
			f.typ, f.form = "string", formString
		}
		p.argument(src.arg, f)
	default:
		f.typ, f.form = src.Type, computedForm(&src.Value)
		if c.String && (f.form == formPointer || (f.form == formInt || f.form == formUint) && src.Size == p.l.machine.WordSize()) {
			f.typ, f.form = "string", formString
		}
		ld := load{op: f.form.op(), value: src.value, needs: src.Args}
		if src.Kind == body.Header {
			ld.op = opHeader
		}
		f.err = p.unreadable(src.Args)
		p.add(f, ld)
	}
}

// unreadable returns why one of some arguments cannot be read, nil if all can.
func (p *planner) unreadable(mask uint16) error {
	for i, arg := range p.args {
		if mask&(1<<i) != 0 {
			if err := readable(p.l.machine, arg); err != nil {
				return err
			}
		}
	}
	return nil
}

// number makes a source the number that a histogram counts.
func (p *planner) number(src source, expr string) error {
	form, typ := computedForm(&src.Value), src.Type
	ld := load{op: opWord, value: src.value, needs: src.Args}
	if src.arg >= 0 {
		form, typ = p.all[src.arg].form, p.all[src.arg].typ
		ld.value, ld.arg = -1, p.args[src.arg]
		if err := readable(p.l.machine, ld.arg); err != nil {
			return fmt.Errorf("value %s: %w", expr, err)
		}
	}
	if err := p.unreadable(src.Args); err != nil {
		return fmt.Errorf("value %s: %w", expr, err)
	}
	switch {
	case src.comm || form == formFloat32 || form == formFloat64 || form.op() != opWord:
		return &misfit{errs: []*ExprError{{Expr: expr, Off: -1, Msg: "no integer, which the value of a histogram has to be"}}}
	case form == formInt:
		p.l.count.signed = true
	}
	p.l.count.value, p.l.count.typ = ld, typ
	return nil
}

// computedForm returns the form of a value that a function has left.
func computedForm(v *body.Value) form {
	switch v.Kind {
	case body.Uint:
		return formUint
	case body.Bool:
		return formBool
	case body.Pointer:
		return formPointer
	case body.String:
		return formString
	case body.Header:
		if v.Type == "string" {
			return formCounted
		}
		return formBytes
	case body.Float:
		if v.Size == 4 {
			return formFloat32
		}
		return formFloat64
	}
	return formInt
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
