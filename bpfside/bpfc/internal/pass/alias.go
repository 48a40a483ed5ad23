package pass

import "github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"

// A location is bytes in memory: size of them, offset behind a base address.
type location struct {
	base   *ir.Value
	offset int64
	size   int64
}

// locationOf returns the bytes that a load, a store or an atomic accesses.
func locationOf(v *ir.Value) location {
	l := location{base: v.Args[0], offset: v.Imm, size: int64(v.Size)}
	l.strip()
	return l
}

// bulkAt returns the bytes behind an address that a copy or a fill v accesses.
func bulkAt(v, address *ir.Value) location {
	l := location{base: address, size: int64(v.Size)}
	l.strip()
	return l
}

// strip has constants that are added to the base in the offset.
func (l *location) strip() {
	for l.base.Op == ir.OpAdd {
		n, ok := constOf(l.base.Args[1])
		if !ok {
			return
		}
		l.base, l.offset = l.base.Args[0], l.offset+n
	}
	if l.base.Op == ir.OpGlobal {
		l.offset += l.base.Imm
	}
}

// sameBase says whether two locations are a known number of bytes apart.
func (l location) sameBase(m location) bool {
	return l.base == m.base || l.base.Op == ir.OpGlobal && m.base.Op == ir.OpGlobal && l.base.Sym == m.base.Sym
}

// root returns the pointer from which an address was computed.
func root(p *ir.Value) *ir.Value {
	for p.Op == ir.OpAdd || p.Op == ir.OpSub {
		p = p.Args[0]
	}
	return p
}

// memory knows which addresses of a function can be of the same bytes.
type memory struct {
	// private are the objects, and the context of a program, to which no pointer
	// exists but those that are computed from theirs. A helper may be given one:
	// the kernel does not keep pointers into a frame.
	private map[*ir.Value]bool
}

func newMemory(f *ir.Func) *memory {
	m := &memory{private: map[*ir.Value]bool{}}
	entry := f.Entry()
	for _, v := range entry.Values {
		if v.Op == ir.OpAlloca {
			m.private[v] = true
		}
	}
	if f.Section != "" && len(entry.Params) > 0 && entry.Params[0].Type == ir.Ptr {
		m.private[entry.Params[0]] = true
	}
	shared := func(args []*ir.Value) {
		for _, a := range args {
			if a.Type == ir.Ptr {
				delete(m.private, root(a))
			}
		}
	}
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			switch v.Op {
			case ir.OpAdd, ir.OpSub, ir.OpLoad, ir.OpCopy, ir.OpMove, ir.OpSet, ir.OpLife, ir.OpHelper, ir.OpCmp:
			case ir.OpStore, ir.OpAtomic:
				shared(v.Args[1:])
			default:
				shared(v.Args)
			}
		}
		shared(b.Term.Args)
		for _, e := range b.Term.Succs {
			shared(e.Args)
		}
	}
	return m
}

// mayAlias says whether two locations can have a byte in common.
func (m *memory) mayAlias(a, b location) bool {
	if a.sameBase(b) {
		return a.offset < b.offset+b.size && b.offset < a.offset+a.size
	}
	x, y := root(a.base), root(b.base)
	if x == y || x.Op == ir.OpGlobal && y.Op == ir.OpGlobal && x.Sym == y.Sym {
		return true
	}
	if m.private[x] || m.private[y] {
		return false
	}
	return !isDistinct(x) || !isDistinct(y)
}

// isDistinct says whether p is an object of its own.
func isDistinct(p *ir.Value) bool {
	return p.Op == ir.OpAlloca || p.Op == ir.OpGlobal
}

// An effect is what a value does to memory.
type effect uint8

const (
	noEffect    effect = iota
	writesPlace        // the bytes of effectOf's location
	writesAny          // what is not private, and what it is given
)

// effectOf returns which memory v may write.
func effectOf(v *ir.Value) (effect, location) {
	switch v.Op {
	case ir.OpStore:
		return writesPlace, locationOf(v)
	case ir.OpCopy, ir.OpMove, ir.OpSet:
		return writesPlace, bulkAt(v, v.Args[0])
	case ir.OpLife:
		return writesPlace, location{base: v.Args[0], size: int64(v.Args[0].Size)}
	case ir.OpAtomic, ir.OpCall, ir.OpHelper:
		// The atomic operations of C order all other accesses.
		return writesAny, location{}
	case ir.OpBarrier:
		if len(v.Args) == 0 {
			return writesAny, location{}
		}
	}
	return noEffect, location{}
}

// writes says whether v, which has the effect, may change l.
func (m *memory) writes(v *ir.Value, e effect, at, l location) bool {
	switch e {
	case noEffect:
		return false
	case writesPlace:
		return m.mayAlias(at, l)
	}
	if l.base.Op == ir.OpGlobal && l.base.Sym.(*ir.Global).Constant {
		return false
	}
	r := root(l.base)
	if !m.private[r] || r.Op != ir.OpAlloca {
		return true // bpf_set_retval changes a context without being given it
	}
	for _, a := range v.Args {
		if root(a) == r {
			return true
		}
	}
	return false
}
