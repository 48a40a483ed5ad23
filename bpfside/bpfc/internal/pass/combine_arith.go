package pass

import "github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"

// binary has the rules that hold of several operations, and asks those of v's.
func (c *combiner) binary(v *ir.Value) *ir.Value {
	x, y := v.Args[0], v.Args[1]
	if v.Type != ir.Ptr {
		if x.Op == ir.OpConst && y.Op == ir.OpConst {
			z, _ := evalBinary(v.Op, v.Type, x.Imm, y.Imm)
			return c.constant(v.Type, z)
		}
		if isCommutative(v.Op) && x.Op == ir.OpConst {
			v.Args[0], v.Args[1] = y, x
			return v
		}
		// Of (x op c) op d, with c op d one number.
		if isCommutative(v.Op) && y.Op == ir.OpConst && x.Op == v.Op {
			if inner, ok := constOf(x.Args[1]); ok {
				z, _ := evalBinary(v.Op, v.Type, inner, y.Imm)
				return c.become(v, v.Op, x.Args[0], c.constant(v.Type, z))
			}
		}
	}
	switch v.Op {
	case ir.OpAdd:
		return c.add(v, x, y)
	case ir.OpSub:
		return c.sub(v, x, y)
	case ir.OpMul:
		return c.mul(v, x, y)
	case ir.OpUDiv, ir.OpUMod:
		return c.unsignedDivision(v, x, y)
	case ir.OpSDiv, ir.OpSMod:
		return c.signedDivision(v, x, y)
	case ir.OpAnd:
		return c.and(v, x, y)
	case ir.OpOr, ir.OpXor:
		return c.orXor(v, x, y)
	}
	return c.shift(v, x, y)
}

func isCommutative(op ir.Op) bool {
	switch op {
	case ir.OpAdd, ir.OpMul, ir.OpAnd, ir.OpOr, ir.OpXor:
		return true
	}
	return false
}

func (c *combiner) add(v, x, y *ir.Value) *ir.Value {
	if isConst(y, 0) {
		return x
	}
	if v.Type == ir.Ptr {
		return c.addPtr(v, x, y)
	}
	if x.Op == ir.OpSub && x.Args[1] == y { // (a - y) + y
		return x.Args[0]
	}
	if y.Op == ir.OpSub && y.Args[1] == x { // x + (b - x)
		return y.Args[0]
	}
	return nil
}

// addPtr moves constants outwards, where the access folds them in.
func (c *combiner) addPtr(v, p, y *ir.Value) *ir.Value {
	n, isNumber := constOf(y)
	switch {
	case isNumber && p.Op == ir.OpAdd:
		if m, ok := constOf(p.Args[1]); ok {
			return c.become(v, ir.OpAdd, p.Args[0], c.constant(ir.I64, m+n))
		}
	case isNumber && p.Op == ir.OpGlobal && p.Sym.(*ir.Global).Section != ".maps":
		v.Sym, v.Imm = p.Sym, p.Imm+n
		return c.become(v, ir.OpGlobal)
	case isNumber:
	case p.Op == ir.OpGlobal && p.Imm != 0 && isOffset(p.Imm): // all indexes of an object share its address
		base := c.f.NewValue(ir.OpGlobal, ir.Ptr)
		base.Sym = p.Sym
		return c.become(v, ir.OpAdd, c.emit(ir.OpAdd, ir.Ptr, c.emitValue(base), y), c.constant(ir.I64, p.Imm))
	case p.Op == ir.OpAdd && (c.single(p) || p.Args[0].Op == ir.OpAlloca) && p.Args[1].Op == ir.OpConst: // (q + n) + y
		return c.become(v, ir.OpAdd, c.emit(ir.OpAdd, ir.Ptr, p.Args[0], y), p.Args[1])
	case y.Op == ir.OpAdd && c.single(y): // p + (i + n); i - n may be what makes it positive
		if m, ok := constOf(y.Args[1]); ok && m > 0 {
			return c.become(v, ir.OpAdd, c.emit(ir.OpAdd, ir.Ptr, p, y.Args[0]), y.Args[1])
		}
	case (y.Op == ir.OpShl || y.Op == ir.OpMul) && c.single(y) && y.Args[1].Op == ir.OpConst: // p + ((i + n) << k)
		if i := y.Args[0]; i.Op == ir.OpAdd && c.single(i) {
			if m, ok := constOf(i.Args[1]); ok && m > 0 {
				scaled, _ := evalBinary(y.Op, ir.I64, m, y.Args[1].Imm)
				index := c.emit(y.Op, ir.I64, i.Args[0], y.Args[1])
				return c.become(v, ir.OpAdd, c.emit(ir.OpAdd, ir.Ptr, p, index), c.constant(ir.I64, scaled))
			}
		}
	}
	return nil
}

