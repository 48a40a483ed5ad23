package difftest

import (
	"fmt"
	"math/rand/v2"
)

// Config narrows what [Generate] makes.
type Config struct {
	// NoFetch leaves out the atomic operations that CPU levels v1 and v2 lack:
	// all but additions whose result nobody wants.
	NoFetch bool
	// NoCalls leaves out calls of functions that are not inlined and of helpers
	// that call back.
	NoCalls bool
}

// Context is what a program is run on.
type Context uint8

const (
	Syscall Context = iota // a struct args that it reads and writes
	Socket                 // a packet that it reads
	XDP                    // a packet that it reads and writes
)

// A Program is one random program. Every name in it starts with its Name.
type Program struct {
	Name    string // of the function that is the program
	Context Context
	Root    *Node
}

// Source returns the text of programs as one file.
func Source(progs ...*Program) string {
	text := Prelude
	for _, p := range progs {
		text += "\n" + p.Root.String()
	}
	return text
}

// gen is the state of one call of Generate.
type gen struct {
	Config
	r      *rand.Rand
	prefix string
	names  int

	types   []*Node // declarations of types
	globals []*Node // … of globals and maps
	funcs   []*Node // definitions

	structs  []*ctype // structs and unions
	enums    []string // enumerators
	enumType *ctype
	vars     []variable // globals
	maps     []bpfMap
	callees  []callee
}

// A variable is something with a name that statements read and write.
type variable struct {
	name       string
	typ        *ctype
	deref      bool // it is the object that name points at
	readOnly   bool
	constIndex bool // the verifier takes no variable offsets
	local      bool // no other function sees it
	volatile   bool
}

// A callee is a function that later ones call.
type callee struct {
	name    string
	result  *ctype
	params  []*ctype // integers, or aggregates given by value
	pointer *ctype   // what its last parameter points at, or nil
	pure    bool     // it changes nothing outside
	inlined bool
}

type bpfMap struct {
	name       string
	key, value *ctype
	entries    int
	hash       bool
	perCPU     bool
}

// Generate makes the program of a seed. The same seed, name and configuration
// give the same program.
func Generate(seed uint64, name string, cfg Config) *Program {
	g := &gen{Config: cfg, r: rand.New(rand.NewPCG(seed, 0x6e6f70)), prefix: name}
	p := &Program{Name: name}
	switch {
	case g.oneIn(4):
		p.Context = Socket
	case g.oneIn(4):
		p.Context = XDP
	}
	g.makeTypes()
	g.makeGlobals()
	g.makeMaps()
	for range g.r.IntN(4) {
		g.makeFunction()
	}
	g.makeProgram(p)
	p.Root = list(list(g.types...), list(g.globals...), list(g.funcs...))
	return p
}

func (g *gen) oneIn(n int) bool { return g.r.IntN(n) == 0 }

// name returns a new name for the kind of thing that the letter says.
func (g *gen) name(kind string) string {
	g.names++
	return fmt.Sprintf("%s_%s%d", g.prefix, kind, g.names)
}

// choose returns one of several at random.
func choose[T any](g *gen, from ...T) T { return from[g.r.IntN(len(from))] }

// intOf returns a random integer type.
func (g *gen) intType() *ctype {
	if g.oneIn(12) {
		return boolType
	}
	if g.oneIn(12) && g.enumType != nil {
		return g.enumType
	}
	return choose(g, intTypes...)
}

// makeTypes declares an enum and some structs and unions.
func (g *gen) makeTypes() {
	if g.oneIn(2) {
		g.makeEnum()
	}
	for range 1 + g.r.IntN(3) {
		g.makeAggregate()
	}
}

func (g *gen) makeEnum() {
	name := g.name("e")
	text := "enum " + name + " {\n"
	for range 2 + g.r.IntN(4) {
		e := g.name("E")
		text += e
		if g.oneIn(2) {
			text += fmt.Sprintf(" = %d", g.r.IntN(1000))
		}
		text += ",\n"
		g.enums = append(g.enums, e)
	}
	// One that makes the enum signed.
	signed := g.oneIn(3)
	if signed {
		e := g.name("E")
		text += e + " = -3,\n"
		g.enums = append(g.enums, e)
	}
	g.types = append(g.types, node(text+"};"))
	g.enumType = &ctype{kind: cEnum, name: "enum " + name, bits: 32, signed: signed}
}

