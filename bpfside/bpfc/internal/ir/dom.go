package ir

import "slices"

// Dominators is the dominator tree of a function, as it was when it was made.
// A block dominates another if each way from the entry to that goes through it.
type Dominators struct {
	order []*Block // the reachable blocks, in reverse post-order
	rpo   []int    // position in order by ID, -1 of unreachable blocks
	idom  []int    // of a position, the position of the immediate dominator
	kids  [][]*Block
	// pre and last number the tree's blocks in pre-order: what a block dominates
	// has the numbers from its pre to its last.
	pre, last []int
}

// Dominators returns the dominator tree of f.
//
// It is that of Cooper, Harvey and Kennedy, "A Simple, Fast Dominance
// Algorithm": walk the blocks in reverse post-order and intersect what is known
// of the predecessors until nothing changes, which for the graphs of programs
// is after two rounds.
func (f *Func) Dominators() *Dominators {
	d := &Dominators{order: f.Reachable(), rpo: make([]int, f.NumIDs())}
	for i := range d.rpo {
		d.rpo[i] = -1
	}
	for i, b := range d.order {
		d.rpo[b.ID] = i
	}
	preds := make([][]int, len(d.order))
	for i, b := range d.order {
		for _, e := range b.Term.Succs {
			to := d.rpo[e.To.ID]
			preds[to] = append(preds[to], i)
		}
	}
	d.idom = make([]int, len(d.order))
	for i := range d.idom {
		d.idom[i] = -1
	}
	if len(d.order) > 0 {
		d.idom[0] = 0
	}
	for changed := true; changed; {
		changed = false
		for i := 1; i < len(d.order); i++ {
			idom := -1
			for _, p := range preds[i] {
				switch {
				case d.idom[p] < 0: // not visited yet
				case idom < 0:
					idom = p
				default:
					idom = d.intersect(idom, p)
				}
			}
			if d.idom[i] != idom {
				d.idom[i] = idom
				changed = true
			}
		}
	}
	d.number()
	return d
}

// intersect returns the nearest block that dominates both positions.
func (d *Dominators) intersect(a, b int) int {
	for a != b {
		for a > b {
			a = d.idom[a]
		}
		for b > a {
			b = d.idom[b]
		}
	}
	return a
}

// number fills kids, pre and last.
func (d *Dominators) number() {
	n := len(d.order)
	d.kids = make([][]*Block, n)
	for i := 1; i < n; i++ {
		d.kids[d.idom[i]] = append(d.kids[d.idom[i]], d.order[i])
	}
	// The size of each subtree, from the leaves up: a block comes after the one
	// that dominates it in order.
	size := make([]int, n)
	for i := n - 1; i >= 0; i-- {
		size[i]++
		if i > 0 {
			size[d.idom[i]] += size[i]
		}
	}
	d.pre, d.last = make([]int, n), make([]int, n)
	for i := range n {
		d.last[i] = d.pre[i] + size[i] - 1
		next := d.pre[i] + 1
		for _, k := range d.kids[i] {
			d.pre[d.rpo[k.ID]] = next
			next += size[d.rpo[k.ID]]
		}
	}
}

// Order returns the reachable blocks in reverse post-order. The caller must not
// change it.
func (d *Dominators) Order() []*Block { return d.order }

// position returns where b stands in order, -1 of an unreachable or newer block.
func (d *Dominators) position(b *Block) int {
	if b.ID >= len(d.rpo) {
		return -1
	}
	return d.rpo[b.ID]
}

// Reachable says whether b can be reached from the entry.
func (d *Dominators) Reachable(b *Block) bool { return d.position(b) >= 0 }

// Idom returns the immediate dominator of b: nil of the entry, and of blocks
// that cannot be reached.
func (d *Dominators) Idom(b *Block) *Block {
	if i := d.position(b); i > 0 {
		return d.order[d.idom[i]]
	}
	return nil
}

// Children returns the blocks whose immediate dominator is b.
func (d *Dominators) Children(b *Block) []*Block {
	if i := d.position(b); i >= 0 {
		return d.kids[i]
	}
	return nil
}

// Dominates says whether a dominates b. A block dominates itself. Blocks that
// cannot be reached dominate nothing and are dominated by each that can.
func (d *Dominators) Dominates(a, b *Block) bool {
	i, j := d.position(a), d.position(b)
	if j < 0 {
		return i >= 0 || a == b
	}
	return i >= 0 && d.pre[i] <= d.pre[j] && d.pre[j] <= d.last[i]
}

// A Loop is a natural loop: the blocks from which one comes back to Head
// without leaving it.
type Loop struct {
	Head   *Block
	Blocks []*Block // Head first, then in reverse post-order, with those of inner loops
	Parent *Loop    // the innermost loop around it, nil if there is none
	Depth  int      // 1 of an outermost loop
}

// Contains says whether b belongs to l.
func (l *Loop) Contains(b *Block) bool { return slices.Contains(l.Blocks, b) }

// Loops returns the natural loops of f, inner ones before those around them, and
// the innermost loop of each block, by the block's ID. Cycles that have several
// entries, which only goto makes, are no loops.
func (f *Func) Loops(d *Dominators) (loops []*Loop, innermost []*Loop) {
	innermost = make([]*Loop, f.NumIDs())
	preds := f.Preds()
	// From the last block to the first, so that an inner loop, whose head the
	// outer one's dominates, is found first.
	for i := len(d.order) - 1; i >= 0; i-- {
		head := d.order[i]
		var work []*Block
		for _, p := range preds[head.ID] {
			if d.Reachable(p.From) && d.Dominates(head, p.From) {
				work = append(work, p.From)
			}
		}
		if len(work) == 0 {
			continue
		}
		l := &Loop{Head: head}
		in := map[*Block]bool{head: true}
		for len(work) > 0 {
			b := work[len(work)-1]
			work = work[:len(work)-1]
			if in[b] {
				continue
			}
			in[b] = true
			for _, p := range preds[b.ID] {
				if d.Reachable(p.From) {
					work = append(work, p.From)
				}
			}
		}
		for b := range in {
			l.Blocks = append(l.Blocks, b)
		}
		slices.SortFunc(l.Blocks, func(a, b *Block) int { return d.rpo[a.ID] - d.rpo[b.ID] })
		for _, b := range l.Blocks {
			if inner := innermost[b.ID]; inner == nil {
				innermost[b.ID] = l
			} else {
				for inner.Parent != nil && inner.Parent != l {
					inner = inner.Parent
				}
				if inner != l {
					inner.Parent = l
				}
			}
		}
		loops = append(loops, l)
	}
	for _, l := range slices.Backward(loops) {
		l.Depth = 1
		if l.Parent != nil {
			l.Depth = l.Parent.Depth + 1
		}
	}
	return loops, innermost
}
