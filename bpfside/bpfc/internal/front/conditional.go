package front

import (
	"modernc.org/cc/v4"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// comparison translates the operands of an equality or relational operator and
// returns the condition that it is.
func (g *body) comparison(e cc.ExpressionNode) (c ir.Cond, vx, vy *ir.Value) {
	x, y := operands(e)
	a, b := g.decay(g.typeOf(x)), g.decay(g.typeOf(y))
	if _, isEquality := e.(*cc.EqualityExpression); isEquality && (isWide(a) || isWide(b)) {
		d := g.wideDifference(x, y, g.common(x, y))
		return condition(e, false), d, g.number(ir.I64, 0)
	}
	var t cc.Type
	switch {
	case isPointer(a):
		t = a
	case isPointer(b):
		t = b
	case isInteger(a) && isInteger(b):
		t = g.common(x, y)
	}
	if t == nil || !isScalar(a) || !isScalar(b) {
		g.badOperands(e, g.basic(cc.Int), a, b)
		return ir.EQ, g.undefined(ir.I32), g.undefined(ir.I32)
	}
	vx = g.convert(x, g.expr(x), a, t)
	vy = g.convert(y, g.expr(y), b, t)
	g.atNode(e)
	return condition(e, isSigned(t)), vx, vy
}

func condition(e cc.ExpressionNode, signed bool) ir.Cond {
	switch e := e.(type) {
	case *cc.EqualityExpression:
		if e.Case == cc.EqualityExpressionEq {
			return ir.EQ
		}
		return ir.NE
	case *cc.RelationalExpression:
		conds := map[cc.RelationalExpressionCase][2]ir.Cond{
			cc.RelationalExpressionLt:  {ir.ULT, ir.SLT},
			cc.RelationalExpressionGt:  {ir.UGT, ir.SGT},
			cc.RelationalExpressionLeq: {ir.ULE, ir.SLE},
			cc.RelationalExpressionGeq: {ir.UGE, ir.SGE},
		}[e.Case]
		if signed {
			return conds[1]
		}
		return conds[0]
	}
	return ir.NE
}

// truth returns 1 or 0, as an I32, for e: !x, x && y or x || y.
func (g *body) truth(e cc.ExpressionNode) *ir.Value {
	if not, ok := e.(*cc.UnaryExpression); ok {
		x := bare(not.CastExpression)
		switch x.(type) {
		case *cc.LogicalAndExpression, *cc.LogicalOrExpression:
		default:
			t := g.decay(g.typeOf(x))
			var v *ir.Value
			switch {
			case isWide(t):
				v = g.wideTruth(x)
			case isScalar(t):
				v = g.expr(x)
			default:
				return g.badOperands(e, g.basic(cc.Int), t, t)
			}
			g.atNode(e)
			return g.compare(ir.EQ, v, g.number(v.Type, 0))
		}
	}
	yes, no, join := g.block(), g.block(), g.block()
	g.cond(e, yes, no, 0)
	v := join.NewParam(ir.I32, "")
	g.enter(yes)
	g.jump(join, g.number(ir.I32, 1))
	g.enter(no)
	g.jump(join, g.number(ir.I32, 0))
	g.enter(join)
	return v
}

// cond ends the block: to yes if e is not 0, else to no. likely is 1 where the
// program says that it usually is, -1 where it usually is not.
func (g *body) cond(e cc.ExpressionNode, yes, no *ir.Block, likely int8) {
	if n, ok := g.constant(e); ok {
		if n != 0 {
			g.jump(yes)
		} else {
			g.jump(no)
		}
		return
	}
	switch e := bare(e).(type) {
	case *cc.UnaryExpression:
		if e.Case == cc.UnaryExpressionNot {
			g.cond(e.CastExpression, no, yes, -likely)
			return
		}
	case *cc.LogicalAndExpression:
		// Each is likely if both are; if both are unlikely, nothing is known
		// of either.
		second := g.block()
		g.cond(e.LogicalAndExpression, second, no, max(likely, 0))
		g.enter(second)
		g.cond(e.InclusiveOrExpression, yes, no, max(likely, 0))
		return
	case *cc.LogicalOrExpression:
		second := g.block()
		g.cond(e.LogicalOrExpression, yes, second, min(likely, 0))
		g.enter(second)
		g.cond(e.LogicalAndExpression, yes, no, min(likely, 0))
		return
	case *cc.PostfixExpression:
		if x, l, ok := g.expected(e); ok {
			g.cond(x, yes, no, l)
			return
		}
	case *cc.CastExpression:
		// A cast to a type that loses nothing, as bool or long of likely().
		to, from := g.named(e.TypeName), g.decay(g.typeOf(e.CastExpression))
		if isScalar(from) && isScalar(to) && (to.Kind() == cc.Bool || g.sizeof(to) >= g.sizeof(from)) {
			g.cond(e.CastExpression, yes, no, likely)
			return
		}
	case *cc.ExpressionList:
		x, done := g.comma(e)
		g.cond(x, yes, no, likely)
		done()
		return
	}
	t := g.decay(g.typeOf(e))
	if isWide(t) {
		g.branch(g.wideTruth(e), yes, no, likely)
		return
	}
	if !isScalar(t) {
		g.badOperands(e, g.basic(cc.Int), t, t)
		g.branch(g.undefined(ir.I32), yes, no, likely)
		return
	}
	v := g.expr(e)
	if v == nil {
		v = g.undefined(ir.I32)
	}
	g.atNode(e)
	if v.Type == ir.Ptr {
		v = g.compare(ir.NE, v, g.number(ir.Ptr, 0))
	}
	g.branch(v, yes, no, likely)
}

// conditional translates c ? x : y and c ?: y of scalars.
func (g *body) conditional(e *cc.ConditionalExpression) *ir.Value {
	t := g.typeOf(e)
	if isVoid(t) {
		g.discardConditional(e)
		return nil
	}
	yesExpr := middle(e)
	if yesExpr == nil {
		return g.orElse(e, t)
	}
	if n, ok := g.constant(e.LogicalOrExpression); ok {
		x := e.ConditionalExpression
		if n != 0 {
			x = yesExpr
		}
		return g.convert(x, g.expr(x), g.decay(g.typeOf(x)), t)
	}
	yes, no, join := g.block(), g.block(), g.block()
	g.cond(e.LogicalOrExpression, yes, no, 0)
	v := join.NewParam(g.irType(t), "")
	for _, arm := range []struct {
		b *ir.Block
		x cc.ExpressionNode
	}{{yes, yesExpr}, {no, e.ConditionalExpression}} {
		g.enter(arm.b)
		g.jump(join, g.convert(arm.x, g.expr(arm.x), g.decay(g.typeOf(arm.x)), t))
	}
	g.enter(join)
	return v
}

// orElse translates x ?: y, which evaluates x once.
func (g *body) orElse(e *cc.ConditionalExpression, t cc.Type) *ir.Value {
	from := g.decay(g.typeOf(e.LogicalOrExpression))
	if !isScalar(from) {
		return g.badOperands(e, t, from, from)
	}
	x := g.expr(e.LogicalOrExpression)
	yes, no, join := g.block(), g.block(), g.block()
	g.branch(g.compare(ir.NE, x, g.number(x.Type, 0)), yes, no, 0)
	v := join.NewParam(g.irType(t), "")
	g.enter(yes)
	g.jump(join, g.convert(e, x, from, t))
	g.enter(no)
	y := e.ConditionalExpression
	g.jump(join, g.convert(y, g.expr(y), g.decay(g.typeOf(y)), t))
	g.enter(join)
	return v
}

func (g *body) discardConditional(e *cc.ConditionalExpression) {
	yes, no, join := g.block(), g.block(), g.block()
	g.cond(e.LogicalOrExpression, yes, no, 0)
	g.enter(yes)
	if x := middle(e); x != nil {
		g.discard(x)
	}
	g.jump(join)
	g.enter(no)
	g.discard(e.ConditionalExpression)
	g.jump(join)
	g.enter(join)
}

// chooseAggregate translates c ? x : y of structs: into a temporary object, as a
// pointer to one of two objects of the frame would keep both there.
func (g *body) chooseAggregate(e *cc.ConditionalExpression) place {
	t := g.typeOf(e)
	if middle(e) == nil {
		g.errorf(e, "%s is not a condition", t)
		return place{base: g.undefined(ir.Ptr), t: t, align: 1}
	}
	to := g.temporary(t)
	yes, no, join := g.block(), g.block(), g.block()
	g.cond(e.LogicalOrExpression, yes, no, 0)
	g.enter(yes)
	g.copyTo(to, g.object(e.ExpressionList, t))
	g.jump(join)
	g.enter(no)
	g.copyTo(to, g.object(e.ConditionalExpression, t))
	g.jump(join)
	g.enter(join)
	return to
}
