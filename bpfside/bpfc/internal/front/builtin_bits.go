package front

import (
	"modernc.org/cc/v4"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// eBPF has no instruction that counts bits: these are the sequences of shifts
// and masks that LLVM uses as well.

// counted makes a builtin of a function that counts bits of a value of size
// bytes. The result is an int.
func counted(size int, count func(*body, *ir.Value) *ir.Value) func(*body, *cc.PostfixExpression, []cc.ExpressionNode) *ir.Value {
	kind := map[int]cc.Kind{4: cc.UInt, 8: cc.ULong}[size]
	return func(g *body, _ *cc.PostfixExpression, args []cc.ExpressionNode) *ir.Value {
		return g.resize(count(g, g.argument(args[0], g.basic(kind))), ir.I32, false)
	}
}

// op appends an operation on a value and a constant.
func (g *body) op(op ir.Op, v *ir.Value, n int64) *ir.Value {
	return g.value(op, v.Type, v, g.number(v.Type, n))
}

// popcount counts the ones: in pairs of bits, in groups of four, in bytes, whose
// sum a multiplication gathers in the highest.
func (g *body) popcount(x *ir.Value) *ir.Value {
	const (
		pairs = 0x5555555555555555
		fours = 0x3333333333333333
		bytes = 0x0f0f0f0f0f0f0f0f
		ones  = 0x0101010101010101
	)
	x = g.value(ir.OpSub, x.Type, x, g.op(ir.OpAnd, g.op(ir.OpLShr, x, 1), pairs))
	x = g.value(ir.OpAdd, x.Type, g.op(ir.OpAnd, x, fours), g.op(ir.OpAnd, g.op(ir.OpLShr, x, 2), fours))
	x = g.op(ir.OpAnd, g.value(ir.OpAdd, x.Type, x, g.op(ir.OpLShr, x, 4)), bytes)
	return g.op(ir.OpLShr, g.op(ir.OpMul, x, ones), int64(8*x.Type.Size()-8))
}

// parity is 1 if the number of ones is odd.
func (g *body) parity(x *ir.Value) *ir.Value { return g.op(ir.OpAnd, g.popcount(x), 1) }

// leadingZeros counts those above the highest one, below which it fills all bits.
func (g *body) leadingZeros(x *ir.Value) *ir.Value {
	for n := 1; n < 8*x.Type.Size(); n *= 2 {
		x = g.value(ir.OpOr, x.Type, x, g.op(ir.OpLShr, x, int64(n)))
	}
	return g.popcount(g.op(ir.OpXor, x, -1))
}

// trailingZeros counts those below the lowest one: the ones of (x - 1) & ~x.
func (g *body) trailingZeros(x *ir.Value) *ir.Value {
	return g.popcount(g.value(ir.OpAnd, x.Type, g.op(ir.OpSub, x, 1), g.op(ir.OpXor, x, -1)))
}

// firstSet is one more than trailingZeros, and 0 of 0.
func (g *body) firstSet(x *ir.Value) *ir.Value {
	n := g.resize(g.op(ir.OpAdd, g.trailingZeros(x), 1), ir.I32, false)
	return g.value(ir.OpMul, ir.I32, n, g.compare(ir.NE, x, g.number(x.Type, 0)))
}

// builtinAbs is (x ^ s) - s, where s is the sign of x in all bits.
func (g *body) builtinAbs(e *cc.PostfixExpression, args []cc.ExpressionNode) *ir.Value {
	x := g.argument(args[0], g.typeOf(e))
	s := g.op(ir.OpAShr, x, int64(8*x.Type.Size()-1))
	return g.value(ir.OpSub, x.Type, g.value(ir.OpXor, x.Type, x, s), s)
}

// overflow makes one of __builtin_add_overflow and its like: the result goes to
// *args[2], and the value says whether it is not the true one.
func overflow(op operator) func(*body, *cc.PostfixExpression, []cc.ExpressionNode) *ir.Value {
	return func(g *body, e *cc.PostfixExpression, args []cc.ExpressionNode) *ir.Value {
		x, y := args[0], args[1]
		a, b, r := underlying(g.typeOf(x)), underlying(g.typeOf(y)), underlying(pointee(g.decay(g.typeOf(args[2]))))
		if !isInteger(a) || !isInteger(b) || !isInteger(r) {
			return g.refuse(e, g.basic(cc.Bool), "this takes two integers and a pointer to one")
		}
		if g.sizeof(a) <= 4 && g.sizeof(b) <= 4 && g.sizeof(r) <= 4 {
			return g.overflowNarrow(e, op, args, a, b, r)
		}
		if g.sizeof(a) <= 4 && g.sizeof(b) <= 4 {
			return g.overflowWider(e, op, args, a, b, r)
		}
		if !g.holds(r, x) || !g.holds(r, y) {
			return g.refuse(e, g.basic(cc.Bool), "an overflow check of %s and %s into %s is not supported: convert them first", a, b, r)
		}
		vx, vy := g.argument(x, r), g.argument(y, r)
		p := g.deref(args[2], args[2])
		v := g.arithmetic(op, vx, vy, r)
		var o *ir.Value
		switch {
		case g.sizeof(r) < 8:
			// holds lets 64 bits in only where they are a constant that fits.
			wide := g.arithmetic(op, g.widen(vx, r), g.widen(vy, r), g.basic(cc.Long))
			v = g.convert(e, wide, g.basic(cc.Long), r)
			o = g.compare(ir.NE, wide, g.widen(v, r))
		case isSigned(r):
			o = g.overflowSigned(op, vx, vy, v)
		default:
			o = g.overflowUnsigned(op, vx, vy, v)
		}
		g.store(e, p, v)
		return o
	}
}

// holds reports whether type t holds whatever x can be.
func (g *body) holds(t cc.Type, x cc.ExpressionNode) bool {
	from := underlying(g.typeOf(x))
	if n, ok := g.constant(x); ok {
		in := n
		if g.sizeof(t) < 8 {
			in = narrow(n, g.sizeof(t), isSigned(t))
		}
		return in == n && (n >= 0 || isSigned(from) == isSigned(t))
	}
	if isSigned(from) == isSigned(t) {
		return g.sizeof(from) <= g.sizeof(t)
	}
	return !isSigned(from) && g.sizeof(from) < g.sizeof(t)
}

// overflowNarrow computes in 64 bits, which hold every result of 32.
func (g *body) overflowNarrow(e *cc.PostfixExpression, op operator, args []cc.ExpressionNode, a, b, r cc.Type) *ir.Value {
	vx := g.widen(g.expr(args[0]), a)
	vy := g.widen(g.expr(args[1]), b)
	p := g.deref(args[2], args[2])
	wide := g.arithmetic(op, vx, vy, g.basic(cc.Long))
	v := g.convert(e, wide, g.basic(cc.Long), r)
	g.store(e, p, v)
	return g.compare(ir.NE, wide, g.widen(v, r))
}

// overflowWider computes in the 64 bits of the result what is exact there: only
// the sign can be wrong, that of a negative number, or, in a product of unsigned
// ones, the highest bit that is none.
func (g *body) overflowWider(e *cc.PostfixExpression, op operator, args []cc.ExpressionNode, a, b, r cc.Type) *ir.Value {
	vx := g.widen(g.expr(args[0]), a)
	vy := g.widen(g.expr(args[1]), b)
	p := g.deref(args[2], args[2])
	v := g.arithmetic(op, vx, vy, g.basic(cc.Long))
	g.store(e, p, v)
	isNegative := op != opMul || isSigned(a) || isSigned(b)
	if isNegative == isSigned(r) {
		return g.number(ir.I32, 0)
	}
	return g.compare(ir.SLT, v, g.number(ir.I64, 0))
}

func (g *body) overflowUnsigned(op operator, x, y, v *ir.Value) *ir.Value {
	switch op {
	case opAdd:
		return g.compare(ir.ULT, v, x)
	case opSub:
		return g.compare(ir.ULT, x, y)
	}
	// v / x != y; x / 0 is 0 here, so that 0 * y is told from y apart.
	wrong := g.compare(ir.NE, g.value(ir.OpUDiv, ir.I64, v, x), y)
	return g.value(ir.OpAnd, ir.I32, wrong, g.compare(ir.NE, x, g.number(ir.I64, 0)))
}

func (g *body) overflowSigned(op operator, x, y, v *ir.Value) *ir.Value {
	zero := g.number(ir.I64, 0)
	switch op {
	case opAdd: // the sign of the sum is that of neither
		return g.compare(ir.SLT, g.value(ir.OpAnd, ir.I64,
			g.value(ir.OpXor, ir.I64, x, v), g.value(ir.OpXor, ir.I64, y, v)), zero)
	case opSub:
		return g.compare(ir.SLT, g.value(ir.OpAnd, ir.I64,
			g.value(ir.OpXor, ir.I64, x, y), g.value(ir.OpXor, ir.I64, x, v)), zero)
	}
	// The magnitudes are multiplied, and may reach 2^63 - 1, or 2^63 of a
	// negative product.
	abs := func(n *ir.Value) *ir.Value {
		s := g.op(ir.OpAShr, n, 63)
		return g.value(ir.OpSub, ir.I64, g.value(ir.OpXor, ir.I64, n, s), s)
	}
	ax, ay := abs(x), abs(y)
	m := g.value(ir.OpMul, ir.I64, ax, ay)
	wraps := g.overflowUnsigned(opMul, ax, ay, m)
	negative := g.op(ir.OpLShr, g.value(ir.OpXor, ir.I64, x, y), 63)
	limit := g.op(ir.OpAdd, negative, 1<<63-1)
	return g.value(ir.OpOr, ir.I32, wraps, g.compare(ir.UGT, m, limit))
}