// makeAggregate declares a struct or a union of some 32 bytes at most.
func (g *gen) makeAggregate() {
	name := g.name("s")
	t := &ctype{kind: cStruct, name: "struct " + name}
	if g.oneIn(5) {
		t.kind, t.name = cUnion, "union "+name
	}
	body := list()
	for len(t.fields) < 2 || len(t.fields) < 6 && !g.oneIn(4) {
		f := cfield{name: fmt.Sprintf("f%d", len(t.fields)), typ: choose(g, intTypes...)}
		switch k := g.r.IntN(20); {
		case k < 5 && t.kind == cStruct:
			f.bits = 1 + g.r.IntN(min(f.typ.bits, 40))
		case k < 8:
			f.typ = &ctype{kind: cArray, name: f.typ.name, elem: f.typ, n: choose(g, 2, 3, 4)}
		case k < 10 && len(g.structs) > 0 && t.kind == cStruct && g.structs[0].size() <= 16:
			// Not in unions: other members would show the padding.
			f.typ = g.structs[0]
		case k < 11 && t.kind == cStruct:
			f.typ = boolType
		case k < 12 && t.kind == cStruct && g.enumType != nil:
			f.typ = g.enumType
		}
		if t.kind == cUnion && f.typ.hasBool() {
			continue // another member could make it neither 0 nor 1
		}
		if t.size()+f.typ.size() > 32 {
			f.typ, f.bits = u8, 0
		}
		t.fields = append(t.fields, f)
		decl := f.typ.decl(f.name)
		if f.bits > 0 {
			decl += fmt.Sprintf(" : %d", f.bits)
		}
		body.Kids = append(body.Kids, fixedf("%s;", decl))
	}
	attr := ""
	if g.oneIn(8) {
		attr = " __attribute__((packed))"
	}
	g.types = append(g.types, named(name, t.name+" {\n$0\n}"+attr+";", body))
	g.structs = append(g.structs, t)
}

// objectType returns a type for a variable.
func (g *gen) objectType() *ctype {
	switch k := g.r.IntN(10); {
	case k < 5:
		return g.intType()
	case k < 7:
		t := choose(g, intTypes...)
		return &ctype{kind: cArray, name: t.name, elem: t, n: choose(g, 2, 4, 4, 8)}
	case k < 8:
		t := choose(g, g.structs...)
		return &ctype{kind: cArray, name: t.name, elem: t, n: 2}
	}
	return choose(g, g.structs...)
}

// makeGlobals declares variables in .data, .bss and .rodata.
func (g *gen) makeGlobals() {
	for range 3 + g.r.IntN(4) {
		v := variable{name: g.name("g"), typ: g.objectType()}
		qualifier := ""
		switch {
		case g.oneIn(5):
			v.readOnly, qualifier = true, choose(g, "const ", "const volatile ", "static const ", "static const volatile ")
		case g.oneIn(8):
			v.volatile, qualifier = true, "volatile "
		}
		if v.readOnly || g.oneIn(2) {
			g.globals = append(g.globals, named(v.name, qualifier+v.typ.decl(v.name)+" = $0;", g.constInit(v.typ)))
		} else {
			g.globals = append(g.globals, named(v.name, qualifier+v.typ.decl(v.name)+";"))
		}
		g.vars = append(g.vars, v)
	}
}

// makeMaps declares maps.
func (g *gen) makeMaps() {
	for range g.r.IntN(3) {
		m := bpfMap{name: g.name("m"), key: u32, value: g.objectType(), entries: choose(g, 1, 4, 8)}
		if m.value.kind == cBool {
			m.value = u64
		}
		kind := "BPF_MAP_TYPE_ARRAY"
		switch {
		case g.oneIn(3):
			m.hash, kind, m.key = true, "BPF_MAP_TYPE_HASH", choose(g, u32, u64, s64)
		case g.oneIn(4):
			m.perCPU, kind = true, "BPF_MAP_TYPE_PERCPU_ARRAY"
		}
		typedef := g.name("v")
		g.types = append(g.types, named(typedef, "typedef "+m.value.decl(typedef)+";"))
		g.globals = append(g.globals, named(m.name, fmt.Sprintf(
			"struct {\n__uint(type, %s);\n__uint(max_entries, %d);\n__type(key, %s);\n__type(value, %s);\n} %s SEC(\".maps\");",
			kind, m.entries, m.key.name, typedef, m.name)))
		g.maps = append(g.maps, m)
	}
}

