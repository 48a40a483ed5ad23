package lower

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// frameSize is MAX_BPF_STACK of include/linux/filter.h.
const frameSize = 512

// liveObjects returns, by the number of the block, the objects of the frame whose
// content matters after it: somebody may read it, or a part of it, before all of
// it is written. Where an object has not been written yet its content does not
// matter either, but that takes no room from others that matter at once.
func liveObjects(f *fn) []bitset {
	n := len(f.blocks)
	gen, kill, in, out := make([]bitset, n), make([]bitset, n), make([]bitset, n), make([]bitset, n)
	for i, b := range f.blocks {
		gen[i], kill[i], out[i] = newBitset(len(f.objs)), newBitset(len(f.objs)), newBitset(len(f.objs))
		for k := len(b.insts) - 1; k >= 0; k-- {
			uses, kills := b.insts[k].objects()
			for _, o := range kills {
				kill[i].add(o.id)
				gen[i].remove(o.id)
			}
			for _, o := range uses {
				gen[i].add(o.id)
			}
		}
		in[i] = slices.Clone(gen[i])
	}
	flow(f, in, out, gen, kill)
	return out
}

// objects returns the objects that i may use, and those whose old content is
// dead before it. Part of an object may be read later without having been
// written in C, so that a store to a part is a use: it keeps its place. What is
// spilled is read as a whole, and stored as a whole.
func (i *inst) objects() (uses, kills []*object) {
	if i.kind == kLife {
		return nil, i.objs
	}
	uses = i.objs
	if i.frame != nil {
		one := []*object{i.frame}
		if i.kind == kStore && i.frame.spill {
			return uses, one
		}
		uses = append(one, uses...)
	}
	return uses, nil
}

// placeFrame gives each object that the code names its offset in the frame, and
// returns how many bytes of it are used. Objects that are not live at once share
// room.
func placeFrame(f *fn) (int, error) {
	n := len(f.objs)
	if n == 0 {
		return 0, nil
	}
	used := newBitset(n)
	for _, b := range f.blocks {
		for k := range b.insts {
			uses, kills := b.insts[k].objects()
			for _, o := range uses {
				used.add(o.id)
			}
			if b.insts[k].kind != kLife {
				for _, o := range kills {
					used.add(o.id)
				}
			}
		}
	}
	apart := make([]bitset, n)
	for i := range apart {
		apart[i] = newBitset(n)
	}
	conflict := func(o *object, live bitset) {
		apart[o.id].union(live)
		live.each(func(i int) { apart[i].add(o.id) })
	}
	out := liveObjects(f)
	written := reachedObjects(f)
	for _, b := range f.blocks {
		// Forward: what may have been written. Backward: what may be read. An
		// object needs its room where both hold.
		at := make([]bitset, len(b.insts))
		reached := written[b.id]
		for k := range b.insts {
			uses, kills := b.insts[k].objects()
			for _, o := range kills {
				if b.insts[k].kind == kLife {
					reached.remove(o.id)
				} else {
					reached.add(o.id)
				}
			}
			for _, o := range uses {
				reached.add(o.id)
			}
			if len(uses)+len(kills) > 0 {
				at[k] = slices.Clone(reached)
			}
		}
		live := out[b.id]
		for k := len(b.insts) - 1; k >= 0; k-- {
			uses, kills := b.insts[k].objects()
			if len(uses)+len(kills) == 0 {
				continue
			}
			both := slices.Clone(live)
			for w := range both {
				both[w] &= at[k][w]
			}
			if b.insts[k].kind != kLife {
				for _, o := range kills {
					conflict(o, both)
				}
			}
			for _, o := range kills {
				live.remove(o.id)
			}
			for _, o := range uses {
				conflict(o, both)
				live.add(o.id)
			}
			for i, o := range uses {
				for _, p := range uses[:i] {
					apart[o.id].add(p.id)
					apart[p.id].add(o.id)
				}
			}
		}
	}
	var objs []*object
	used.each(func(i int) { objs = append(objs, f.objs[i]) })
	for _, o := range objs {
		if o.pinned {
			conflict(o, used)
		}
	}
	// Variables first, where the source has them, then what is spilled.
	slices.SortStableFunc(objs, func(a, b *object) int {
		return cmp.Compare(b2i(a.spill), b2i(b.spill))
	})
	size := 0
	var placed []*object
	for _, o := range objs {
		o.place(placed, apart[o.id])
		placed = append(placed, o)
		size = max(size, -o.off)
	}
	size = (size + 7) &^ 7
	if size > frameSize {
		return 0, tooLarge(f, objs, size)
	}
	return size, nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// reachedObjects returns, by the number of the block, the objects that may have
// been written or named before it, since their life began.
func reachedObjects(f *fn) []bitset {
	n := len(f.blocks)
	gen, kill, in := make([]bitset, n), make([]bitset, n), make([]bitset, n)
	for i, b := range f.blocks {
		gen[i], kill[i], in[i] = newBitset(len(f.objs)), newBitset(len(f.objs)), newBitset(len(f.objs))
		for k := range b.insts {
			uses, kills := b.insts[k].objects()
			for _, o := range kills {
				if b.insts[k].kind == kLife {
					kill[i].add(o.id)
					gen[i].remove(o.id)
				} else {
					gen[i].add(o.id)
				}
			}
			for _, o := range uses {
				gen[i].add(o.id)
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for _, b := range f.blocks {
			for _, p := range b.preds {
				for w := range in[b.id] {
					x := in[b.id][w] | gen[p.id][w] | in[p.id][w]&^kill[p.id][w]
					if x != in[b.id][w] {
						in[b.id][w] = x
						changed = true
					}
				}
			}
		}
	}
	return in
}

// place finds the highest room for o that no object apart from it has.
func (o *object) place(placed []*object, apart bitset) {
	var others []*object
	for _, p := range placed {
		if apart.has(p.id) {
			others = append(others, p)
		}
	}
	slices.SortFunc(others, func(a, b *object) int { return cmp.Compare(b.off, a.off) })
	size := max(o.size, 1)
	top := 0
	fit := func(top int) int { return -((-(top - size) + o.align - 1) &^ (o.align - 1)) }
	for _, p := range others {
		if fit(top) >= p.off+max(p.size, 1) {
			break
		}
		top = min(top, p.off)
	}
	o.off = fit(top)
}

// tooLarge says which variables fill the frame.
func tooLarge(f *fn, objs []*object, size int) error {
	objs = slices.Clone(objs)
	slices.SortStableFunc(objs, func(a, b *object) int { return cmp.Compare(b.size, a.size) })
	var list []string
	spills := 0
	pos := f.src.Pos
	for _, o := range objs {
		switch {
		case o.spill:
			spills += o.size
		case len(list) < 5:
			name := o.name
			if name == "" {
				name = "a temporary"
			}
			list = append(list, fmt.Sprintf("%s of %d bytes", name, o.size))
			if len(list) == 1 && o.pos != (ir.Pos{}) {
				pos = o.pos
			}
		}
	}
	if spills > 0 {
		list = append(list, fmt.Sprintf("%d bytes of registers that did not fit", spills))
	}
	return ir.Errorf(pos, "the frame of function %s takes %d bytes of stack, more than %d: %s",
		f.src.Name, size, frameSize, strings.Join(list, ", "))
}
