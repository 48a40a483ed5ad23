package lower

import (
	"maps"
	"slices"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// peephole removes what the allocation of registers shows to be of no use: jumps
// to jumps, values that are already where they are wanted, and stores of
// registers that nobody loads any more.
func peephole(f *fn) {
	f.nregs = int(firstVirtual)
	for range 8 {
		changed := threadJumps(f)
		joinBlocks(f)
		changed = forward(f) || changed
		changed = removeDeadStores(f) || changed
		changed = removeDead(f) || changed
		if !changed {
			return
		}
	}
}

// threadJumps makes jumps to a block that does nothing but jump go on to where
// that goes.
func threadJumps(f *fn) bool {
	changed := false
	for _, b := range f.blocks {
		for i, s := range b.succs {
			for n := 0; len(s.insts) == 1 && s.insts[0].kind == kJmp && s.succs[0] != s && n < len(f.blocks); n++ {
				s = s.succs[0]
			}
			if s != b.succs[i] {
				b.succs[i] = s
				changed = true
			}
		}
		if b.last().kind == kJcc && b.succs[0] == b.succs[1] {
			*b.last() = inst{kind: kJmp, dst: noReg, src: noReg, pos: b.last().pos}
			b.succs = b.succs[:1]
			changed = true
		}
	}
	if changed {
		f.link()
	}
	return changed
}

// A known says what registers and homes of spilled registers hold, by numbers:
// what has the same number is equal.
type known struct {
	regs  [numAlloc]int
	homes map[*object]int
}

// A content is what makes a number: a constant or an address.
type content struct {
	kind kind
	imm  int64
	sym  ir.Symbol
	obj  *object
	off  int32
}

// forward removes instructions that give a register what it holds already, and
// copies what another register holds. It follows ways into blocks that have no
// other.
func forward(f *fn) bool {
	fw := &forwarder{numbers: map[content]int{}}
	end := make([]*known, len(f.blocks))
	done := make([]bool, len(f.blocks))
	var visit func(b *block)
	visit = func(b *block) {
		for !done[b.id] {
			done[b.id] = true
			state := &known{homes: map[*object]int{}}
			if len(b.preds) == 1 && b.preds[0] != b {
				if p := end[b.preds[0].id]; p != nil {
					state = &known{regs: p.regs, homes: maps.Clone(p.homes)}
				}
			}
			for r, n := range state.regs {
				if n == 0 {
					state.regs[r] = fw.fresh()
				}
			}
			fw.block(b, state)
			end[b.id] = state
			var next *block
			for _, s := range b.succs {
				if len(s.preds) == 1 && !done[s.id] {
					if next != nil {
						visit(next)
					}
					next = s
				}
			}
			if next == nil {
				return
			}
			b = next
		}
	}
	for _, b := range f.blocks {
		if len(b.preds) != 1 {
			visit(b)
		}
	}
	for _, b := range f.blocks {
		visit(b) // in circles that nothing else enters
	}
	return fw.changed
}

type forwarder struct {
	numbers map[content]int
	last    int
	changed bool
}

func (fw *forwarder) fresh() int {
	fw.last++
	return fw.last
}

func (fw *forwarder) number(c content) int {
	if fw.numbers[c] == 0 {
		fw.numbers[c] = fw.fresh()
	}
	return fw.numbers[c]
}

func (fw *forwarder) block(b *block, state *known) {
	for k := range b.insts {
		i := &b.insts[k]
		n := 0
		switch {
		case i.isCopy():
			n = state.regs[i.src]
		case i.kind == kMov && i.src == noReg:
			imm := i.imm
			if !i.wide {
				imm = int64(uint32(imm))
			}
			n = fw.number(content{kind: kMov, imm: imm})
		case i.kind == kLdImm:
			n = fw.number(content{kind: kLdImm, imm: i.imm, sym: i.sym})
		case i.kind == kLea:
			n = fw.number(content{kind: kLea, obj: i.frame, off: i.off})
		case i.kind == kLoad && i.frame != nil && i.frame.spill:
			n = state.homes[i.frame]
			if n == 0 {
				n = fw.fresh()
				state.homes[i.frame] = n
			}
		case i.kind == kStore && i.frame != nil && i.frame.spill:
			if i.src == noReg {
				state.homes[i.frame] = fw.fresh()
				continue
			}
			if state.homes[i.frame] == state.regs[i.src] {
				*i = inst{}
				fw.changed = true
				continue
			}
			state.homes[i.frame] = state.regs[i.src]
			continue
		}
		if n == 0 {
			clobbers(i, func(r reg) { state.regs[r] = fw.fresh() })
			continue
		}
		if state.regs[i.dst] == n {
			*i = inst{}
			fw.changed = true
			continue
		}
		if !i.isCopy() && i.kind != kMov {
			if r := slices.Index(state.regs[:], n); r >= 0 {
				*i = inst{kind: kMov, wide: true, dst: i.dst, src: reg(r), pos: i.pos}
				fw.changed = true
			}
		}
		state.regs[i.dst] = n
	}
	b.insts = slices.DeleteFunc(b.insts, func(i inst) bool { return i.kind == kNop })
}

// removeDeadStores removes stores of spilled registers that nobody loads again.
func removeDeadStores(f *fn) bool {
	if !slices.ContainsFunc(f.objs, func(o *object) bool { return o.spill }) {
		return false
	}
	changed := false
	out := liveObjects(f)
	for _, b := range f.blocks {
		live := out[b.id]
		for k := len(b.insts) - 1; k >= 0; k-- {
			i := &b.insts[k]
			if i.kind == kStore && i.frame != nil && i.frame.spill && !live.has(i.frame.id) {
				*i = inst{}
				changed = true
				continue
			}
			uses, kills := i.objects()
			for _, o := range kills {
				live.remove(o.id)
			}
			for _, o := range uses {
				live.add(o.id)
			}
		}
		b.insts = slices.DeleteFunc(b.insts, func(i inst) bool { return i.kind == kNop })
	}
	return changed
}

// writeBack stores what a conditional jump has compared on both of its ways, if
// it also lives in the frame: see [Options.WriteBack].
func writeBack(f *fn) {
	if !f.opts.WriteBack {
		return
	}
	for _, b := range slices.Clone(f.blocks) {
		j := b.last()
		if j.kind != kJcc || j.homeDst == nil && j.homeSrc == nil {
			continue
		}
		out := liveObjects(f)
		for n, s := range b.succs {
			in := out[s.id]
			for k := len(s.insts) - 1; k >= 0; k-- {
				uses, kills := s.insts[k].objects()
				for _, o := range kills {
					in.remove(o.id)
				}
				for _, o := range uses {
					in.add(o.id)
				}
			}
			var stores []inst
			for _, x := range []struct {
				r reg
				o *object
			}{{j.dst, j.homeDst}, {j.src, j.homeSrc}} {
				if x.o != nil && in.has(x.o.id) {
					stores = append(stores, inst{kind: kStore, size: 8, dst: noReg, src: x.r, frame: x.o, pos: j.pos})
				}
			}
			if len(stores) == 0 {
				continue
			}
			if len(s.preds) == 1 {
				s.insts = append(stores, s.insts...)
				continue
			}
			between := f.newBlock(min(b.depth, s.depth))
			between.insts = append(stores, inst{kind: kJmp, dst: noReg, src: noReg, pos: j.pos})
			between.succs = []*block{s}
			b.succs[n] = between
			f.link()
		}
	}
}

// removeSelfStores removes stores of what was loaded from the same place just
// before: copies between variables that share their room in the frame.
func removeSelfStores(f *fn) {
	for _, b := range f.blocks {
		for k := 1; k < len(b.insts); k++ {
			l, s := &b.insts[k-1], &b.insts[k]
			if l.kind == kLoad && s.kind == kStore && l.frame != nil && s.frame != nil && !l.keep && !s.keep &&
				l.size == s.size && s.src == l.dst && l.frame.off+int(l.off) == s.frame.off+int(s.off) && !l.signed {
				*s = inst{}
				k++
			}
		}
		b.insts = slices.DeleteFunc(b.insts, func(i inst) bool { return i.kind == kNop })
	}
}