// makeFunction defines a function that later ones call.
func (g *gen) makeFunction() {
	c := callee{name: g.name("f"), result: choose(g, intTypes...), pure: g.oneIn(2)}
	f := &fn{gen: g, result: c.result, pure: c.pure, budget: 2 + g.r.IntN(8)}
	params := ""
	for range 1 + g.r.IntN(3) {
		v := variable{name: g.name("a"), typ: choose(g, intTypes...), local: true}
		if params != "" {
			params += ", "
		}
		params += v.typ.decl(v.name)
		c.params = append(c.params, v.typ)
		f.vars = append(f.vars, v)
	}
	specifier := choose(g, "static ", "static inline ", "static __always_inline ")
	c.inlined = specifier == "static __always_inline "
	if !g.NoCalls && g.oneIn(2) {
		specifier = choose(g, "static __noinline ", "__noinline ")
	} else if g.NoCalls {
		specifier, c.inlined = "static __always_inline ", true
	}
	byValue := false
	switch {
	case c.inlined && g.oneIn(3):
		// An aggregate by value: clang has no calls that could pass it.
		v := variable{name: g.name("a"), typ: choose(g, g.structs...), local: true}
		if v.typ.size() > 16 && !g.oneIn(4) {
			v.typ = g.structs[0]
		}
		params += ", " + v.typ.decl(v.name)
		c.params = append(c.params, v.typ)
		f.vars = append(f.vars, v)
		byValue = true
		if g.oneIn(2) {
			c.result, f.result = v.typ, v.typ
		}
	case specifier != "__noinline " && g.oneIn(3):
		c.pointer = choose(g, g.structs...)
		v := variable{name: g.name("a"), typ: c.pointer, deref: true, readOnly: c.pure}
		params += ", " + c.pointer.name + " *" + v.name
		f.vars = append(f.vars, v)
	}
	if byValue {
		c.pure = false // called as a statement
	}
	if !c.pure {
		f.vars = append(f.vars, g.vars...)
	} else {
		// It may look at what is outside.
		for _, v := range g.vars {
			v.readOnly = true
			f.vars = append(f.vars, v)
		}
	}
	body := f.body()
	var ret *Node
	if c.result.scalar() {
		ret = node("return $0;", f.expr(2))
	} else {
		ret = fixedf("return %s;", f.vars[len(c.params)-1].name)
	}
	g.funcs = append(g.funcs, named(c.name, specifier+c.result.decl(c.name)+"("+params+")\n{\n$0\n$1\n}", body, ret))
	g.callees = append(g.callees, c)
}

// makeProgram defines the program itself.
func (g *gen) makeProgram(p *Program) {
	f := &fn{gen: g, result: u32, budget: 6 + g.r.IntN(24), entry: true, context: p.Context}
	f.vars = append(f.vars, g.vars...)
	head := ""
	switch p.Context {
	case Syscall:
		head = "SEC(\"syscall\")\nint " + p.Name + "(struct args *ctx)"
		f.vars = append(f.vars, variable{name: "ctx", typ: argsType, deref: true, constIndex: true})
	case Socket:
		head = "SEC(\"socket\")\nint " + p.Name + "(struct __sk_buff *ctx)"
		f.vars = append(f.vars, variable{name: "ctx->len", typ: u32, readOnly: true})
	case XDP:
		head = "SEC(\"xdp\")\nint " + p.Name + "(struct xdp_md *ctx)"
	}
	body := f.body()
	out, observe := g.name("out"), list()
	for _, v := range f.vars {
		if !v.local || v.readOnly {
			continue
		}
		place, _ := f.place(v, 1)
		observe.Kids = append(observe.Kids, stmt(fmt.Sprintf("%s[%d] += (u64)$0;", out, len(observe.Kids)), place))
	}
	g.globals = append(g.globals, named(out, fmt.Sprintf("u64 %s[%d];", out, max(1, len(observe.Kids)))))
	g.funcs = append(g.funcs, node(head+"\n{\n$0\n$1\nreturn (u32)$2;\n}", body, observe, f.expr(2)))
}
