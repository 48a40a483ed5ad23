package lower

import (
	"cmp"
	"slices"
)

// layout returns the blocks in an order that takes few jumps: each block is put
// before the one of its successors that it most often goes to and that has no
// other block before it, by joining chains along edges from the heaviest on
// (K. Pettis and R. C. Hansen, "Profile Guided Code Positioning", PLDI 1990).
func layout(f *fn) []*block {
	type edge struct {
		from, to *block
		weight   int
	}
	var edges []edge
	for _, b := range f.blocks {
		base := 4 * min(b.depth, 6)
		switch b.last().kind {
		case kJmp:
			edges = append(edges, edge{b, b.succs[0], base + 2})
		case kJcc:
			// The one that falls through.
			no, yes := base+1, base
			switch b.likely {
			case 1:
				yes += 2
			case -1:
				no += 2
			}
			edges = append(edges, edge{b, b.succs[1], no})
			if b.last().invertible(f.opts.CPU) {
				edges = append(edges, edge{b, b.succs[0], yes})
			}
		}
	}
	slices.SortStableFunc(edges, func(a, b edge) int { return cmp.Compare(b.weight, a.weight) })
	next := make([]*block, len(f.blocks))
	prev := make([]*block, len(f.blocks))
	// chain is the first block of the chain of a block, for those at its end.
	head := make([]*block, len(f.blocks))
	tail := make([]*block, len(f.blocks))
	for _, b := range f.blocks {
		head[b.id], tail[b.id] = b, b
	}
	for _, e := range edges {
		a, b := e.from, e.to
		if next[a.id] != nil || prev[b.id] != nil || b == f.blocks[0] || head[a.id] == b {
			continue
		}
		next[a.id], prev[b.id] = b, a
		h, t := head[a.id], tail[b.id]
		head[t.id], tail[h.id] = h, t
	}
	// Chains in the order of their first blocks, which is that of the source.
	var order []*block
	for _, b := range f.blocks {
		if prev[b.id] != nil {
			continue
		}
		for ; b != nil; b = next[b.id] {
			order = append(order, b)
		}
	}
	return order
}

// invertible tells whether there is a jump on the opposite of i.
func (i *inst) invertible(cpu int) bool {
	return i.cond != condSet && (i.src != noReg || hasJump(cpu, i.cond.Not()))
}