func (c *combiner) sub(v, x, y *ir.Value) *ir.Value {
	if n, ok := constOf(y); ok && n != -n || isConst(y, 0) {
		t := v.Type
		if t == ir.Ptr {
			t = ir.I64
		}
		return c.become(v, ir.OpAdd, x, c.constant(t, -n))
	}
	switch {
	case v.Type == ir.Ptr:
		return nil
	case x == y:
		return c.constant(v.Type, 0)
	case x.Op == ir.OpAdd && x.Args[1] == y: // (a + y) - y
		return x.Args[0]
	case x.Op == ir.OpAdd && x.Args[0] == y: // (y + b) - y
		return x.Args[1]
	case y.Op == ir.OpSub && y.Args[0] == x: // x - (x - b)
		return y.Args[1]
	}
	return nil
}

func (c *combiner) mul(v, x, y *ir.Value) *ir.Value {
	n, ok := constOf(y)
	if !ok {
		return nil
	}
	switch n {
	case 0:
		return y
	case 1:
		return x
	case -1:
		return c.become(v, ir.OpSub, c.constant(v.Type, 0), x)
	}
	if k, ok := log2(v.Type, n); ok {
		return c.become(v, ir.OpShl, x, c.constant(v.Type, k))
	}
	return nil
}

func (c *combiner) unsignedDivision(v, x, y *ir.Value) *ir.Value {
	n, ok := constOf(y)
	if !ok {
		if isConst(x, 0) {
			return x
		}
		return nil
	}
	k, isPower := log2(v.Type, n)
	switch {
	case n == 0 && v.Op == ir.OpUDiv:
		return y
	case n == 0:
		return x
	case isPower && v.Op == ir.OpUDiv:
		return c.become(v, ir.OpLShr, x, c.constant(v.Type, k))
	case isPower:
		return c.become(v, ir.OpAnd, x, c.constant(v.Type, n-1))
	}
	return nil
}

// signedDivision makes what no CPU level below 4 has an instruction for.
func (c *combiner) signedDivision(v, x, y *ir.Value) *ir.Value {
	n, ok := constOf(y)
	if !ok {
		if isConst(x, 0) {
			return x
		}
		return nil
	}
	isDiv := v.Op == ir.OpSDiv
	switch {
	case n == 0 && isDiv:
		return y
	case n == 0:
		return x
	case n == 1 && isDiv:
		return x
	case n == 1, n == -1 && !isDiv:
		return c.constant(v.Type, 0)
	case n == -1:
		return c.become(v, ir.OpSub, c.constant(v.Type, 0), x)
	case n > 0 && isNonNegative(x) && isDiv:
		return c.become(v, ir.OpUDiv, x, y)
	case n > 0 && isNonNegative(x):
		return c.become(v, ir.OpUMod, x, y)
	}
	k, isPower := log2(v.Type, n)
	if !isPower || n < 0 {
		return nil
	}
	// Division rounds towards 0 and a shift does not: a negative x needs n-1 more.
	width := int64(8 * v.Type.Size())
	sign := c.emit(ir.OpAShr, v.Type, x, c.constant(v.Type, width-1))
	bias := c.emit(ir.OpLShr, v.Type, sign, c.constant(v.Type, width-k))
	sum := c.emit(ir.OpAdd, v.Type, x, bias)
	if isDiv {
		return c.become(v, ir.OpAShr, sum, c.constant(v.Type, k))
	}
	whole := c.emit(ir.OpAnd, v.Type, sum, c.constant(v.Type, -n))
	return c.become(v, ir.OpSub, x, whole)
}

