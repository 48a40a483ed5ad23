package pass

import "github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"

// compare leaves the bounds of ranges as the source has them: "x >= a && x < b"
// stays two comparisons of x, since from "x - a < b - a" the verifier would
// learn about a difference that nobody uses.
func (c *combiner) compare(v *ir.Value) *ir.Value {
	x, y := v.Args[0], v.Args[1]
	switch {
	case x.Op == ir.OpConst && y.Op == ir.OpConst:
		return c.truth(evalCmp(v.Cond, x.Type, x.Imm, y.Imm))
	case x.Op == ir.OpConst:
		v.Cond = v.Cond.Swap()
		return c.become(v, ir.OpCmp, y, x)
	case x == y:
		return c.truth(evalCmp(v.Cond, ir.I64, 0, 0))
	case x.Op == ir.OpZext && y.Op == ir.OpZext, x.Op == ir.OpSext && y.Op == ir.OpSext:
		if x.Op == ir.OpZext {
			v.Cond = unsigned(v.Cond)
		}
		return c.become(v, ir.OpCmp, x.Args[0], y.Args[0])
	case x.Type == ir.Ptr:
		if w := c.compareInside(v, x, y); w != nil {
			return w
		}
	case x.Op == ir.OpPtrToInt && y.Op == ir.OpPtrToInt:
		return c.become(v, ir.OpCmp, x.Args[0], y.Args[0])
	}
	if w := c.equalSmall(v, x, y); w != nil {
		return w
	}
	if y.Op != ir.OpConst {
		return nil
	}
	if x.Type == ir.Ptr {
		if isConst(y, 0) && (v.Cond == ir.EQ || v.Cond == ir.NE) && isObject(x) {
			return c.truth(v.Cond == ir.NE)
		}
		return nil
	}
	if w := c.limit(v, x, y); w != nil {
		return w
	}
	if w := c.compareWide(v, x, y); w != nil {
		return w
	}
	if v.Cond == ir.EQ || v.Cond == ir.NE {
		return c.equal(v, x, y)
	}
	return nil
}

// truth returns the value of a comparison whose result is known.
func (c *combiner) truth(b bool) *ir.Value {
	if b {
		return c.constant(ir.I32, 1)
	}
	return c.constant(ir.I32, 0)
}

// unsigned returns the condition on two numbers that are not negative.
func unsigned(c ir.Cond) ir.Cond {
	switch c {
	case ir.SLT:
		return ir.ULT
	case ir.SLE:
		return ir.ULE
	case ir.SGT:
		return ir.UGT
	case ir.SGE:
		return ir.UGE
	}
	return c
}

// isObject says whether p is the address of something that is there.
func isObject(p *ir.Value) bool {
	for p.Op == ir.OpAdd && p.Args[1].Op == ir.OpConst {
		p = p.Args[0]
	}
	switch p.Op {
	case ir.OpAlloca, ir.OpFunc:
		return true
	case ir.OpGlobal: // the loader gives a weak extern that it does not find as 0
		return !p.Sym.(*ir.Global).Extern
	}
	return false
}

// limit has the rules of constants at and beyond the end of what x can be.
func (c *combiner) limit(v, x, y *ir.Value) *ir.Value {
	most := ^zeroBits(x, knownDepth) // the highest that x can be, as an unsigned number
	if isNonNegative(x) {
		if w := unsigned(v.Cond); w != v.Cond {
			if y.Imm < 0 { // x is above it
				return c.truth(v.Cond == ir.SGT || v.Cond == ir.SGE)
			}
			v.Cond = w
			return v
		}
	}
	n := uint64(y.Imm)
	if x.Type == ir.I32 {
		n = uint64(uint32(y.Imm))
	}
	switch v.Cond {
	case ir.EQ, ir.NE:
		if n&^most != 0 { // a bit that x never has
			return c.truth(v.Cond == ir.NE)
		}
	case ir.ULT, ir.UGE:
		switch {
		case n == 0 || n > most:
			return c.truth((n == 0) == (v.Cond == ir.UGE))
		case n == 1:
			v.Cond = map[ir.Cond]ir.Cond{ir.ULT: ir.EQ, ir.UGE: ir.NE}[v.Cond]
			return c.become(v, ir.OpCmp, x, c.constant(x.Type, 0))
		}
	case ir.ULE, ir.UGT:
		switch {
		case n >= most:
			return c.truth(v.Cond == ir.ULE)
		case n == 0:
			v.Cond = map[ir.Cond]ir.Cond{ir.ULE: ir.EQ, ir.UGT: ir.NE}[v.Cond]
			return v
		}
	case ir.SLT, ir.SLE, ir.SGT, ir.SGE:
		low, high := int64(-1)<<63, int64(1<<63-1)
		if x.Type == ir.I32 {
			low, high = -1<<31, 1<<31-1
		}
		switch {
		case y.Imm == low && (v.Cond == ir.SLT || v.Cond == ir.SGE):
			return c.truth(v.Cond == ir.SGE)
		case y.Imm == high && (v.Cond == ir.SLE || v.Cond == ir.SGT):
			return c.truth(v.Cond == ir.SLE)
		}
	}
	return nil
}

