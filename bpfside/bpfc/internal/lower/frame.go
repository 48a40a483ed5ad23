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
	objs, apart := conflicts(f)
	// Variables first, as the source has them, and what is spilled below them: a
	// write to an array at an index that the verifier cannot bound well spoils what
	// it knows of the frame above the array.
	slices.SortStableFunc(objs, func(a, b *object) int { return cmp.Compare(b2i(a.spill), b2i(b.spill)) })
	size := placeAll(objs, apart, true)
	if size > frameSize {
		size = placeAll(objs, apart, false)
	}
	if size > frameSize {
		return 0, tooLarge(f, objs, size)
	}
	return size, nil
}

// placeAll places the objects, variables first, and returns the size of the
// frame. If below, spilled registers share no room with variables.
func placeAll(objs []*object, apart []bitset, below bool) int {
	size, top := 0, 0
	for n, o := range objs {
		if o.spill && below && (n == 0 || !objs[n-1].spill) {
			top = -size
		}
		o.place(objs[:n], apart[o.id], top)
		size = max(size, -o.off)
	}
	return (size + 7) &^ 7
}

// conflicts returns the objects that the code names, and by the number of each
// those that it may not share room with.
func conflicts(f *fn) ([]*object, []bitset) {
	used := newBitset(len(f.objs))
	apart := make([]bitset, len(f.objs))
	for i := range apart {
		apart[i] = newBitset(len(f.objs))
	}
	conflict := func(o *object, others bitset) {
		apart[o.id].union(others)
		others.each(func(i int) { apart[i].add(o.id) })
	}
	out, in := liveObjects(f), reachedObjects(f)
	for _, b := range f.blocks {
		// An object needs its room from where it may have been written to where
		// it may be read. Whatever needs room at once meets at an instruction
		// that names one of them.
		reached := make([]bitset, len(b.insts))
		for k := range b.insts {
			if b.insts[k].reach(in[b.id]) {
				reached[k] = slices.Clone(in[b.id])
			}
		}
		live := out[b.id]
		for k := len(b.insts) - 1; k >= 0; k-- {
			uses, kills := b.insts[k].objects()
			if len(uses)+len(kills) == 0 {
				continue
			}
			needed := slices.Clone(live)
			for w := range needed {
				needed[w] &= reached[k][w]
			}
			if b.insts[k].kind != kLife {
				for _, o := range kills {
					used.add(o.id)
					conflict(o, needed)
				}
			}
			for _, o := range kills {
				live.remove(o.id)
			}
			for i, o := range uses {
				used.add(o.id)
				live.add(o.id)
				conflict(o, needed)
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
	return objs, apart
}

// reach adds to set what i may write, removes what begins to live, and tells
// whether i names any object.
func (i *inst) reach(set bitset) bool {
	uses, kills := i.objects()
	for _, o := range kills {
		if i.kind == kLife {
			set.remove(o.id)
		} else {
			set.add(o.id)
		}
	}
	for _, o := range uses {
		set.add(o.id)
	}
	return len(uses)+len(kills) > 0
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
	in := make([]bitset, len(f.blocks))
	for i := range in {
		in[i] = newBitset(len(f.objs))
	}
	for changed := true; changed; {
		changed = false
		for _, b := range f.blocks {
			set := slices.Clone(in[b.id])
			for k := range b.insts {
				b.insts[k].reach(set)
			}
			for _, s := range b.succs {
				changed = in[s.id].union(set) || changed
			}
		}
	}
	return in
}

// place finds the highest room for o below top that no object apart from it has.
func (o *object) place(placed []*object, apart bitset, top int) {
	var others []*object
	for _, p := range placed {
		if apart.has(p.id) {
			others = append(others, p)
		}
	}
	end := func(p *object) int { return p.off + max(p.size, 1) }
	// By their ends, so that what follows one which lies below o does as well.
	slices.SortFunc(others, func(a, b *object) int { return cmp.Compare(end(b), end(a)) })
	size := max(o.size, 1)
	fit := func(top int) int { return -((-(top - size) + o.align - 1) &^ (o.align - 1)) }
	for _, p := range others {
		if fit(top) >= end(p) {
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
