package lower

import (
	"math"
	"slices"
)

// A register that found no colour moves into the frame: it is stored after each
// instruction that writes it, and loaded before those that read it. What can be
// made again (a constant, an address) is made again instead. Within a block one
// load serves what follows up to the next call; where even that has no colour,
// the next round loads for each instruction anew.

// spiller remembers what earlier rounds did.
type spiller struct {
	f *fn
	// home of a register is where it has been stored, or will be.
	home map[reg]*object
	// made is the instruction that makes a register again.
	made map[reg]inst
	// temp registers stand for one that was spilled: some for what follows up to
	// a call, and final ones for one instruction, so that spilling them is of no
	// use.
	temp, final map[reg]bool
}

func newSpiller(f *fn) *spiller {
	sp := &spiller{f: f, home: map[reg]*object{}, made: map[reg]inst{}, temp: map[reg]bool{}, final: map[reg]bool{}}
	defs := map[reg]int{}
	for _, b := range f.blocks {
		for k := range b.insts {
			i := &b.insts[k]
			d := i.def()
			if !d.virtual() {
				continue
			}
			defs[d]++
			if i.remakes() {
				sp.made[d] = *i
			}
		}
	}
	for r, n := range defs {
		if n > 1 {
			delete(sp.made, r)
		}
	}
	return sp
}

// remakes tells whether i can be written again wherever its result is asked for.
func (i *inst) remakes() bool {
	return i.kind == kLdImm || i.kind == kLea || i.kind == kMov && i.src == noReg
}

// cost of spilling r, which is read and written with a weight in all.
func (sp *spiller) cost(r reg, weight float64) float64 {
	if sp.final[r] {
		return math.Inf(1)
	}
	if i, ok := sp.made[r]; ok {
		if i.kind == kMov {
			return weight / 4 // a constant costs no more than the load of it
		}
		return weight / 2
	}
	return weight
}

// spill rewrites the code for the registers that g could not colour.
func (sp *spiller) spill(g *graph) {
	out := map[reg]bool{} // all that are to be spilled
	for r := firstVirtual; int(r) < g.n; r++ {
		if g.state[r] != nUnused && g.state[g.find(int32(r))] == nUncolorable {
			out[r] = true
		}
	}
	sp.share(g, out)
	for _, b := range sp.f.blocks {
		sp.rewrite(b, out)
	}
}

// share makes one register of those that are to be spilled and of which one is a
// copy of the other, so that the copy from home to home goes.
func (sp *spiller) share(g *graph, out map[reg]bool) {
	alias := map[reg]reg{}
	members := map[reg][]reg{}
	find := func(r reg) reg {
		for {
			a, ok := alias[r]
			if !ok {
				return r
			}
			r = a
		}
	}
	class := func(r reg) []reg {
		if m := members[r]; m != nil {
			return m
		}
		return []reg{r}
	}
	eligible := func(r reg) bool {
		_, remade := sp.made[r]
		return out[r] && !remade && !sp.final[r] && sp.home[r] == nil
	}
	for _, m := range g.moves {
		u, v := reg(m.dst), reg(m.src)
		if !eligible(u) || !eligible(v) {
			continue
		}
		u, v = find(u), find(v)
		if u == v {
			continue
		}
		apart := func(a reg) bool {
			return slices.ContainsFunc(class(v), func(b reg) bool {
				// What the colouring made one has the edges of all its parts.
				return g.interferes(int32(a), int32(b)) || g.interferes(g.find(int32(a)), g.find(int32(b)))
			})
		}
		if slices.ContainsFunc(class(u), apart) {
			continue
		}
		members[u] = append(slices.Clone(class(u)), class(v)...)
		alias[v] = u
	}
	if len(alias) == 0 {
		return
	}
	for _, b := range sp.f.blocks {
		for k := range b.insts {
			i := &b.insts[k]
			i.dst, i.src = find(i.dst), find(i.src)
			if i.isCopy() && i.dst == i.src {
				*i = inst{}
			}
		}
	}
}

