package pass

import "github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"

func (c *combiner) zext(v *ir.Value) *ir.Value {
	x := v.Args[0]
	switch x.Op {
	case ir.OpConst:
		return c.constant(ir.I64, int64(uint32(x.Imm)))
	case ir.OpTrunc:
		if hasZeroHalf(x.Args[0]) {
			return x.Args[0]
		}
	}
	return nil
}

// hasZeroHalf says whether the upper half of an I64 is known to be 0.
func hasZeroHalf(x *ir.Value) bool {
	return zeroBits(x, knownDepth)>>32 == 1<<32-1
}

func (c *combiner) sext(v *ir.Value) *ir.Value {
	x := v.Args[0]
	switch {
	case x.Op == ir.OpConst:
		return c.constant(ir.I64, x.Imm)
	case isNonNegative(x):
		return c.become(v, ir.OpZext, x)
	case x.Op == ir.OpLoad && (x.Signed || x.Size == 4) && c.single(x):
		x.Type, x.Signed = ir.I64, true
		return x
	case x.Op == ir.OpSextIn && c.single(x):
		v.Size = x.Size
		return c.become(v, ir.OpSextIn, c.emit(ir.OpZext, ir.I64, x.Args[0]))
	}
	return nil
}

// trunc makes the operations narrow of whose result only the lower half is
// read: on the halves of what came from an I32 they cost nothing more, and the
// truncation goes.
func (c *combiner) trunc(v *ir.Value) *ir.Value {
	x := v.Args[0]
	switch x.Op {
	case ir.OpConst:
		return c.constant(ir.I32, x.Imm)
	case ir.OpZext, ir.OpSext:
		return x.Args[0]
	case ir.OpLoad:
		if x.Size <= 4 && !x.Volatile && c.single(x) {
			x.Type = ir.I32
			return x
		}
	case ir.OpSextIn:
		if c.single(x) {
			v.Size = x.Size
			return c.become(v, ir.OpSextIn, c.emit(ir.OpTrunc, ir.I32, x.Args[0]))
		}
	case ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpAnd, ir.OpOr, ir.OpXor:
		a, b := x.Args[0], x.Args[1]
		if c.single(x) && isNarrow(a) && isNarrow(b) {
			return c.become(v, x.Op, c.emit(ir.OpTrunc, ir.I32, a), c.emit(ir.OpTrunc, ir.I32, b))
		}
	case ir.OpShl:
		if n, ok := shiftCount(x); ok && n >= 32 {
			return c.constant(ir.I32, 0)
		} else if ok && c.single(x) && isNarrow(x.Args[0]) {
			return c.become(v, ir.OpShl, c.emit(ir.OpTrunc, ir.I32, x.Args[0]), c.constant(ir.I32, int64(n)))
		}
	case ir.OpLShr:
		if n, ok := shiftCount(x); ok && n < 32 && c.single(x) && x.Args[0].Op == ir.OpZext {
			return c.become(v, ir.OpLShr, x.Args[0].Args[0], c.constant(ir.I32, int64(n)))
		}
	}
	return nil
}

// isNarrow says whether the lower half of x can be had for nothing.
func isNarrow(x *ir.Value) bool {
	switch x.Op {
	case ir.OpConst, ir.OpZext, ir.OpSext:
		return true
	}
	return false
}

func (c *combiner) sextIn(v *ir.Value) *ir.Value {
	x := v.Args[0]
	if n, ok := constOf(x); ok {
		return c.constant(v.Type, extendIn(n, v.Size, true))
	}
	sign := uint64(1) << (8*v.Size - 1)
	above := ^sizeMask(v.Size)
	if x.Type == ir.I32 {
		above &= 1<<32 - 1
	}
	zeros := zeroBits(x, knownDepth)
	switch {
	case zeros&(sign|above) == sign|above:
		return x
	case x.Op == ir.OpSextIn && x.Size <= v.Size:
		return x
	case x.Op == ir.OpSextIn && c.single(x):
		return c.become(v, ir.OpSextIn, x.Args[0])
	case x.Op == ir.OpLoad && x.Signed && x.Size <= v.Size:
		return x
	case x.Op == ir.OpLoad && x.Size == v.Size && !x.Volatile && c.single(x):
		x.Signed = true
		return x
	case x.Op == ir.OpAnd:
		if n, ok := constOf(x.Args[1]); ok && uint64(n)&sizeMask(v.Size) == sizeMask(v.Size) {
			return c.become(v, ir.OpSextIn, x.Args[0])
		}
	}
	return nil
}

func (c *combiner) bswap(v *ir.Value) *ir.Value {
	x := v.Args[0]
	if n, ok := constOf(x); ok {
		return c.constant(v.Type, swapBytes(n, v.Size))
	}
	if x.Op == ir.OpBswap && x.Size == v.Size {
		if v.Size == v.Type.Size() {
			return x.Args[0]
		}
		return c.become(v, ir.OpAnd, x.Args[0], c.constant(v.Type, int64(sizeMask(v.Size))))
	}
	if x.Op == ir.OpAnd && c.single(x) {
		if n, ok := constOf(x.Args[1]); ok && uint64(n)&sizeMask(v.Size) == sizeMask(v.Size) {
			return c.become(v, ir.OpBswap, x.Args[0])
		}
	}
	return nil
}

func (c *combiner) ptrToInt(v *ir.Value) *ir.Value {
	x := v.Args[0]
	if n, ok := constOf(x); ok {
		return c.constant(ir.I64, n)
	}
	if x.Op == ir.OpIntToPtr {
		return x.Args[0]
	}
	return nil
}

// intToPtr leads pointers that went through integers back to what they were
// made of: the instructions are the same ones.
func (c *combiner) intToPtr(v *ir.Value) *ir.Value {
	x := v.Args[0]
	if isConst(x, 0) {
		return c.constant(ir.Ptr, 0)
	}
	switch x.Op {
	case ir.OpPtrToInt:
		return x.Args[0]
	case ir.OpAdd:
		if p := x.Args[0]; p.Op == ir.OpPtrToInt && c.single(x) {
			return c.become(v, ir.OpAdd, p.Args[0], x.Args[1])
		}
		if p := x.Args[1]; p.Op == ir.OpPtrToInt && c.single(x) {
			return c.become(v, ir.OpAdd, p.Args[0], x.Args[0])
		}
	case ir.OpSub:
		if p := x.Args[0]; p.Op == ir.OpPtrToInt && c.single(x) {
			return c.become(v, ir.OpSub, p.Args[0], x.Args[1])
		}
	}
	return nil
}