// compareWide compares what x was before it became wide, if y fits there.
func (c *combiner) compareWide(v, x, y *ir.Value) *ir.Value {
	switch x.Op {
	case ir.OpZext:
		if uint64(y.Imm)>>32 != 0 {
			return nil // known by its zero bits, or a signed comparison with a negative number
		}
		if isDivision(x.Args[0]) {
			return nil
		}
		v.Cond = unsigned(v.Cond)
	case ir.OpSext:
		if !isImm32(y.Imm) {
			return nil
		}
	case ir.OpPtrToInt:
		if y.Imm != 0 || v.Cond != ir.EQ && v.Cond != ir.NE {
			return nil
		}
		return c.become(v, ir.OpCmp, x.Args[0], c.constant(ir.Ptr, 0))
	default:
		return nil
	}
	return c.become(v, ir.OpCmp, x.Args[0], c.constant(ir.I32, y.Imm))
}

// compareInside compares two addresses by how far they are behind the same one,
// if one of them is a constant away: the verifier learns nothing from comparing
// pointers into the frame or into a map, but from the index of one it does.
func (c *combiner) compareInside(v, x, y *ir.Value) *ir.Value {
	base, i, n := offsetOf(x)
	other, k, m := offsetOf(y)
	switch {
	case base != other:
	case i != nil && k == nil:
		return c.become(v, ir.OpCmp, i, c.constant(ir.I64, m-n))
	case i == nil && k != nil:
		v.Cond = v.Cond.Swap()
		return c.become(v, ir.OpCmp, k, c.constant(ir.I64, n-m))
	}
	return nil
}

// offsetOf returns p as the sum of a base, an index, which may be nil, and a
// constant.
func offsetOf(p *ir.Value) (base, index *ir.Value, n int64) {
	for p.Op == ir.OpAdd {
		y := p.Args[1]
		if m, ok := constOf(y); ok {
			n += m
		} else if index == nil {
			index = y
		} else {
			break
		}
		p = p.Args[0]
	}
	if p.Op == ir.OpGlobal {
		n += p.Imm
	}
	return p, index, n
}

// isDivision says whether x is a quotient or a remainder. Of one of 32 bits the
// verifier of Linux 6.18 does not know that its upper half is 0, so that only a
// comparison of all 64 bits tells it about both.
func isDivision(x *ir.Value) bool {
	switch x.Op {
	case ir.OpUDiv, ir.OpUMod, ir.OpSDiv, ir.OpSMod:
		return true
	}
	return false
}

// equal has the rules of x == n and x != n.
func (c *combiner) equal(v, x, y *ir.Value) *ir.Value {
	n := y.Imm
	if x.Op == ir.OpCmp { // of 0 or 1
		if (v.Cond == ir.EQ) == (n == 1) {
			return x
		}
		v.Cond = x.Cond.Not()
		return c.become(v, ir.OpCmp, x.Args[0], x.Args[1])
	}
	var m int64
	isNumber := false
	if len(x.Args) == 2 {
		m, isNumber = constOf(x.Args[1])
	}
	switch x.Op {
	case ir.OpAdd:
		if isNumber && c.single(x) {
			return c.become(v, ir.OpCmp, x.Args[0], c.constant(x.Type, n-m))
		}
	case ir.OpXor:
		if isNumber && c.single(x) {
			return c.become(v, ir.OpCmp, x.Args[0], c.constant(x.Type, n^m))
		}
		if n == 0 && !isNumber {
			return c.become(v, ir.OpCmp, x.Args[0], x.Args[1])
		}
	case ir.OpSub:
		if n == 0 {
			return c.become(v, ir.OpCmp, x.Args[0], x.Args[1])
		}
	case ir.OpBswap:
		if arg := x.Args[0]; c.single(x) && zeroBits(arg, knownDepth)|zeroBits(x, 0)|sizeMask(x.Size) == ^uint64(0) {
			return c.become(v, ir.OpCmp, arg, c.constant(x.Type, swapBytes(n, x.Size)))
		}
	case ir.OpAnd:
		// x & 8 == 8, of one bit, is x & 8 != 0, for which there is an instruction.
		if _, ok := log2(x.Type, n); ok && isNumber && m == n {
			v.Cond = v.Cond.Not()
			return c.become(v, ir.OpCmp, x, c.constant(x.Type, 0))
		}
	case ir.OpLShr:
		// x >> k == 0 is not made x < 1<<k: one who then reads x >> k has compared it.
		return nil
	}
	return nil
}

// equalSmall compares signed bytes and 16-bit numbers without their signs, if
// nothing else wants those.
func (c *combiner) equalSmall(v, x, y *ir.Value) *ir.Value {
	if v.Cond != ir.EQ && v.Cond != ir.NE || !c.isSigned(x) {
		return nil
	}
	n, isNumber := constOf(y)
	switch {
	case isNumber:
		if n != extendIn(n, x.Size, true) {
			return c.truth(v.Cond == ir.NE)
		}
		return c.become(v, ir.OpCmp, c.dropSign(x), c.constant(x.Type, n&int64(sizeMask(x.Size))))
	case c.isSigned(y) && x.Size == y.Size && x != y:
		return c.become(v, ir.OpCmp, c.dropSign(x), c.dropSign(y))
	}
	return nil
}

// isSigned says whether x is a small number that was extended by its sign, for
// the value that is rewritten alone.
func (c *combiner) isSigned(x *ir.Value) bool {
	return c.single(x) && (x.Op == ir.OpSextIn || x.Op == ir.OpLoad && x.Signed && x.Size < 4)
}

// dropSign returns x extended by zeros.
func (c *combiner) dropSign(x *ir.Value) *ir.Value {
	if x.Op == ir.OpLoad {
		x.Signed = false
		return x
	}
	return c.emit(ir.OpAnd, x.Type, x.Args[0], c.constant(x.Type, int64(sizeMask(x.Size))))
}

// sizeMask has the bits of size bytes.
func sizeMask(size int) uint64 {
	return ^uint64(0) >> (64 - 8*size)
}