func (c *combiner) and(v, x, y *ir.Value) *ir.Value {
	if x == y {
		return x
	}
	n, ok := constOf(y)
	if !ok {
		return nil
	}
	mask := uint64(n)
	if v.Type == ir.I32 {
		mask = uint64(uint32(n))
	}
	zeros := zeroBits(x, knownDepth)
	switch {
	case mask&^zeros == 0:
		return c.constant(v.Type, 0)
	case ^mask&^zeros == 0:
		return x
	case v.Type == ir.I64 && mask == 1<<32-1:
		return c.become(v, ir.OpZext, c.emit(ir.OpTrunc, ir.I32, x))
	case v.Type == ir.I64 && mask>>32 == 0 && !isImm32(n):
		low := c.emit(ir.OpTrunc, ir.I32, x)
		return c.become(v, ir.OpZext, c.emit(ir.OpAnd, ir.I32, low, c.constant(ir.I32, n)))
	}
	// Bits that an operation sets and the mask drops.
	if (x.Op == ir.OpOr || x.Op == ir.OpXor) && x.Args[1].Op == ir.OpConst && x.Args[1].Imm&n == 0 {
		return c.become(v, ir.OpAnd, x.Args[0], y)
	}
	return nil
}

func (c *combiner) orXor(v, x, y *ir.Value) *ir.Value {
	switch {
	case isConst(y, 0):
		return x
	case x == y && v.Op == ir.OpOr:
		return x
	case x == y:
		return c.constant(v.Type, 0)
	case isConst(y, -1) && v.Op == ir.OpOr:
		return y
	case v.Op == ir.OpXor && isConst(y, 1) && x.Op == ir.OpCmp && v.Type == ir.I32:
		v.Cond = x.Cond.Not()
		return c.become(v, ir.OpCmp, x.Args[0], x.Args[1])
	}
	return nil
}

func (c *combiner) shift(v, x, y *ir.Value) *ir.Value {
	if isConst(x, 0) {
		return x
	}
	n, ok := shiftCount(v)
	if !ok {
		return nil
	}
	width := uint(8 * v.Type.Size())
	if n == 0 {
		return x
	}
	if int64(n) != y.Imm {
		return c.become(v, v.Op, x, c.constant(v.Type, int64(n)))
	}
	if ^zeroBits(v, knownDepth) == 0 {
		return c.constant(v.Type, 0)
	}
	if v.Op == ir.OpAShr && isNonNegative(x) {
		return c.become(v, ir.OpLShr, x, y)
	}
	m, ok := uint(0), false
	if x.Op == ir.OpShl || x.Op == ir.OpLShr || x.Op == ir.OpAShr {
		m, ok = shiftCount(x)
	}
	if !ok {
		return nil
	}
	switch {
	case x.Op == v.Op && n+m < width:
		return c.become(v, v.Op, x.Args[0], c.constant(v.Type, int64(n+m)))
	case x.Op == v.Op && v.Op != ir.OpAShr:
		return c.constant(v.Type, 0)
	case x.Op == v.Op:
		return c.become(v, v.Op, x.Args[0], c.constant(v.Type, int64(width-1)))
	case n != m:
	case v.Op == ir.OpLShr && x.Op == ir.OpShl: // the low width-n bits
		return c.lowBits(v, x.Args[0], width-n)
	case v.Op == ir.OpShl: // all but the low n bits
		if mask := int64(-1) << n; isImm32(mask) {
			return c.become(v, ir.OpAnd, x.Args[0], c.constant(v.Type, mask))
		}
	case v.Op == ir.OpAShr && x.Op == ir.OpShl:
		switch width - n {
		case 8, 16:
			v.Size = int(width-n) / 8
			return c.become(v, ir.OpSextIn, x.Args[0])
		case 32:
			return c.become(v, ir.OpSext, c.emit(ir.OpTrunc, ir.I32, x.Args[0]))
		}
	}
	return nil
}

// lowBits has v be the low bits of x, if one instruction can.
func (c *combiner) lowBits(v, x *ir.Value, bits uint) *ir.Value {
	if mask := int64(1)<<bits - 1; isImm32(mask) || bits == 32 {
		return c.become(v, ir.OpAnd, x, c.constant(v.Type, mask))
	}
	return nil
}
