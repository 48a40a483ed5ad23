package pass

import (
	"slices"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// threadSize is how many instructions a block may have that is copied so that an
// edge which enters it can go on to where it leads anyway.
const threadSize = 4

// thread lets an edge pass by a branch that the edge decides: because it brings
// a constant, or because the branch before it has asked the same. What the
// passed block does beside branching is copied for the edge.
//
// A block to which a loop jumps back stays in its place: passing it by would
// make a second entry of the loop.
func thread(f *ir.Func) bool {
	changed := f.RemoveUnreachable()
	dom := f.Dominators()
	loops, _ := f.Loops(dom)
	heads := map[*ir.Block]bool{}
	for _, l := range loops {
		heads[l.Head] = true
	}
	preds := f.Preds()
	threaded := false
	copies := map[*ir.Value]copied{}
	for _, b := range dom.Order() {
		branches := b.Term.Kind == ir.TermIf || b.Term.Kind == ir.TermSwitch
		if branches && !heads[b] && b != f.Entry() && isCheap(b) {
			threaded = threadBlock(f, b, dom, preds, copies) || threaded
		}
	}
	repair(f, copies)
	return threaded || changed
}

// isCheap says whether b is small enough to be copied for an edge.
func isCheap(b *ir.Block) bool {
	size := 0
	for _, v := range b.Values {
		switch {
		case v.Op == ir.OpAlloca:
			return false
		case isPure(v) && (v.Op == ir.OpConst || v.Op == ir.OpCmp || v.Op == ir.OpGlobal):
			// Constants cost nothing, and comparisons are gone once their
			// outcome is known.
		default:
			size += opSize(v)
		}
	}
	return size <= threadSize
}

// threadBlock lets those of the edges that enter b pass it by that decide how b
// ends, and says whether there was one. What b makes has copies then.
//
// dom and preds are of the function as it was: edges that have been changed
// since are left for the next time.
func threadBlock(f *ir.Func, b *ir.Block, dom *ir.Dominators, preds [][]ir.Pred, copies map[*ir.Value]copied) bool {
	changed := false
	note := func(v *ir.Value, in *ir.Block, w *ir.Value) {
		if copies[v] == nil {
			copies[v] = copied{b: v}
		}
		copies[v][in] = w
	}
	for _, p := range preds[b.ID] {
		if p.Edge().To != b || dom.Dominates(b, p.From) {
			continue
		}
		next, ok := decides(p, b, preds)
		if !ok {
			continue
		}
		c := newCopier(f)
		to := f.NewBlock()
		c.params(b, to)
		for _, v := range b.Values {
			to.Append(c.value(v))
		}
		for v, w := range c.values {
			if v.Type != ir.Void {
				note(v, to, w)
			}
		}
		c.operands(to)
		to.Term = ir.Term{Kind: ir.TermJump, Succs: []ir.Edge{c.edge(b.Term.Succs[next])}, Pos: b.Term.Pos}
		p.Edge().To = to
		changed = true
	}
	return changed
}

// decides says which edge b ends with when it is entered along p, if that is
// known.
func decides(p ir.Pred, b *ir.Block, preds [][]ir.Pred) (int, bool) {
	known := edgeFacts(p, preds)
	for i, v := range b.Params {
		if c, ok := known.of(p.Edge().Args[i]); ok {
			known.values[v] = c
		}
	}
	for _, v := range b.Values {
		if c, ok := evaluate(v, known); ok {
			known.values[v] = c
		}
	}
	return decided(&b.Term, known)
}

// known is what an edge knows of values.
type known struct {
	values   map[*ir.Value]int64
	outcomes map[comparison]bool
}

// A comparison is one of two values, wherever it is made.
type comparison struct {
	cond ir.Cond
	x, y *ir.Value
}

func newKnown() known {
	return known{map[*ir.Value]int64{}, map[comparison]bool{}}
}

// of returns the number that v is, if that is known.
func (k known) of(v *ir.Value) (int64, bool) {
	if c, ok := k.values[v]; ok {
		return c, true
	}
	return constOf(v)
}

// truth is what a comparison makes of its outcome.
func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// factDepth bounds how many branches before an edge are asked what they know.
const factDepth = 8

// edgeFacts returns what is known of values where p goes along, from the branches
// that led there if nothing else did.
func edgeFacts(p ir.Pred, preds [][]ir.Pred) known {
	known := newKnown()
	for range factDepth {
		branchFacts(p, known)
		if p.From.ID >= len(preds) || len(preds[p.From.ID]) != 1 {
			break
		}
		p = preds[p.From.ID][0]
	}
	return known
}

// branchFacts adds to known what the branch of p tells: the outcome of the
// comparison, and the value that an equality has.
func branchFacts(p ir.Pred, known known) {
	t := &p.From.Term
	switch t.Kind {
	case ir.TermIf:
		v := t.Args[0]
		holds := p.Index == 0
		if !holds {
			known.values[v] = 0
		}
		if v.Op != ir.OpCmp {
			break
		}
		if holds {
			known.values[v] = 1
		}
		known.outcomes[comparison{v.Cond, v.Args[0], v.Args[1]}] = holds
		known.outcomes[comparison{v.Cond.Not(), v.Args[0], v.Args[1]}] = !holds
		if c, ok := constOf(v.Args[1]); ok && (v.Cond == ir.EQ) == holds && (v.Cond == ir.EQ || v.Cond == ir.NE) {
			known.values[v.Args[0]] = c
		}
	case ir.TermSwitch:
		if p.Index > 0 {
			known.values[t.Args[0]] = t.Cases[p.Index-1]
		}
	}
}

// decided says which edge t takes, if the values that are known tell.
func decided(t *ir.Term, known known) (int, bool) {
	c, ok := known.of(t.Args[0])
	switch {
	case !ok:
		return 0, false
	case t.Kind == ir.TermSwitch:
		return 1 + slices.Index(t.Cases, c), true
	case c != 0:
		return 0, true
	}
	return 1, true
}

// evaluate computes v from constants and values that are known.
func evaluate(v *ir.Value, known known) (int64, bool) {
	if c, ok := known.of(v); ok {
		return c, true
	}
	if v.Op == ir.OpCmp {
		if holds, ok := known.outcomes[comparison{v.Cond, v.Args[0], v.Args[1]}]; ok {
			return truth(holds), true
		}
	}
	var x [2]int64
	for i, a := range v.Args {
		c, ok := known.of(a)
		if !ok || i >= len(x) {
			return 0, false
		}
		x[i] = c
	}
	switch v.Op {
	case ir.OpCmp:
		return truth(evalCmp(v.Cond, v.Args[0].Type, x[0], x[1])), true
	case ir.OpZext:
		return int64(uint32(x[0])), true
	case ir.OpSext:
		return int64(int32(x[0])), true
	case ir.OpTrunc:
		return normal(ir.I32, x[0]), true
	case ir.OpSextIn:
		return normal(v.Type, extendIn(x[0], v.Size, true)), true
	case ir.OpBswap:
		return normal(v.Type, swapBytes(x[0], v.Size)), true
	}
	if v.Type == ir.Ptr || len(v.Args) != 2 {
		return 0, false
	}
	return evalBinary(v.Op, v.Type, x[0], x[1])
}