// rewrite puts loads and stores into b.
func (sp *spiller) rewrite(b *block, out map[reg]bool) {
	var (
		insts []inst
		at    = map[reg]reg{} // where the registers of out are at present
		uses  []reg
	)
	touched := func(i *inst) bool { return out[i.dst] || out[i.src] }
	if !slices.ContainsFunc(b.insts, func(i inst) bool { return touched(&i) }) {
		return
	}
	for k := range b.insts {
		i := b.insts[k]
		if i.kind == kNop {
			continue
		}
		if !touched(&i) {
			insts = append(insts, i)
			if i.kind == kCall {
				clear(at)
			}
			continue
		}
		if i.kind == kStore && i.frame != nil && i.frame == sp.home[i.src] {
			continue // it was stored when it was written
		}
		oldDst, oldSrc := i.dst, i.src
		uses = i.uses(uses[:0])
		read := func(r reg) reg {
			if t, ok := at[r]; ok {
				return t
			}
			t := sp.load(&insts, r, &i)
			if !sp.final[t] {
				at[r] = t
			}
			return t
		}
		if out[i.src] && slices.Contains(uses, i.src) {
			i.src = read(i.src)
			if i.kind == kJcc {
				i.homeSrc = sp.home[oldSrc]
			}
		}
		if out[i.dst] && i.readsDst() {
			if oldDst == oldSrc {
				i.dst = i.src
			} else {
				i.dst = read(i.dst)
			}
			if i.kind == kJcc {
				i.homeDst = sp.home[oldDst]
			}
		}
		// Which of them does it write?
		d := b.insts[k].def()
		if d == noReg || !out[d] {
			insts = append(insts, i)
			continue
		}
		if _, ok := sp.made[d]; ok {
			continue // made where it is read
		}
		if i.isCopy() && !sp.readSoon(b.insts[k+1:], d) {
			// The end of an edge, or an argument: no need for a register.
			insts = append(insts, inst{kind: kStore, size: 8, dst: noReg, src: i.src, frame: sp.homeOf(d), pos: i.pos})
			delete(at, d)
			continue
		}
		t := i.dst
		switch {
		case i.kind == kAtomic:
			t = i.src
		case !i.readsDst():
			t = sp.newTemp(d)
			i.dst = t
		}
		insts = append(insts, i, inst{kind: kStore, size: 8, dst: noReg, src: t, frame: sp.homeOf(d), pos: i.pos})
		if sp.final[t] {
			delete(at, d)
		} else {
			at[d] = t
		}
	}
	b.insts = insts
}

// readSoon tells whether r is read among insts before it is written or a call.
func (sp *spiller) readSoon(insts []inst, r reg) bool {
	var uses []reg
	for k := range insts {
		i := &insts[k]
		uses = i.uses(uses[:0])
		if slices.Contains(uses, r) {
			return true
		}
		if i.kind == kCall || i.def() == r {
			return false
		}
	}
	return false
}

// newTemp returns a register that stands for r for a while. If r is itself one,
// the new one lives for one instruction.
func (sp *spiller) newTemp(r reg) reg {
	t := sp.f.newReg()
	sp.temp[t], sp.final[t] = true, sp.temp[r]
	if m, ok := sp.made[r]; ok {
		sp.made[t] = m
	} else {
		sp.home[t] = sp.homeOf(r)
	}
	return t
}

// load makes r in a new register before the instruction next.
func (sp *spiller) load(insts *[]inst, r reg, next *inst) reg {
	t := sp.newTemp(r)
	i, ok := sp.made[r]
	if !ok {
		i = inst{kind: kLoad, size: 8, src: noReg, frame: sp.homeOf(r)}
	}
	i.dst, i.pos = t, next.pos
	*insts = append(*insts, i)
	return t
}

// homeOf returns where r is stored.
func (sp *spiller) homeOf(r reg) *object {
	if sp.home[r] == nil {
		sp.home[r] = sp.f.newObject(object{size: 8, align: 8, spill: true, pos: sp.f.src.Pos})
	}
	return sp.home[r]
}
