package pass

import (
	"slices"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// cfg makes the graph of f simpler, and says whether it did: ends that a
// constant decides, blocks that nothing reaches, blocks that only jump on, pairs
// of blocks that can only follow each other, and parameters that nothing needs.
// It moves no value to where it did not run before.
func cfg(f *ir.Func) bool {
	changed := f.RemoveUnreachable()
	// Each round makes the graph smaller, so that this ends.
	for {
		again := decideEnds(f)
		again = f.RemoveUnreachable() || again
		again = bypass(f) || again
		again = merge(f) || again
		again = params(f) || again
		if !again {
			return changed
		}
		changed = true
	}
}

// decideEnds makes jumps of the ends that always go the same way.
func decideEnds(f *ir.Func) bool {
	changed := false
	for _, b := range f.Blocks {
		t := &b.Term
		switch t.Kind {
		case ir.TermIf:
			if c, ok := constOf(t.Args[0]); ok {
				if c != 0 {
					jump(t, t.Succs[0])
				} else {
					jump(t, t.Succs[1])
				}
				changed = true
			} else if sameEdge(t.Succs[0], t.Succs[1]) {
				jump(t, t.Succs[0])
				changed = true
			}
		case ir.TermSwitch:
			if c, ok := constOf(t.Args[0]); ok {
				jump(t, t.Succs[1+slices.Index(t.Cases, c)])
				changed = true
			} else if !slices.ContainsFunc(t.Succs, func(e ir.Edge) bool { return !sameEdge(e, t.Succs[0]) }) {
				jump(t, t.Succs[0])
				changed = true
			}
		}
	}
	return changed
}

// jump makes t a jump along e.
func jump(t *ir.Term, e ir.Edge) {
	*t = ir.Term{Kind: ir.TermJump, Succs: []ir.Edge{e}, Pos: t.Pos}
}

// sameEdge says whether it does not matter along which of two edges one goes.
func sameEdge(a, b ir.Edge) bool {
	return a.To == b.To && slices.Equal(a.Args, b.Args)
}

// bypass redirects the edges that enter a block which only jumps on, to where it
// jumps: with the values that the block would have brought. A block whose
// parameters are used elsewhere stays.
func bypass(f *ir.Func) bool {
	changed := false
	preds := f.Preds()
	var outside []int // uses of each value, made when it is first needed
	for _, b := range f.Blocks {
		if len(b.Values) > 0 || b.Term.Kind != ir.TermJump || b == f.Entry() || len(preds[b.ID]) == 0 {
			continue
		}
		e := b.Term.Succs[0]
		// A block that jumps to itself is an endless loop. One to which a loop
		// jumps back keeps what the source asks for it.
		if e.To == b || b.Unroll != 0 {
			continue
		}
		if len(b.Params) > 0 {
			if outside == nil {
				outside = f.Uses()
			}
			if usedElsewhere(b, outside) {
				continue
			}
		}
		for _, p := range preds[b.ID] {
			in := p.Edge()
			if in.To != b {
				continue // redirected by an earlier block of this walk
			}
			args := slices.Clone(e.Args)
			for i, a := range args {
				if k := slices.Index(b.Params, a); k >= 0 {
					args[i] = in.Args[k]
				}
			}
			*in = ir.Edge{To: e.To, Args: args}
			preds[e.To.ID] = append(preds[e.To.ID], p)
			changed = true
		}
		// What is left of b enters nothing: the counts of uses stay right, for
		// those that b made are still there and only too high.
	}
	if changed {
		f.RemoveUnreachable()
	}
	return changed
}

// usedElsewhere says whether a parameter of b has a use that is not on the edge
// that leaves b, where uses counts those of each value.
func usedElsewhere(b *ir.Block, uses []int) bool {
	for _, p := range b.Params {
		n := uses[p.ID]
		for _, a := range b.Term.Succs[0].Args {
			if a == p {
				n--
			}
		}
		if n > 0 {
			return true
		}
	}
	return false
}

// merge joins to each block the one that always follows it, if nothing else
// enters that.
func merge(f *ir.Func) bool {
	preds := f.Preds()
	var gone map[*ir.Block]bool
	r := ir.NewReplacement(f)
	for _, b := range f.Blocks {
		if gone[b] {
			continue
		}
		for b.Term.Kind == ir.TermJump {
			e := b.Term.Succs[0]
			next := e.To
			if next == b || next == f.Entry() || len(preds[next.ID]) != 1 {
				break
			}
			for i, p := range next.Params {
				r.Set(p, e.Args[i])
			}
			for _, v := range next.Values {
				b.Append(v)
			}
			b.Term = next.Term
			for i := range b.Term.Succs {
				to := b.Term.Succs[i].To
				for k, p := range preds[to.ID] {
					if p.From == next && p.Index == i {
						preds[to.ID][k].From = b
					}
				}
			}
			if gone == nil {
				gone = map[*ir.Block]bool{}
			}
			gone[next] = true
			next.Term = ir.Term{}
		}
	}
	if gone == nil {
		return false
	}
	r.Apply(f)
	f.Blocks = slices.DeleteFunc(f.Blocks, func(b *ir.Block) bool { return gone[b] })
	return true
}

// params removes the parameters of blocks that nothing uses but parameters like
// them, and those that every edge brings the same value for. The function's own
// stay.
func params(f *ir.Func) bool {
	changed := false
	preds := f.Preds()
	r := ir.NewReplacement(f)
	// A parameter that turns out to be another value may make others so.
	for again := true; again; {
		again = false
		for _, b := range f.Blocks {
			if b == f.Entry() {
				continue
			}
			for i := len(b.Params) - 1; i >= 0; i-- {
				if v := sameArg(b, i, preds[b.ID], r); v != nil {
					r.Set(b.Params[i], v)
					b.RemoveParam(i, preds[b.ID])
					again, changed = true, true
				}
			}
		}
	}
	if changed {
		r.Apply(f)
	}
	return unusedParams(f, preds) || changed
}

// sameArg returns the one value that every edge brings for parameter i of b,
// where the parameter itself, which a loop brings, does not count. It returns nil
// if there are several.
//
// An undefined value counts as whatever makes it the same, but then that has to
// be made on every way to b: a parameter of the function or a constant is, and
// others need the dominator tree, which is not worth it here.
func sameArg(b *ir.Block, i int, preds []ir.Pred, r *ir.Replacement) *ir.Value {
	var same *ir.Value
	undef := false
	for _, p := range preds {
		a := r.Get(p.Edge().Args[i])
		switch {
		case a == b.Params[i] || a == same:
		case a.Op == ir.OpUndef:
			undef = true
			if same == nil {
				same = a
			}
		case same == nil || same.Op == ir.OpUndef:
			same = a
		default:
			return nil
		}
	}
	if undef && same.Op != ir.OpUndef && same.Block != b.Func.Entry() {
		return nil
	}
	return same
}

// unusedParams removes the parameters that no value, no end, and no needed
// parameter depends on.
func unusedParams(f *ir.Func, preds [][]ir.Pred) bool {
	needed := make([]bool, f.NumIDs())
	var work []*ir.Value
	need := func(v *ir.Value) {
		if v.Op == ir.OpParam && !needed[v.ID] {
			needed[v.ID] = true
			work = append(work, v)
		}
	}
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			for _, a := range v.Args {
				need(a)
			}
		}
		for _, a := range b.Term.Args {
			need(a)
		}
	}
	for len(work) > 0 {
		p := work[len(work)-1]
		work = work[:len(work)-1]
		i := slices.Index(p.Block.Params, p)
		for _, in := range preds[p.Block.ID] {
			need(in.Edge().Args[i])
		}
	}
	changed := false
	for _, b := range f.Blocks {
		if b == f.Entry() {
			continue
		}
		for i := len(b.Params) - 1; i >= 0; i-- {
			if !needed[b.Params[i].ID] {
				b.RemoveParam(i, preds[b.ID])
				changed = true
			}
		}
	}
	return changed
}
