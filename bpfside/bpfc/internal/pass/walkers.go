package pass

import "github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"

// walkers has pointers that walk through an object become an index: of
//
//	for (p = a; p < a + 5; p++)
//
// the verifier does not follow the comparison of two pointers into the frame or
// into a map, but it follows one of i in p = a + i. Pointers that are compared
// with something else, such as the end of a packet, stay what they are: there
// the comparison of the pointer is what counts.
func walkers(f *ir.Func) bool {
	f.RemoveUnreachable()
	preds := f.Preds()
	bounded := map[*ir.Value]bool{} // pointers that are compared with one into the same object
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			if v.Op == ir.OpCmp && v.Args[0].Type == ir.Ptr {
				bounded[root(v.Args[0])] = true
				bounded[root(v.Args[1])] = true
			}
		}
	}
	w := walking{f: f, preds: preds, replaced: ir.NewReplacement(f)}
	for _, b := range f.Blocks[1:] {
		for i := 0; i < len(b.Params); i++ {
			if p := b.Params[i]; p.Type == ir.Ptr && bounded[p] && w.isWalker(p, i) {
				w.index(p, i)
				w.changed = true
			}
		}
	}
	if w.changed {
		w.replaced.Apply(f)
	}
	return w.changed
}

type walking struct {
	f        *ir.Func
	preds    [][]ir.Pred
	replaced *ir.Replacement
	start    *ir.Value // where the last walker begins
	changed  bool
}

// isWalker says whether p, which is parameter i of its block, begins at one
// address, goes on from itself, and is compared with an address of the same
// object.
func (w *walking) isWalker(p *ir.Value, i int) bool {
	w.start = nil
	steps := false
	for _, pred := range w.preds[p.Block.ID] {
		a := pred.Edge().Args[i]
		switch {
		case isAhead(a, p):
			steps = steps || a != p
		case w.start == nil || w.start == a:
			w.start = a
		default:
			return false
		}
	}
	if w.start == nil || !steps {
		return false
	}
	for at := w.start; at.Op == ir.OpAdd; at = at.Args[0] {
		if at.Args[1].Op != ir.OpConst {
			return false
		}
	}
	return w.isCompared(p)
}

// isAhead says whether a is p, with something added.
func isAhead(a, p *ir.Value) bool {
	for a.Op == ir.OpAdd {
		a = a.Args[0]
	}
	return a == p
}

// isCompared says whether each comparison of p is with an address of the object
// in which it begins.
func (w *walking) isCompared(p *ir.Value) bool {
	object, compared := objectOf(w.start), false
	for _, b := range w.f.Blocks {
		for _, v := range b.Values {
			if v.Op != ir.OpCmp || v.Args[0].Type != ir.Ptr {
				continue
			}
			x, y := root(v.Args[0]), root(v.Args[1])
			switch {
			case x != p && y != p:
			case x == p && (y == p || objectOf(y) == object), y == p && objectOf(x) == object:
				compared = true
			default:
				return false
			}
		}
	}
	return compared
}

// objectOf returns the alloca or the global that an address belongs to, or the
// pointer it was computed from.
func objectOf(p *ir.Value) any {
	p = root(p)
	if p.Op == ir.OpGlobal {
		return p.Sym
	}
	return p
}

// index makes an I64 of the pointer p, parameter i of its block, and has its
// readers read the sum of that and where p begins.
func (w *walking) index(p *ir.Value, i int) {
	b := p.Block
	index := w.f.NewValue(ir.OpParam, ir.I64)
	index.Name, index.Block = p.Name, b
	b.Params[i] = index
	sum := w.f.NewValue(ir.OpAdd, ir.Ptr, w.start, index)
	sum.Pos = b.Term.Pos
	b.InsertBefore(0, sum)
	w.replaced.Set(p, sum)
	zero := w.f.NewValue(ir.OpConst, ir.I64)
	w.f.Entry().InsertBefore(0, zero)
	for _, pred := range w.preds[b.ID] {
		e := pred.Edge()
		args := append([]*ir.Value(nil), e.Args...)
		if args[i] == w.start {
			args[i] = zero
		} else {
			args[i] = w.sum(pred.From, args[i], p, index)
		}
		e.Args = args
	}
}

// sum returns the index of the address a, which is computed from p, at the end
// of a block.
func (w *walking) sum(b *ir.Block, a, p, index *ir.Value) *ir.Value {
	if a == p {
		return index
	}
	before := w.sum(b, a.Args[0], p, index)
	v := w.f.NewValue(ir.OpAdd, ir.I64, before, a.Args[1])
	v.Pos = a.Pos
	return b.Append(v)
}
