package front

import (
	"modernc.org/cc/v4"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// assign translates an assignment and returns its value.
func (g *body) assign(e *cc.AssignmentExpression) *ir.Value {
	if e.Case != cc.AssignmentExpressionAssign {
		return g.assignOperation(e)
	}
	t := g.typeOf(e)
	if inMemory(t) {
		g.assignAggregate(e)
		return nil
	}
	x := e.AssignmentExpression
	g.sendsEvent(x, t)
	v := g.convert(x, g.expr(x), g.decay(g.typeOf(x)), t)
	p := g.lvalue(e.UnaryExpression)
	g.atNode(e)
	g.store(e, p, v)
	return g.stored(p, v)
}

// stored returns the value that an assignment of v to p has: that of p after it.
func (g *body) stored(p place, v *ir.Value) *ir.Value {
	if p.bits == 0 || v == nil {
		return v
	}
	return g.truncateBits(v, p.bits, isSigned(underlying(p.t)))
}

func (g *body) assignAggregate(e *cc.AssignmentExpression) place {
	from := g.object(e.AssignmentExpression, g.typeOf(e))
	to := g.lvalue(e.UnaryExpression)
	g.atNode(e)
	if !g.notUser(e, to) {
		g.copyTo(to, from)
	}
	return to
}

// assignOperation translates x op= y.
func (g *body) assignOperation(e *cc.AssignmentExpression) *ir.Value {
	x, y, op := e.UnaryExpression, e.AssignmentExpression, assignmentOperator[e.Case]
	a, b := g.typeOf(x), g.decay(g.typeOf(y))
	if isPointer(a) && isInteger(b) && (op == opAdd || op == opSub) {
		p := g.lvalue(x)
		size := int64(max(1, g.sizeof(pointee(a))))
		code := ir.OpAdd
		if op == opSub {
			code = ir.OpSub
		}
		v := g.scaledAdd(g.load(x, p), y, size, code)
		g.atNode(e)
		g.store(e, p, v)
		return v
	}
	if !isInteger(a) || !isInteger(b) {
		return g.badOperands(e, a, a, b)
	}
	t := g.promoted(x)
	if op != opShl && op != opShr {
		t = g.common(x, y)
	}
	vy := g.convert(y, g.expr(y), b, t)
	p := g.lvalue(x)
	g.atNode(e)
	vx := g.convert(x, g.load(x, p), a, t)
	v := g.convert(e, g.arithmetic(op, vx, vy, t), t, a)
	g.store(e, p, v)
	return g.stored(p, v)
}

// step translates ++ and -- of x and returns the value before and after it.
func (g *body) step(at cc.ExpressionNode, x cc.ExpressionNode, up bool) (before, after *ir.Value) {
	t := g.typeOf(x)
	p := g.lvalue(x)
	g.atNode(at)
	if !isScalar(t) {
		v := g.badOperands(at, t, t, t)
		return v, v
	}
	before = g.load(x, p)
	n := int64(1)
	if !up {
		n = -1
	}
	if isPointer(t) {
		n *= int64(max(1, g.sizeof(pointee(t))))
		after = g.value(ir.OpAdd, ir.Ptr, before, g.number(ir.I64, n))
	} else {
		wide := g.promoted(x)
		v := g.convert(x, before, t, wide)
		after = g.convert(at, g.value(ir.OpAdd, v.Type, v, g.number(v.Type, n)), wide, t)
	}
	g.store(at, p, after)
	return before, g.stored(p, after)
}
