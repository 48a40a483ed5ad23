package front

import (
	"math/bits"

	"modernc.org/cc/v4"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// expr translates e for its value: nil of one that has none. An aggregate is no
// value here; see [body.lvalue].
func (g *body) expr(e cc.ExpressionNode) *ir.Value {
	t := g.decay(g.typeOf(e))
	if isScalar(t) {
		if n, ok := g.constant(e); ok {
			return g.constantOf(t, n)
		}
	}
	switch e := bare(e).(type) {
	case *cc.PrimaryExpression:
		return g.exprPrimary(e)
	case *cc.PostfixExpression:
		return g.exprPostfix(e)
	case *cc.UnaryExpression:
		return g.exprUnary(e)
	case *cc.CastExpression:
		return g.cast(e)
	case *cc.AdditiveExpression, *cc.MultiplicativeExpression, *cc.ShiftExpression,
		*cc.AndExpression, *cc.ExclusiveOrExpression, *cc.InclusiveOrExpression:
		return g.binary(e)
	case *cc.EqualityExpression, *cc.RelationalExpression:
		c, x, y := g.comparison(e)
		return g.compare(c, x, y)
	case *cc.LogicalAndExpression, *cc.LogicalOrExpression:
		return g.truth(e)
	case *cc.ConditionalExpression:
		return g.conditional(e)
	case *cc.AssignmentExpression:
		return g.assign(e)
	case *cc.ExpressionList:
		x, done := g.comma(e)
		v := g.expr(x)
		done()
		return v
	}
	return g.refuse(e, t, "this expression is not supported")
}

// constantOf returns the constant n of type t.
func (g *body) constantOf(t cc.Type, n int64) *ir.Value {
	vt := g.irType(t)
	if vt == ir.Ptr && n != 0 {
		return g.value(ir.OpIntToPtr, ir.Ptr, g.number(ir.I64, n))
	}
	return g.number(vt, n)
}

// discard translates e for what it does.
func (g *body) discard(e cc.ExpressionNode) {
	switch e := bare(e).(type) {
	case *cc.CastExpression:
		g.discard(e.CastExpression)
		return
	case *cc.PostfixExpression:
		switch e.Case {
		case cc.PostfixExpressionCall:
			g.call(e, false)
			return
		case cc.PostfixExpressionInc, cc.PostfixExpressionDec:
			g.step(e, e.PostfixExpression, e.Case == cc.PostfixExpressionInc)
			return
		}
	case *cc.PrimaryExpression:
		if e.Case == cc.PrimaryExpressionStmt {
			g.compound(e.CompoundStatement)
			return
		}
	case *cc.ExpressionList:
		x, done := g.comma(e)
		g.discard(x)
		done()
		return
	case *cc.ConditionalExpression:
		g.discardConditional(e)
		return
	case *cc.LogicalAndExpression, *cc.LogicalOrExpression:
		after := g.block()
		g.cond(e, after, after, 0)
		g.enter(after)
		return
	}
	if t := g.typeOf(e); inMemory(t) {
		g.lvalue(e)
		return
	}
	g.expr(e)
}

func (g *body) exprPrimary(e *cc.PrimaryExpression) *ir.Value {
	t := g.typeOf(e)
	switch e.Case {
	case cc.PrimaryExpressionIdent, cc.PrimaryExpressionString, cc.PrimaryExpressionLString:
		return g.rvalue(e, t)
	case cc.PrimaryExpressionStmt:
		return g.statementValue(e)
	case cc.PrimaryExpressionGeneric:
		if x := g.selected(e.GenericSelection); x != nil {
			return g.expr(x)
		}
		return g.refuse(e, t, "no type of the generic selection is that of its expression")
	case cc.PrimaryExpressionFloat:
		return g.refuse(e, t, "%s is not supported: BPF has no floating point", t)
	}
	return g.refuse(e, t, "this expression is not supported")
}

// rvalue converts an lvalue of type t to its value, C11 6.3.2.1.
func (g *body) rvalue(e cc.ExpressionNode, t cc.Type) *ir.Value {
	switch t.Kind() {
	case cc.Function:
		return g.functionPointer(e)
	case cc.Array:
		return g.pointerTo(g.lvalue(e))
	}
	p := g.lvalue(e)
	g.atNode(e)
	return g.load(e, p)
}

func (g *body) exprPostfix(e *cc.PostfixExpression) *ir.Value {
	switch e.Case {
	case cc.PostfixExpressionCall:
		return g.call(e, true)
	case cc.PostfixExpressionInc, cc.PostfixExpressionDec:
		old, _ := g.step(e, e.PostfixExpression, e.Case == cc.PostfixExpressionInc)
		return old
	}
	return g.rvalue(e, g.typeOf(e))
}

func (g *body) exprUnary(e *cc.UnaryExpression) *ir.Value {
	t := g.typeOf(e)
	switch e.Case {
	case cc.UnaryExpressionInc, cc.UnaryExpressionDec:
		_, v := g.step(e, e.UnaryExpression, e.Case == cc.UnaryExpressionInc)
		return v
	case cc.UnaryExpressionAddrof:
		p, off := g.addressOf(e)
		return g.pointerAdd(p, off)
	case cc.UnaryExpressionDeref:
		return g.rvalue(e, t)
	case cc.UnaryExpressionPlus, cc.UnaryExpressionMinus, cc.UnaryExpressionCpl:
		v := g.convert(e, g.expr(e.CastExpression), g.typeOf(e.CastExpression), t)
		if v == nil || v.Type == ir.Void {
			return v
		}
		g.atNode(e)
		switch e.Case {
		case cc.UnaryExpressionMinus:
			return g.value(ir.OpSub, v.Type, g.number(v.Type, 0), v)
		case cc.UnaryExpressionCpl:
			return g.value(ir.OpXor, v.Type, v, g.number(v.Type, -1))
		}
		return v
	case cc.UnaryExpressionNot:
		return g.truth(e)
	case cc.UnaryExpressionSizeofExpr, cc.UnaryExpressionSizeofType:
		return g.refuse(e, t, "sizeof of what is not known when the program is compiled is not supported")
	case cc.UnaryExpressionLabelAddr:
		return g.refuse(e, t, "the address of a label is not supported")
	}
	return g.refuse(e, t, "this expression is not supported")
}

// comma evaluates all of e but its last operand, which it returns; done is to be
// called when that is translated. The arguments of
// __builtin_preserve_access_index and __builtin_read_user arrive behind marks of
// these names.
func (g *body) comma(e *cc.ExpressionList) (last cc.ExpressionNode, done func()) {
	done = func() {}
	for ; e.ExpressionList != nil; e = e.ExpressionList {
		switch markName(e.AssignmentExpression) {
		case "__builtin_preserve_access_index":
			g.preserve++
			done = func() { g.preserve-- }
		case "__builtin_read_user":
			g.readUser++
			done = func() { g.readUser-- }
		default:
			g.discard(e.AssignmentExpression)
		}
	}
	return e.AssignmentExpression, done
}

// markName returns the name of the builtin that e calls, "" if it calls none.
func markName(e cc.ExpressionNode) string {
	if call, ok := bare(e).(*cc.PostfixExpression); ok && call.Case == cc.PostfixExpressionCall {
		return builtinName(call.PostfixExpression)
	}
	return ""
}

func (g *body) cast(e *cc.CastExpression) *ir.Value {
	to, from := g.named(e.TypeName), g.decay(g.typeOf(e.CastExpression))
	switch {
	case isVoid(to):
		g.discard(e.CastExpression)
		return nil
	case isPointer(to) && isPointer(from):
		g.sendsEvent(e.CastExpression, to)
		p, off := g.pointer(e.CastExpression)
		return g.pointerAdd(p, off)
	case isPointer(to):
		if p, off, ok := g.castPointer(e.CastExpression); ok {
			return g.pointerAdd(p, off)
		}
	case isWide(from) && isScalar(to):
		if to.Kind() == cc.Bool {
			return g.convert(e, g.wideTruth(e.CastExpression), g.basic(cc.ULong), to)
		}
		low, _ := g.halves(e.CastExpression, from)
		return g.convert(e, low, g.basic(cc.ULong), to)
	case inMemory(to) || inMemory(from):
		return g.refuse(e, to, "cannot cast %s to %s", from, to)
	}
	return g.convert(e, g.expr(e.CastExpression), from, to)
}

// An operator is what a binary operation or a compound assignment does.
type operator uint8

const (
	opNone operator = iota
	opMul
	opDiv
	opMod
	opAdd
	opSub
	opShl
	opShr
	opAnd
	opXor
	opOr
)

// binaryOperator returns the operator of a node.
func binaryOperator(e cc.ExpressionNode) operator {
	switch e := e.(type) {
	case *cc.MultiplicativeExpression:
		switch e.Case {
		case cc.MultiplicativeExpressionMul:
			return opMul
		case cc.MultiplicativeExpressionDiv:
			return opDiv
		case cc.MultiplicativeExpressionMod:
			return opMod
		}
	case *cc.AdditiveExpression:
		switch e.Case {
		case cc.AdditiveExpressionAdd:
			return opAdd
		case cc.AdditiveExpressionSub:
			return opSub
		}
	case *cc.ShiftExpression:
		switch e.Case {
		case cc.ShiftExpressionLsh:
			return opShl
		case cc.ShiftExpressionRsh:
			return opShr
		}
	case *cc.AndExpression:
		return opAnd
	case *cc.ExclusiveOrExpression:
		return opXor
	case *cc.InclusiveOrExpression:
		return opOr
	}
	return opNone
}

// assignmentOperator is the same of a compound assignment.
var assignmentOperator = map[cc.AssignmentExpressionCase]operator{
	cc.AssignmentExpressionMul: opMul,
	cc.AssignmentExpressionDiv: opDiv,
	cc.AssignmentExpressionMod: opMod,
	cc.AssignmentExpressionAdd: opAdd,
	cc.AssignmentExpressionSub: opSub,
	cc.AssignmentExpressionLsh: opShl,
	cc.AssignmentExpressionRsh: opShr,
	cc.AssignmentExpressionAnd: opAnd,
	cc.AssignmentExpressionXor: opXor,
	cc.AssignmentExpressionOr:  opOr,
}

// arithmetic returns x op y, both of type t; of a shift, y is of x's width.
func (g *body) arithmetic(op operator, x, y *ir.Value, t cc.Type) *ir.Value {
	var code ir.Op
	switch op {
	case opMul:
		code = ir.OpMul
	case opDiv:
		code = ir.OpUDiv
		if isSigned(t) {
			code = ir.OpSDiv
		}
	case opMod:
		code = ir.OpUMod
		if isSigned(t) {
			code = ir.OpSMod
		}
	case opAdd:
		code = ir.OpAdd
	case opSub:
		code = ir.OpSub
	case opShl:
		code = ir.OpShl
	case opShr:
		code = ir.OpLShr
		if isSigned(t) {
			code = ir.OpAShr
		}
	case opAnd:
		code = ir.OpAnd
	case opXor:
		code = ir.OpXor
	case opOr:
		code = ir.OpOr
	}
	return g.value(code, x.Type, x, y)
}

func (g *body) binary(e cc.ExpressionNode) *ir.Value {
	x, y := operands(e)
	op, t := binaryOperator(e), g.typeOf(e)
	a, b := g.decay(g.typeOf(x)), g.decay(g.typeOf(y))
	if sum, ok := e.(*cc.AdditiveExpression); ok {
		switch {
		case isPointer(a) && isPointer(b):
			return g.pointerDifference(sum, pointee(a))
		case isPointer(t):
			p, off := g.pointer(e)
			return g.pointerAdd(p, off)
		}
	}
	if !isInteger(a) || !isInteger(b) {
		return g.badOperands(e, t, a, b)
	}
	if op == opShl || op == opShr {
		vx := g.convert(x, g.expr(x), a, t)
		vy := g.shiftCount(y, t)
		g.atNode(e)
		return g.arithmetic(op, vx, vy, t)
	}
	vx := g.convert(x, g.expr(x), a, t)
	vy := g.convert(y, g.expr(y), b, t)
	g.atNode(e)
	return g.arithmetic(op, vx, vy, t)
}

// shiftCount returns the value of e in the width of what is shifted, of type t.
func (g *body) shiftCount(e cc.ExpressionNode, t cc.Type) *ir.Value {
	// A count beyond the width is undefined in C, so that it may lose its
	// upper bits.
	return g.convert(e, g.expr(e), g.typeOf(e), t)
}

func (g *body) badOperands(e cc.ExpressionNode, t, a, b cc.Type) *ir.Value {
	if a.Kind() == cc.InvalidKind || b.Kind() == cc.InvalidKind {
		return g.undefined(g.valueType(t)) // a diagnostic says why
	}
	for _, o := range []cc.Type{a, b} {
		if isWide(o) {
			return g.refuse(e, t, "%s is not supported but to copy and to compare for equality", o)
		}
	}
	if f := floating(a, b); f != nil {
		return g.refuse(e, t, "%s is not supported: BPF has no floating point", f)
	}
	return g.refuse(e, t, "%s and %s are not operands of this operator", a, b)
}

// pointerDifference returns the number of elements between two pointers. As the
// distance is a multiple of their size, dividing by its odd factor is
// multiplying by the inverse of that.
func (g *body) pointerDifference(e *cc.AdditiveExpression, elem cc.Type) *ir.Value {
	px := g.value(ir.OpPtrToInt, ir.I64, g.expr(e.AdditiveExpression))
	py := g.value(ir.OpPtrToInt, ir.I64, g.expr(e.MultiplicativeExpression))
	g.atNode(e)
	v := g.value(ir.OpSub, ir.I64, px, py)
	size := max(1, g.sizeof(elem)) // GNU: void counts bytes
	if n := bits.TrailingZeros(uint(size)); n > 0 {
		v = g.value(ir.OpAShr, ir.I64, v, g.number(ir.I64, int64(n)))
		size >>= n
	}
	if size > 1 {
		v = g.value(ir.OpMul, ir.I64, v, g.number(ir.I64, inverse(int64(size))))
	}
	return v
}

// inverse returns the inverse of an odd number modulo 2^64, by Newton's method:
// each step doubles the number of right bits, of which n itself has 3.
func inverse(n int64) int64 {
	x := n
	for range 5 {
		x *= 2 - n*x
	}
	return x
}
