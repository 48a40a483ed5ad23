package pass

import (
	"slices"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// How large a loop may become by being unrolled, in the operations that sizeOf
// counts. That of a loop whose source asks for it is what clang allows (LLVM's
// PragmaUnrollThreshold); that of others is smaller than clang's, because a loop
// costs the verifier no more than its copies do.
const (
	askedUnrollSize = 16 << 10
	unrollSize      = 120
	unrollCount     = 16
	// maxTrips bounds how long a loop is followed to see how often it runs.
	maxTrips = 4096
)

// unroll replaces loops that run a known number of times by that many copies of
// their blocks: those whose source asks for it, and small ones, because objects
// of the frame can become values once each access has a constant offset.
func unroll(f *ir.Func) bool {
	changed := f.RemoveUnreachable()
	left := map[*ir.Block]bool{} // heads of the loops that stay
	for {
		dom := f.Dominators()
		loops, _ := f.Loops(dom)
		preds := f.Preds()
		var plans []unrolling
		waits := map[*ir.Loop]bool{} // until those in it are unrolled
		for _, l := range loops {
			if waits[l] {
				waits[l.Parent] = true
				continue
			}
			if left[l.Head] {
				continue
			}
			left[l.Head] = true
			if u, ok := planUnroll(dom, preds, l); ok && u.wanted() {
				plans = append(plans, u)
				waits[l.Parent] = true
				for up := l.Parent; up != nil; up = up.Parent {
					delete(left, up.Head) // it has another size soon
				}
			}
		}
		if len(plans) == 0 {
			return changed
		}
		unrollAll(f, plans)
		changed = true
	}
}

// An unrolling is what to do with a loop.
type unrolling struct {
	loop  *ir.Loop
	exit  *ir.Block // that decides, each time, whether to go on
	stay  int       // its edge that goes on
	trips int       // how often the loop comes back to its head
	size  int       // of one copy, without what is the same constant each time
}

// wanted says whether the loop should be unrolled.
func (u *unrolling) wanted() bool {
	total := u.size * u.trips
	switch asked := u.loop.Head.Unroll; {
	case asked == 1:
		return false
	case asked > 1:
		return u.trips <= asked && total <= askedUnrollSize
	}
	// Of a loop that is left at its head the last copy is but the head.
	return u.trips == 0 || u.trips == 1 && u.exit == u.loop.Head ||
		u.trips <= unrollCount && total <= unrollSize
}

// planUnroll finds how often l runs, by following its counters.
func planUnroll(dom *ir.Dominators, preds [][]ir.Pred, l *ir.Loop) (unrolling, bool) {
	in := map[*ir.Block]bool{}
	for _, b := range l.Blocks {
		in[b] = true
	}
	// What comes into the head from outside, and from the loop.
	var entry, back []ir.Edge
	var backs []*ir.Block
	for _, p := range preds[l.Head.ID] {
		if in[p.From] {
			back, backs = append(back, *p.Edge()), append(backs, p.From)
		} else {
			entry = append(entry, *p.Edge())
		}
	}
	for _, b := range l.Blocks {
		for _, v := range b.Values {
			if v.Op == ir.OpAlloca {
				return unrolling{}, false
			}
		}
	}
	c := &loopCounters{step: map[*ir.Value]*ir.Value{}}
	start := newKnown()
	for i, p := range l.Head.Params {
		first, ok := sameConst(entry, i)
		if !ok || !sameArgs(back, i) {
			continue
		}
		start.values[p] = first
		c.step[p] = back[0].Args[i]
	}
	for _, b := range l.Blocks {
		t := &b.Term
		if t.Kind != ir.TermIf || in[t.Succs[0].To] == in[t.Succs[1].To] {
			continue
		}
		// It has to be asked each time round.
		if slices.ContainsFunc(backs, func(from *ir.Block) bool { return !dom.Dominates(b, from) }) {
			continue
		}
		u := unrolling{loop: l, exit: b, size: c.sizeOf(l)}
		if !in[t.Succs[0].To] {
			u.stay = 1
		}
		var ok bool
		if u.trips, ok = c.follow(t.Args[0], start, u.stay == 0); ok {
			return u, true
		}
	}
	return unrolling{}, false
}

// sameConst returns the constant that each edge brings for parameter i.
func sameConst(edges []ir.Edge, i int) (int64, bool) {
	var c int64
	for n, e := range edges {
		x, ok := constOf(e.Args[i])
		if !ok || n > 0 && x != c {
			return 0, false
		}
		c = x
	}
	return c, len(edges) > 0
}

// sameArgs says whether each edge brings the same value for parameter i.
func sameArgs(edges []ir.Edge, i int) bool {
	return len(edges) > 0 && !slices.ContainsFunc(edges, func(e ir.Edge) bool { return e.Args[i] != edges[0].Args[i] })
}

// loopCounters are the parameters of a loop's head that start with a constant and
// that the loop changes in one way, to step.
type loopCounters struct {
	step map[*ir.Value]*ir.Value
}

// follow goes round the loop until cond is no longer true (or, if stay is false,
// no longer false), and returns how often it goes round.
func (c *loopCounters) follow(cond *ir.Value, now known, stay bool) (int, bool) {
	for trips := range maxTrips {
		x, ok := compute(cond, now, map[*ir.Value]bool{})
		if !ok {
			return 0, false
		}
		if (x != 0) != stay {
			return trips, true
		}
		next := newKnown()
		for p, step := range c.step {
			if x, ok := compute(step, now, map[*ir.Value]bool{}); ok {
				next.values[p] = x
			}
		}
		now = next
	}
	return 0, false
}

// compute evaluates v, with what it depends on. failed has the values that have
// been tried in vain.
func compute(v *ir.Value, now known, failed map[*ir.Value]bool) (int64, bool) {
	if x, ok := now.of(v); ok {
		return x, true
	}
	if v.Op == ir.OpParam || !isPure(v) || len(v.Args) == 0 || failed[v] {
		return 0, false
	}
	for _, a := range v.Args {
		if _, ok := compute(a, now, failed); !ok {
			failed[v] = true
			return 0, false
		}
	}
	x, ok := evaluate(v, now)
	if ok {
		now.values[v] = x
	} else {
		failed[v] = true
	}
	return x, ok
}

// sizeOf is the size of one copy of l: what depends on the counters alone is
// gone from it.
func (c *loopCounters) sizeOf(l *ir.Loop) int {
	now := newKnown()
	for p := range c.step {
		now.values[p] = 1 // any number: it matters only that it is one
	}
	size := 0
	failed := map[*ir.Value]bool{}
	for _, b := range l.Blocks {
		for _, v := range b.Values {
			if _, ok := compute(v, now, failed); ok {
				continue
			}
			size += opSize(v)
		}
		if b.Term.Kind == ir.TermIf {
			if _, ok := compute(b.Term.Args[0], now, failed); !ok {
				size++
			}
		}
	}
	return size
}

// unrollAll does what is planned for loops of which none is within another.
func unrollAll(f *ir.Func, plans []unrolling) {
	copies := map[*ir.Value]copied{}
	home := map[*ir.Block]int{} // the plan that made a block or has it, from 1
	for i, u := range plans {
		for _, b := range u.apply(f, copies) {
			home[b] = i + 1
		}
	}
	f.RemoveUnreachable()
	// The copies use their own: what is left to repair is used behind the loop.
	outside := map[*ir.Value]copied{}
	for _, b := range f.Blocks {
		b.Operands(func(v **ir.Value) {
			if c := copies[*v]; c != nil && home[(*v).Block] != home[b] {
				outside[*v] = c
			}
		})
	}
	repair(f, outside)
}

// apply copies the blocks of the loop as often as it runs, notes the copies of
// what they make, and returns them all. The loop's own blocks are the first.
func (u *unrolling) apply(f *ir.Func, copies map[*ir.Value]copied) []*ir.Block {
	l := u.loop
	l.Head.Unroll = 0
	all := slices.Clone(l.Blocks)
	first := &copier{f: f, blocks: map[*ir.Block]*ir.Block{}}
	for _, b := range l.Blocks {
		first.blocks[b] = b
		for _, v := range slices.Concat(b.Params, b.Values) {
			if v.Type != ir.Void {
				copies[v] = copied{b: v}
			}
		}
	}
	rounds := []*copier{first}
	for range u.trips {
		c := newCopier(f)
		for _, b := range l.Blocks {
			to := f.NewBlock()
			to.Unroll = b.Unroll
			c.blocks[b] = to
			all = append(all, to)
			c.params(b, to)
			for _, v := range b.Values {
				to.Append(c.value(v))
			}
		}
		for v, w := range c.values {
			if v.Type != ir.Void {
				copies[v][w.Block] = w
			}
		}
		rounds = append(rounds, c)
	}
	for _, c := range rounds[1:] {
		for _, b := range l.Blocks {
			to := c.blocks[b]
			c.operands(to)
			to.Term = c.term(&b.Term)
		}
	}
	for i, c := range rounds {
		for _, b := range l.Blocks {
			to := c.blocks[b]
			// From one round to the next, and out of the last.
			for k := range to.Term.Succs {
				if e := &to.Term.Succs[k]; e.To == c.blocks[l.Head] && i < u.trips {
					e.To = rounds[i+1].blocks[l.Head]
				}
			}
			if b == u.exit {
				next := u.stay
				if i == u.trips {
					next = 1 - next
				}
				jump(&to.Term, to.Term.Succs[next])
			}
		}
	}
	return all
}
