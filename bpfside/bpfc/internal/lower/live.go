package lower

import (
	"slices"

	"github.com/cilium/ebpf/asm"
)

// liveOut returns, by the number of the block, the registers that somebody reads
// after it. Every block has its number as its place in f.blocks.
func liveOut(f *fn) []bitset {
	n := len(f.blocks)
	gen, kill, in, out := make([]bitset, n), make([]bitset, n), make([]bitset, n), make([]bitset, n)
	var uses []reg
	for i, b := range f.blocks {
		gen[i], kill[i], out[i] = newBitset(f.nregs), newBitset(f.nregs), newBitset(f.nregs)
		for k := len(b.insts) - 1; k >= 0; k-- {
			in := &b.insts[k]
			clobbers(in, func(r reg) {
				kill[i].add(int(r))
				gen[i].remove(int(r))
			})
			uses = in.uses(uses[:0])
			for _, r := range uses {
				gen[i].add(int(r))
			}
		}
		in[i] = slices.Clone(gen[i])
	}
	flow(f, in, out, gen, kill)
	return out
}

// flow solves out = union of in over successors, in = gen or out without kill.
func flow(f *fn, in, out, gen, kill []bitset) {
	queued := make([]bool, len(f.blocks))
	var work []*block
	for _, b := range f.blocks {
		work = append(work, b)
		queued[b.id] = true
	}
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		queued[b.id] = false
		i := b.id
		changed := false
		for _, s := range b.succs {
			changed = out[i].union(in[s.id]) || changed
		}
		if !changed {
			continue
		}
		news := false
		for w := range in[i] {
			x := gen[i][w] | out[i][w]&^kill[i][w]
			if x != in[i][w] {
				in[i][w] = x
				news = true
			}
		}
		if !news {
			continue
		}
		for _, p := range b.preds {
			if !queued[p.id] {
				queued[p.id] = true
				work = append(work, p)
			}
		}
	}
}

// clobbers calls f with each register that i writes or spoils.
func clobbers(i *inst, f func(reg)) {
	if i.kind == kCall {
		for r := r0; r <= r5; r++ {
			f(r)
		}
		return
	}
	if d := i.def(); d != noReg {
		f(d)
	}
}

// backward walks the instructions of b from the last one, with the registers
// that are live after each, which do may not change.
func backward(b *block, live bitset, do func(k int, i *inst)) {
	var uses []reg
	for k := len(b.insts) - 1; k >= 0; k-- {
		i := &b.insts[k]
		if i.kind == kNop {
			continue
		}
		do(k, i)
		if i.kind == kNop {
			continue // do deleted it
		}
		clobbers(i, func(r reg) { live.remove(int(r)) })
		uses = i.uses(uses[:0])
		for _, r := range uses {
			live.add(int(r))
		}
	}
}

// simplify makes f ready for the allocation: it joins blocks that follow each
// other alone, and removes instructions whose result nobody reads.
func simplify(f *fn) {
	f.link()
	joinBlocks(f)
	for removeDead(f) {
	}
	commute(f)
}

// commute swaps the operands of sums and the like of which the first is read
// again and the second is not: the result takes the register of the second, and
// the copy of the first goes.
func commute(f *fn) {
	out := liveOut(f)
	for _, b := range f.blocks {
		live := out[b.id]
		backward(b, live, func(k int, i *inst) {
			if i.kind != kALU || i.keep || !i.src.virtual() || k == 0 || live.has(int(i.src)) {
				return
			}
			switch i.alu {
			case asm.Add, asm.Mul, asm.And, asm.Or, asm.Xor:
			default:
				return
			}
			c := &b.insts[k-1]
			if c.isCopy() && c.dst == i.dst && c.src.virtual() && c.src != i.src && live.has(int(c.src)) {
				c.src, i.src = i.src, c.src
			}
		})
	}
}

// joinBlocks appends to each block the one that it alone jumps to.
func joinBlocks(f *fn) {
	for _, b := range f.blocks {
		for len(b.insts) > 0 && b.last().kind == kJmp {
			next := b.succs[0]
			if next == b || len(next.preds) != 1 || next == f.blocks[0] {
				break
			}
			b.insts = append(b.insts[:len(b.insts)-1], next.insts...)
			b.succs, b.likely = next.succs, next.likely
			b.depth = max(b.depth, next.depth)
			next.insts, next.succs = nil, nil
			for _, s := range b.succs {
				for k, p := range s.preds {
					if p == next {
						s.preds[k] = b
					}
				}
			}
		}
	}
	f.link()
}

// removeDead removes instructions that do nothing but write a register that
// nobody reads. It tells whether there were any.
func removeDead(f *fn) bool {
	removed := false
	out := liveOut(f)
	for _, b := range f.blocks {
		backward(b, out[b.id], func(_ int, i *inst) {
			if i.pure() && !out[b.id].has(int(i.dst)) || i.isCopy() && i.dst == i.src {
				*i = inst{}
				removed = true
			}
		})
		b.insts = slices.DeleteFunc(b.insts, func(i inst) bool { return i.kind == kNop })
	}
	return removed
}
