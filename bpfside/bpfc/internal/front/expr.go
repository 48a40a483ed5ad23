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
// called when that is translated. The argument of
// __builtin_preserve_access_index arrives behind a mark of that name.
func (g *body) comma(e *cc.ExpressionList) (last cc.ExpressionNode, done func()) {
	done = func() {}
	for ; e.ExpressionList != nil; e = e.ExpressionList {
		if call, ok := bare(e.AssignmentExpression).(*cc.PostfixExpression); ok &&
			call.Case == cc.PostfixExpressionCall &&
			builtinName(call.PostfixExpression) == "__builtin_preserve_access_index" {
			g.preserve++
			done = func() { g.preserve-- }
			continue
		}
		g.discard(e.AssignmentExpression)
	}
	return e.AssignmentExpression, done
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
	g.copyTo(to, from)
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
