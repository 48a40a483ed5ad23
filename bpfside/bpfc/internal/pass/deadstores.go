package pass

import "github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"

// maxDoomed bounds how many places are followed at a time.
const maxDoomed = 256

// deadStores removes the writes that nobody can read, because something is
// written there again before, or because the frame ends. It walks the blocks
// from the last to the first, with what will be written.
func deadStores(f *ir.Func) bool {
	f.RemoveUnreachable()
	d := storeTable{
		f:      f,
		memory: newMemory(f),
		before: make([][]location, f.NumIDs()),
		done:   make([]bool, f.NumIDs()),
	}
	order := f.Reachable()
	for i := len(order) - 1; i >= 0; i-- {
		d.block(order[i])
	}
	return d.changed
}

type storeTable struct {
	f       *ir.Func
	memory  *memory
	before  [][]location // what is written again from the start of a block on, by its ID
	done    []bool
	doomed  []location // none overlaps another of the same base
	changed bool
}

func (d *storeTable) block(b *ir.Block) {
	d.doomed = d.atEnd(b)
	dead := map[*ir.Value]bool{}
	for i := len(b.Values) - 1; i >= 0; i-- {
		if v := b.Values[i]; d.isDead(v) {
			dead[v] = true
		}
	}
	if len(dead) > 0 {
		kept := b.Values[:0]
		for _, v := range b.Values {
			if !dead[v] {
				kept = append(kept, v)
			}
		}
		b.Values = kept
		d.changed = true
	}
	for _, p := range b.Params {
		d.define(p)
	}
	d.before[b.ID], d.done[b.ID] = d.doomed, true
}

// atEnd returns what is written, whatever way is taken from the end of b on.
func (d *storeTable) atEnd(b *ir.Block) []location {
	var doomed []location
	if len(b.Term.Succs) == 0 {
		for _, v := range d.f.Entry().Values {
			if v.Op == ir.OpAlloca {
				doomed = append(doomed, location{base: v, size: int64(v.Size)})
			}
		}
		return doomed
	}
	for i, e := range b.Term.Succs {
		switch {
		case !d.done[e.To.ID]:
			return nil // back into a loop
		case i == 0:
			doomed = append(doomed, d.before[e.To.ID]...)
		default:
			doomed = overlap(doomed, d.before[e.To.ID])
		}
	}
	return doomed
}

// overlap returns the bytes that are in both.
func overlap(a, b []location) []location {
	var both []location
	for _, l := range a {
		for _, m := range b {
			if !l.sameBase(m) {
				continue
			}
			from, to := max(l.offset, m.offset), min(l.offset+l.size, m.offset+m.size)
			if from < to {
				both = append(both, location{l.base, from, to - from})
			}
		}
	}
	return both
}

// isDead says whether v is a write that can go, and otherwise notes what it
// reads and writes.
func (d *storeTable) isDead(v *ir.Value) bool {
	switch v.Op {
	case ir.OpStore:
		at := locationOf(v)
		if v.Volatile {
			return false
		}
		if d.covered(at) {
			return true
		}
		d.doom(at)
	case ir.OpSet, ir.OpCopy, ir.OpMove:
		at := bulkAt(v, v.Args[0])
		if d.covered(at) {
			return true
		}
		if v.Op == ir.OpMove { // it may read what it writes
			d.read(at)
		} else {
			d.doom(at)
		}
		if v.Op != ir.OpSet {
			d.read(bulkAt(v, v.Args[1]))
		}
	case ir.OpLife:
		d.doom(location{base: v.Args[0], size: int64(v.Args[0].Size)})
	case ir.OpLoad:
		d.read(locationOf(v))
	default:
		if e, at := effectOf(v); e == writesAny {
			d.keep(func(l location) bool { return !d.memory.writes(v, e, at, l) })
		}
	}
	d.define(v)
	return false
}

// doom notes that the bytes at are written. No byte is noted twice.
func (d *storeTable) doom(at location) {
	d.doomed = cut(d.doomed, at, location.sameBase)
	if len(d.doomed) < maxDoomed {
		d.doomed = append(d.doomed, at)
	}
}

// cut returns what is left of ls without the bytes at; of those of which only
// the objects can be the same, nothing.
func cut(ls []location, at location, mayAlias func(a, b location) bool) []location {
	var kept []location
	for _, l := range ls {
		switch {
		case !mayAlias(l, at):
			kept = append(kept, l)
		case l.sameBase(at):
			for _, s := range spanOf(l).without([]span{spanOf(at)}) {
				kept = append(kept, location{l.base, int64(s.from), int64(s.to - s.from)})
			}
		}
	}
	return kept
}

// define notes that before v there is none: what is written behind it is not
// known by then.
func (d *storeTable) define(v *ir.Value) {
	if v.Type == ir.Ptr {
		d.keep(func(l location) bool { return l.base != v })
	}
}

func (d *storeTable) keep(want func(location) bool) {
	kept := d.doomed[:0]
	for _, l := range d.doomed {
		if want(l) {
			kept = append(kept, l)
		}
	}
	d.doomed = kept
}

// read notes that somebody reads the bytes at.
func (d *storeTable) read(at location) { d.doomed = cut(d.doomed, at, d.memory.mayAlias) }

func spanOf(l location) span { return span{int(l.offset), int(l.offset + l.size)} }

// covered says whether each byte at is written again.
func (d *storeTable) covered(at location) bool {
	var spans []span
	for _, l := range d.doomed {
		if l.sameBase(at) {
			spans = append(spans, spanOf(l))
		}
	}
	return len(spanOf(at).without(union(spans))) == 0
}
