package body

import "github.com/nopfire/nopfire/bpfside/usdt"

// member writes x.f and x->f. Where the type of x is known, what is wrong with it
// is said here, by the names that the user knows.
func (p *printer) member(n *node) {
	x := n.args[0]
	p.fields[n.text] = true
	t := p.typeOf(x)
	s := t
	if n.op == "->" {
		switch {
		case t == nil:
		case t.Kind == usdt.Pointer || t.Kind == usdt.Array:
			s = t.Elem
		case t.Kind == usdt.Struct:
			p.fail(n.opOff, true, "%s is a struct, not a pointer to one: use a dot", printable(p.structs.name(t)))
		case isText(t):
			p.fail(n.opOff, true, "a string has no fields")
		default:
			p.fail(n.opOff, true, "a number has no fields: cast it to a pointer to a struct")
		}
	}
	switch {
	case t == nil:
	case s == nil || s.Kind == usdt.Unknown:
		p.fail(n.opOff, true, "what this points to is not known")
	case n.op == "." && (s.Kind == usdt.Pointer || s.Kind == usdt.String || s.Kind == usdt.Bytes):
		p.fail(n.opOff, true, "this is a pointer: use ->")
	case s.Kind != usdt.Struct:
		p.fail(n.opOff, true, "this is no struct, and has no fields")
	default:
		m, ok := field(s, n.text)
		switch {
		case !ok:
			var names []string
			for _, m := range members(s) {
				names = append(names, printable(m.name))
			}
			p.fail(n.opOff, true, "%s has no field %s%s", printable(p.structs.name(s)), n.text, suggest(n.text, "it has", "its fields are not known", names))
		case m.typ.Kind == usdt.Unknown:
			p.fail(n.opOff, true, "the type of field %s is not known", n.text)
		}
	}
	p.write("(")
	if n.op == "->" {
		p.pointer(x)
	} else {
		p.print(x)
	}
	p.mark(n.opOff)
	p.write(n.op + "f_" + n.text + ")")
}

// pointer writes an expression that is to be one. A pointer of a process of 32 bits
// is a number before that.
func (p *printer) pointer(n *node) {
	t := p.typeOf(n)
	if t != nil && t.Kind == usdt.Pointer && (t.Elem == nil || t.Elem.Kind == usdt.Unknown) {
		p.fail(n.off, true, "what this points to is not known")
	}
	if t == nil || t.Size != 4 || t.Kind != usdt.Pointer && !isText(t) {
		p.value(n)
		return
	}
	wide := *t
	wide.Size = 8
	p.write("((" + p.structs.declare(&wide, "") + ")(unsigned long)")
	p.print(n)
	p.write(")")
}

// typeOf returns the type of an expression that leads through arguments, fields and
// casts to structs; nil of all others, which the compiler types.
func (p *printer) typeOf(n *node) *usdt.Type {
	switch n.kind {
	case nodeIdent:
		if i, ok := p.argument(n.text); ok && builtins[n.text] == "" {
			t := p.in.Args[i].Type
			if t == nil {
				return &usdt.Type{Kind: usdt.Uint, Size: p.in.Args[i].Size}
			}
			return t
		}
	case nodeCast:
		if n.typ.tag != "" {
			if st, err := p.structs.find(n.typ.tag); err == nil {
				for range n.typ.stars {
					st = &usdt.Type{Kind: usdt.Pointer, Size: 8, Elem: st}
				}
				return st
			}
		}
	case nodeMember:
		t := p.typeOf(n.args[0])
		if t != nil && n.op == "->" {
			t = t.Elem
		}
		if t != nil && t.Kind == usdt.Struct {
			if m, ok := field(t, n.text); ok {
				return m.typ
			}
		}
	case nodeIndex:
		if t := p.typeOf(n.args[0]); t != nil {
			return t.Elem
		}
	case nodeUnary:
		t := p.typeOf(n.args[0])
		switch {
		case t == nil:
		case n.op == "*":
			return t.Elem
		case n.op == "&":
			return &usdt.Type{Kind: usdt.Pointer, Size: 8, Elem: t}
		}
	case nodeBinary:
		if t := p.typeOf(n.args[0]); t != nil && (n.op == "+" || n.op == "-") && t.Kind == usdt.Pointer && t.Elem != nil {
			if u := p.typeOf(n.args[1]); u == nil || u.Kind != usdt.Pointer {
				return t
			}
		}
	}
	return nil
}

// isText tells whether an expression is text by its type.
func (p *printer) isText(n *node) bool {
	t := p.typeOf(n)
	return isText(t) || isHeader(t)
}

// isText tells whether a type is that of an address of text.
func isText(t *usdt.Type) bool {
	return t != nil && (t.Kind == usdt.String || t.Kind == usdt.Error || t.Kind == usdt.Bytes)
}

// inProcess tells whether what an expression designates is memory of the traced
// process.
func inProcess(n *node) bool {
	switch n.kind {
	case nodeMember:
		return n.op == "->" || inProcess(n.args[0])
	case nodeIndex:
		return !isComm(n.args[0]) && !isComm(n.args[1])
	case nodeUnary:
		return n.op == "*" && !isComm(n.args[0])
	}
	return false
}
