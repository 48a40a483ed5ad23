package lower

import (
	"cmp"
	"slices"
)

// layout returns the blocks in an order that takes few jumps. Each block but
// those that leave the function wants one of its successors right after it, or it
// ends with a jump that does nothing else; and each block comes right after one
// other. So the fewest jumps are the most pairs that match blocks with
// successors, which is a matching of a bipartite graph. Edges that go back are
// left out of it, so that no circle comes out, and are used where there is room
// in the end.
func layout(f *fn) []*block {
	l := &layouter{cpu: f.opts.CPU, place: make([]int, len(f.blocks)),
		next: make([]*block, len(f.blocks)), prev: make([]*block, len(f.blocks))}
	order := reversePostorder(f)
	for i, b := range order {
		l.place[b.id] = i
	}
	// Those in loops first: they find their match, whatever it costs the others.
	byDepth := slices.Clone(order)
	slices.SortStableFunc(byDepth, func(a, b *block) int { return cmp.Compare(b.depth, a.depth) })
	for _, b := range byDepth {
		l.tried = make(map[*block]bool)
		l.match(b)
	}
	for _, b := range byDepth {
		if l.next[b.id] != nil {
			continue
		}
		for _, s := range l.wishes(b) {
			if l.prev[s.id] == nil && s != f.blocks[0] && l.head(b) != s {
				l.next[b.id], l.prev[s.id] = s, b
				break
			}
		}
	}
	// The chains, in the order of their first blocks.
	out := make([]*block, 0, len(order))
	for _, b := range order {
		if l.prev[b.id] != nil {
			continue
		}
		for ; b != nil; b = l.next[b.id] {
			out = append(out, b)
		}
	}
	return out
}

type layouter struct {
	cpu        int
	place      []int // of each block in the reverse postorder
	next, prev []*block
	tried      map[*block]bool
}

// wishes returns the successors that may come right after b, the best first.
func (l *layouter) wishes(b *block) []*block {
	switch b.last().kind {
	case kJmp:
		return b.succs
	case kJcc:
		yes, no := b.succs[0], b.succs[1]
		switch {
		case !b.last().invertible(l.cpu):
			return []*block{no}
		case b.likely > 0 || b.likely == 0 && yes.depth > no.depth:
			return []*block{yes, no}
		}
		return []*block{no, yes}
	}
	return nil
}

// match finds a successor for b, and for those that have to give theirs up for
// it (H. W. Kuhn, "The Hungarian Method", 1955, without weights).
func (l *layouter) match(b *block) bool {
	for _, s := range l.wishes(b) {
		if l.place[s.id] <= l.place[b.id] || l.tried[s] {
			continue
		}
		l.tried[s] = true
		if p := l.prev[s.id]; p == nil || l.match(p) {
			l.next[b.id], l.prev[s.id] = s, b
			return true
		}
	}
	return false
}

// head returns the first block of the chain of b.
func (l *layouter) head(b *block) *block {
	for l.prev[b.id] != nil {
		b = l.prev[b.id]
	}
	return b
}

// reversePostorder returns the blocks so that each comes before its successors,
// but for those that it goes back to.
func reversePostorder(f *fn) []*block {
	type frame struct {
		b    *block
		next int
	}
	order := make([]*block, 0, len(f.blocks))
	seen := make([]bool, len(f.blocks))
	stack := []frame{{b: f.blocks[0]}}
	seen[f.blocks[0].id] = true
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.next < len(top.b.succs) {
			// The branch that is taken first, so that what falls through comes
			// first in the reverse.
			s := top.b.succs[top.next]
			top.next++
			if !seen[s.id] {
				seen[s.id] = true
				stack = append(stack, frame{b: s})
			}
			continue
		}
		order = append(order, top.b)
		stack = stack[:len(stack)-1]
	}
	slices.Reverse(order)
	return order
}

// invertible tells whether there is a jump on the opposite of i.
func (i *inst) invertible(cpu int) bool {
	return i.cond != condSet && (i.src != noReg || hasJump(cpu, i.cond.Not()))
}
