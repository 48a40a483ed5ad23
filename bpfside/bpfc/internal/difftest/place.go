package difftest

import (
	"fmt"
	"math/bits"
)

// anyPlace returns an integer l-value that is visible, for reading or writing,
// and its type. Writing needs a variable that can be written, which every
// function has.
func (f *fn) anyPlace(write bool, depth int) (*Node, *ctype) {
	for {
		v := choose(f.gen, f.vars...)
		if write && v.readOnly {
			continue
		}
		return f.place(v, depth)
	}
}

// place returns an integer within v.
func (f *fn) place(v variable, depth int) (*Node, *ctype) {
	base := v.object()
	if v.deref && v.typ.aggregate() && f.oneIn(2) {
		base = v.name + "[0]"
	}
	return f.walk(node(base), v.typ, v.constIndex, depth)
}

// object is how an expression names the object of v as a whole.
func (v *variable) object() string {
	if v.deref {
		return "(*" + v.name + ")"
	}
	return v.name
}

// walk goes down from an object to an integer of it.
func (f *fn) walk(n *Node, t *ctype, constIndex bool, depth int) (*Node, *ctype) {
	for !t.scalar() {
		if t.kind == cArray {
			n = f.index(n, t, constIndex, depth)
			t = t.elem
			continue
		}
		m := choose(f.gen, t.fields...)
		n, t = node("$0."+m.name, n), m.typ
	}
	return n, t
}

// index returns an element of an array.
func (f *fn) index(n *Node, t *ctype, constIndex bool, depth int) *Node {
	if constIndex || depth <= 0 || bits.OnesCount(uint(t.n)) != 1 || f.oneIn(2) {
		return node(fmt.Sprintf("$0[%d]", f.r.IntN(t.n)), n)
	}
	return node(fmt.Sprintf("$0[$1 & %d]", t.n-1), n, f.expr(depth-1))
}

// object returns a whole object of type t that is visible, or nil. With address
// it is one that can be pointed at.
func (f *fn) object(t *ctype, write, address bool) *Node {
	var found []*Node
	for _, v := range f.vars {
		if write && v.readOnly || v.volatile || address && (v.readOnly || v.constIndex) {
			continue
		}
		base := v.object()
		switch {
		case v.typ == t:
			found = append(found, node(base))
		case v.typ.kind == cArray && v.typ.elem == t:
			found = append(found, fixedf("%s[%d]", base, f.r.IntN(v.typ.n)))
		}
	}
	if len(found) == 0 {
		return nil
	}
	return choose(f.gen, found...)
}
