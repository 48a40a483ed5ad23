package pass

import (
	"math"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// access folds what is constant into loads, stores and atomics: the offset of
// the address, what a store drops of its value, what a constant object holds.
func (c *combiner) access(v *ir.Value) *ir.Value {
	switch p := v.Args[0]; p.Op {
	case ir.OpAdd:
		if n, ok := constOf(p.Args[1]); ok && isOffset(v.Imm+n) {
			v.Imm += n
			return c.setArg(v, 0, p.Args[0])
		}
	case ir.OpGlobal:
		// One address serves all accesses of an object, at their offsets.
		if p.Imm != 0 && isOffset(v.Imm+p.Imm) {
			base := c.f.NewValue(ir.OpGlobal, ir.Ptr)
			base.Sym = p.Sym
			v.Imm += p.Imm
			return c.setArg(v, 0, c.emitValue(base))
		}
	}
	switch v.Op {
	case ir.OpAtomic:
		// Nobody wants the old value: then there is an instruction at every level.
		if v.Type != ir.Void && v.Atomic < ir.AtomicXchg && v.ID < len(c.uses) && c.uses[v.ID] == 0 {
			v.Type = ir.Void
			return v
		}
	case ir.OpLoad:
		return c.loadConstant(v)
	case ir.OpStore:
		return c.storeLow(v)
	}
	return nil
}

// isOffset says whether an instruction has room for an offset.
func isOffset(n int64) bool { return n == int64(int16(n)) }

// storeLow drops what only changes bits that are not stored.
func (c *combiner) storeLow(v *ir.Value) *ir.Value {
	x := v.Args[1]
	if !c.single(x) {
		return nil
	}
	switch x.Op {
	case ir.OpTrunc, ir.OpZext, ir.OpSext:
		if v.Size <= 4 {
			return c.setArg(v, 1, x.Args[0])
		}
	case ir.OpSextIn:
		if v.Size <= x.Size {
			return c.setArg(v, 1, x.Args[0])
		}
	case ir.OpAnd:
		if n, ok := constOf(x.Args[1]); ok && uint64(n)&sizeMask(v.Size) == sizeMask(v.Size) {
			return c.setArg(v, 1, x.Args[0])
		}
	}
	return nil
}

// loadConstant reads an object that nobody changes, now.
func (c *combiner) loadConstant(v *ir.Value) *ir.Value {
	p := v.Args[0]
	if p.Op != ir.OpGlobal || v.Volatile {
		return nil
	}
	g := p.Sym.(*ir.Global)
	offset := p.Imm + v.Imm
	if !g.Constant || g.Extern || len(g.Relocs) > 0 || offset < 0 || offset > math.MaxInt32 || offset+int64(v.Size) > int64(g.Size) {
		return nil
	}
	x := dataAt(g, int(offset), v.Size)
	if v.Type == ir.Ptr && x != 0 {
		return nil
	}
	return c.constant(v.Type, extendIn(x, v.Size, v.Signed))
}

// dataAt returns size bytes of g as a little-endian number.
func dataAt(g *ir.Global, offset, size int) int64 {
	var x int64
	if g.Data == nil {
		return 0
	}
	for i := range size {
		x |= int64(g.Data[offset+i]) << (8 * i)
	}
	return x
}
