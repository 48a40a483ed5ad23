package front

import (
	"modernc.org/cc/v4"
)

// typeOf returns the type of an expression, before the conversions that its
// place in a larger one brings: an array stays one. It is Invalid where the
// expression has none; whoever translates it says why.
//
// cc types expressions as well, but takes the wrong member where a nested
// struct has one of the same name, and converts enumerations and bit-fields
// differently from clang: what follows from its types would be silently wrong.
func (u *unit) typeOf(e cc.ExpressionNode) cc.Type {
	if t, ok := u.exprTypes[e]; ok {
		return t
	}
	t := u.typeOfNode(e)
	if t == nil {
		t = cc.Invalid
	}
	if u.exprTypes == nil {
		u.exprTypes = map[cc.ExpressionNode]cc.Type{}
	}
	u.exprTypes[e] = t
	return t
}

func (u *unit) typeOfNode(e cc.ExpressionNode) cc.Type {
	switch e := e.(type) {
	case *cc.ExpressionList:
		last := e
		for last.ExpressionList != nil {
			last = last.ExpressionList
		}
		if last == e {
			return u.typeOf(e.AssignmentExpression)
		}
		return u.decay(u.typeOf(last.AssignmentExpression))
	case *cc.AssignmentExpression:
		if e.Case == cc.AssignmentExpressionCond {
			return u.typeOf(e.ConditionalExpression)
		}
		return u.typeOf(e.UnaryExpression)
	case *cc.ConstantExpression:
		return u.typeOf(e.ConditionalExpression)
	case *cc.ConditionalExpression:
		if e.Case == cc.ConditionalExpressionLOr {
			return u.typeOf(e.LogicalOrExpression)
		}
		return u.typeOfConditional(e)
	case *cc.LogicalOrExpression, *cc.LogicalAndExpression:
		if x := wrapped(e); x != nil {
			return u.typeOf(x)
		}
		return u.basic(cc.Int)
	case *cc.InclusiveOrExpression, *cc.ExclusiveOrExpression, *cc.AndExpression, *cc.MultiplicativeExpression:
		if x := wrapped(e); x != nil {
			return u.typeOf(x)
		}
		x, y := operands(e)
		return u.common(x, y)
	case *cc.EqualityExpression, *cc.RelationalExpression:
		if x := wrapped(e); x != nil {
			return u.typeOf(x)
		}
		return u.basic(cc.Int)
	case *cc.ShiftExpression:
		if x := wrapped(e); x != nil {
			return u.typeOf(x)
		}
		x, _ := operands(e)
		return u.promoted(x)
	case *cc.AdditiveExpression:
		if x := wrapped(e); x != nil {
			return u.typeOf(x)
		}
		return u.typeOfAdditive(e)
	case *cc.CastExpression:
		if e.Case == cc.CastExpressionUnary {
			return u.typeOf(e.UnaryExpression)
		}
		return u.named(e.TypeName)
	case *cc.UnaryExpression:
		return u.typeOfUnary(e)
	case *cc.PostfixExpression:
		return u.typeOfPostfix(e)
	case *cc.PrimaryExpression:
		return u.typeOfPrimary(e)
	}
	return cc.Invalid
}

// typeOfConditional implements C11 6.5.15 as far as clang's warnings go: it
// takes pointers to different types and pointers beside integers.
func (u *unit) typeOfConditional(e *cc.ConditionalExpression) cc.Type {
	yes := middle(e)
	if yes == nil { // GNU: x ?: y
		yes = e.LogicalOrExpression
	}
	no := e.ConditionalExpression
	a, b := u.decay(u.typeOf(yes)), u.decay(u.typeOf(no))
	switch {
	case isInteger(a) && isInteger(b):
		return u.common(yes, no)
	case isPointer(a) && isPointer(b):
		switch {
		case u.isNull(no):
			return a
		case u.isNull(yes):
			return b
		case isVoid(pointee(b)):
			return b
		}
		return a
	case isPointer(b) && isInteger(a):
		return b
	case isVoid(b):
		return b
	}
	return a
}

// elvis is the name that rewriting puts between ? and : of GNU's x ?: y, where cc
// fails without an expression.
const elvis = "__bpfc_elvis"

// middle returns the expression between ? and :, nil if there is none.
func middle(e *cc.ConditionalExpression) cc.ExpressionNode {
	if e.ExpressionList == nil {
		return nil
	}
	if p, ok := bare(e.ExpressionList).(*cc.PrimaryExpression); ok && p.Case == cc.PrimaryExpressionIdent && p.Token.SrcStr() == elvis {
		return nil
	}
	return e.ExpressionList
}

func (u *unit) typeOfAdditive(e *cc.AdditiveExpression) cc.Type {
	a, b := u.decay(u.typeOf(e.AdditiveExpression)), u.decay(u.typeOf(e.MultiplicativeExpression))
	switch {
	case isPointer(a) && isPointer(b):
		return u.basic(cc.Long)
	case isPointer(a):
		return a
	case isPointer(b):
		return b
	}
	return u.common(e.AdditiveExpression, e.MultiplicativeExpression)
}

func (u *unit) typeOfUnary(e *cc.UnaryExpression) cc.Type {
	switch e.Case {
	case cc.UnaryExpressionPostfix:
		return u.typeOf(e.PostfixExpression)
	case cc.UnaryExpressionInc, cc.UnaryExpressionDec:
		return u.typeOf(e.UnaryExpression)
	case cc.UnaryExpressionAddrof:
		return u.typeOf(e.CastExpression).Pointer()
	case cc.UnaryExpressionDeref:
		return pointee(u.decay(u.typeOf(e.CastExpression)))
	case cc.UnaryExpressionPlus, cc.UnaryExpressionMinus, cc.UnaryExpressionCpl:
		return u.promoted(e.CastExpression)
	case cc.UnaryExpressionNot:
		return u.basic(cc.Int)
	case cc.UnaryExpressionSizeofExpr, cc.UnaryExpressionSizeofType,
		cc.UnaryExpressionAlignofExpr, cc.UnaryExpressionAlignofType:
		return u.basic(cc.ULong)
	}
	return e.Type()
}

func (u *unit) typeOfPostfix(e *cc.PostfixExpression) cc.Type {
	switch e.Case {
	case cc.PostfixExpressionPrimary:
		return u.typeOf(e.PrimaryExpression)
	case cc.PostfixExpressionIndex:
		a := u.decay(u.typeOf(e.PostfixExpression))
		if !isPointer(a) {
			a = u.decay(u.typeOf(e.ExpressionList))
		}
		return pointee(a)
	case cc.PostfixExpressionCall:
		return u.typeOfCall(e)
	case cc.PostfixExpressionSelect, cc.PostfixExpressionPSelect:
		path, ok := u.memberOf(e)
		if !ok {
			return cc.Invalid
		}
		return path[len(path)-1].typ
	case cc.PostfixExpressionInc, cc.PostfixExpressionDec:
		return u.typeOf(e.PostfixExpression)
	case cc.PostfixExpressionComplit:
		return u.named(e.TypeName)
	}
	return cc.Invalid
}

// memberOf returns the members that lead from the operand of e, a selection, to
// what it selects.
func (u *unit) memberOf(e *cc.PostfixExpression) (path []field, ok bool) {
	t := u.typeOf(e.PostfixExpression)
	if e.Case == cc.PostfixExpressionPSelect {
		t = pointee(u.decay(t))
	}
	if !isAggregate(t) {
		return nil, false
	}
	path, ok = u.member(t, e.Token2.SrcStr())
	return path, ok && len(path) > 0
}

func (u *unit) typeOfCall(e *cc.PostfixExpression) cc.Type {
	if name := builtinName(e.PostfixExpression); name != "" {
		if t := u.typeOfBuiltin(name, arguments(e)); t != nil {
			return t
		}
	}
	t := u.decay(u.typeOf(e.PostfixExpression))
	if f, ok := pointee(t).(*cc.FunctionType); ok {
		return f.Result()
	}
	return cc.Invalid
}

func (u *unit) typeOfPrimary(e *cc.PrimaryExpression) cc.Type {
	switch e.Case {
	case cc.PrimaryExpressionIdent:
		switch d := e.ResolvedTo().(type) {
		case *cc.Declarator:
			return u.declared(d, nil)
		case *cc.Parameter:
			return d.Type()
		case *cc.Enumerator:
			return u.enumeratorType(d)
		}
		return e.Type()
	case cc.PrimaryExpressionInt:
		if t := e.Type(); t != nil && t.Kind() != cc.InvalidKind {
			return t
		}
		if t, _, ok := u.literal(e); ok {
			return t
		}
		return cc.Invalid
	case cc.PrimaryExpressionChar:
		return u.basic(cc.Int)
	case cc.PrimaryExpressionString, cc.PrimaryExpressionLString:
		return e.Type().Undecay()
	case cc.PrimaryExpressionExpr:
		return u.typeOf(e.ExpressionList)
	case cc.PrimaryExpressionStmt:
		if x := lastExpression(e.CompoundStatement); x != nil {
			return u.decay(u.typeOf(x))
		}
		return u.basic(cc.Void)
	case cc.PrimaryExpressionGeneric:
		if x := u.selected(e.GenericSelection); x != nil {
			return u.typeOf(x)
		}
		return cc.Invalid
	}
	return e.Type()
}

// enumeratorType returns int if the value fits, else what the enumeration is
// represented by: C11 6.4.4.3 and clang's extension of it.
func (u *unit) enumeratorType(d *cc.Enumerator) cc.Type {
	switch v := d.Value().(type) {
	case cc.Int64Value:
		if v == cc.Int64Value(int32(v)) {
			return u.basic(cc.Int)
		}
	case cc.UInt64Value:
		if v <= 1<<31-1 {
			return u.basic(cc.Int)
		}
	}
	return d.Type()
}

// compatible reports whether a and b are the same type, C11 6.2.7; qualifiers
// count behind a pointer only.
func (u *unit) compatible(a, b cc.Type) bool {
	switch a := a.(type) {
	case *cc.PointerType:
		b, ok := b.(*cc.PointerType)
		if !ok {
			return false
		}
		p, q := a.Elem(), b.Elem()
		return u.isConst(p) == u.isConst(q) && u.isVolatile(p) == u.isVolatile(q) && u.compatible(p, q)
	case *cc.ArrayType:
		b, ok := b.(*cc.ArrayType)
		return ok && (a.Len() < 0 || b.Len() < 0 || a.Len() == b.Len()) && u.compatible(a.Elem(), b.Elem())
	case *cc.EnumType:
		if _, ok := b.(*cc.EnumType); !ok {
			return a.UnderlyingType().Kind() == b.Kind()
		}
	case *cc.PredefinedType:
		if b, ok := b.(*cc.EnumType); ok {
			return b.UnderlyingType().Kind() == a.Kind()
		}
		return a.Kind() == b.Kind()
	}
	return a.IsCompatible(b)
}

// decay converts an array to a pointer to its element, and a function to a
// pointer to it: C11 6.3.2.1.
func (u *unit) decay(t cc.Type) cc.Type {
	switch t := t.(type) {
	case *cc.ArrayType:
		return t.Elem().Pointer()
	case *cc.FunctionType:
		return t.Pointer()
	}
	return t
}

// promoted returns the type of e after the integer promotions, C11 6.3.1.1. A
// bit-field of up to the width of an int is promoted whatever its type is, as by
// gcc and clang.
func (u *unit) promoted(e cc.ExpressionNode) cc.Type {
	t := underlying(u.decay(u.typeOf(e)))
	if f := u.bitField(e); f != nil && isInteger(t) {
		switch {
		case f.bits < 32 || f.bits == 32 && cc.IsSignedInteger(t):
			return u.basic(cc.Int)
		case f.bits == 32:
			return u.basic(cc.UInt)
		}
	}
	switch t.Kind() {
	case cc.Bool, cc.Char, cc.SChar, cc.UChar, cc.Short, cc.UShort:
		return u.basic(cc.Int)
	case cc.Int, cc.UInt, cc.Long, cc.ULong, cc.LongLong, cc.ULongLong:
		return u.basic(t.Kind())
	}
	return t
}

// common returns the type to which both operands are converted, C11 6.3.1.8.
func (u *unit) common(x, y cc.ExpressionNode) cc.Type {
	return u.commonType(u.promoted(x), u.promoted(y))
}

// commonType is common of types that are promoted.
func (u *unit) commonType(a, b cc.Type) cc.Type {
	rank := func(t cc.Type) int {
		switch t.Kind() {
		case cc.Int, cc.UInt:
			return 1
		case cc.Long, cc.ULong:
			return 2
		case cc.LongLong, cc.ULongLong:
			return 3
		}
		return 4 // a float or __int128, which is refused elsewhere
	}
	if rank(a) == 4 {
		return a
	}
	if rank(b) == 4 {
		return b
	}
	if rank(a) < rank(b) {
		a, b = b, a
	}
	// a has the higher rank, or the same.
	switch {
	case rank(a) == rank(b) && cc.IsSignedInteger(a):
		return b
	case !cc.IsSignedInteger(a) || cc.IsSignedInteger(b) || a.Size() > b.Size():
		return a
	}
	return u.basic(cc.ULongLong) // long long with unsigned long
}

// bitField returns the member that e reads if that is a bit-field, else nil.
func (u *unit) bitField(e cc.ExpressionNode) *field {
	switch e := e.(type) {
	case *cc.ExpressionList:
		last := e
		for last.ExpressionList != nil {
			last = last.ExpressionList
		}
		return u.bitField(last.AssignmentExpression)
	case *cc.AssignmentExpression:
		if e.Case == cc.AssignmentExpressionCond {
			return u.bitField(e.ConditionalExpression)
		}
		return u.bitField(e.UnaryExpression)
	case *cc.UnaryExpression:
		switch e.Case {
		case cc.UnaryExpressionPostfix:
			return u.bitField(e.PostfixExpression)
		case cc.UnaryExpressionInc, cc.UnaryExpressionDec:
			return u.bitField(e.UnaryExpression)
		}
	case *cc.PostfixExpression:
		switch e.Case {
		case cc.PostfixExpressionPrimary:
			return u.bitField(e.PrimaryExpression)
		case cc.PostfixExpressionSelect, cc.PostfixExpressionPSelect:
			if path, ok := u.memberOf(e); ok && path[len(path)-1].bits != 0 {
				return &path[len(path)-1]
			}
		}
	case *cc.PrimaryExpression:
		switch e.Case {
		case cc.PrimaryExpressionExpr:
			return u.bitField(e.ExpressionList)
		case cc.PrimaryExpressionGeneric:
			if x := u.selected(e.GenericSelection); x != nil {
				return u.bitField(x)
			}
		}
	default:
		if x := wrapped(e); x != nil {
			return u.bitField(x)
		}
	}
	return nil
}

// isNull reports whether e is a null pointer constant, C11 6.3.2.3.
func (u *unit) isNull(e cc.ExpressionNode) bool {
	t := u.typeOf(e)
	if !isInteger(t) && !(isPointer(t) && isVoid(pointee(t))) {
		return false
	}
	v, ok := u.constant(e)
	return ok && v == 0
}

// underlying returns the integer type that represents an enumeration, and any
// other type as it is.
func underlying(t cc.Type) cc.Type {
	if e, ok := t.(*cc.EnumType); ok {
		return e.UnderlyingType()
	}
	return t
}

// pointee returns what a pointer points at, and Invalid of another type.
func pointee(t cc.Type) cc.Type {
	if p, ok := t.(*cc.PointerType); ok {
		return p.Elem()
	}
	return cc.Invalid
}

func isInteger(t cc.Type) bool { return cc.IsIntegerType(t) && !isWide(t) }
func isPointer(t cc.Type) bool { return t.Kind() == cc.Ptr }
func isVoid(t cc.Type) bool    { return t.Kind() == cc.Void }
func isScalar(t cc.Type) bool  { return isInteger(t) || isPointer(t) }
func isSigned(t cc.Type) bool  { return cc.IsSignedInteger(t) }

func isAggregate(t cc.Type) bool {
	return t.Kind() == cc.Struct || t.Kind() == cc.Union
}

// wrapped returns the operand of a node of the grammar that only hands it on,
// and nil of one that does something.
func wrapped(e cc.ExpressionNode) cc.ExpressionNode {
	switch e := e.(type) {
	case *cc.ExpressionList:
		if e.ExpressionList == nil {
			return e.AssignmentExpression
		}
	case *cc.AssignmentExpression:
		if e.Case == cc.AssignmentExpressionCond {
			return e.ConditionalExpression
		}
	case *cc.ConstantExpression:
		return e.ConditionalExpression
	case *cc.ConditionalExpression:
		if e.Case == cc.ConditionalExpressionLOr {
			return e.LogicalOrExpression
		}
	case *cc.LogicalOrExpression:
		if e.Case == cc.LogicalOrExpressionLAnd {
			return e.LogicalAndExpression
		}
	case *cc.LogicalAndExpression:
		if e.Case == cc.LogicalAndExpressionOr {
			return e.InclusiveOrExpression
		}
	case *cc.InclusiveOrExpression:
		if e.Case == cc.InclusiveOrExpressionXor {
			return e.ExclusiveOrExpression
		}
	case *cc.ExclusiveOrExpression:
		if e.Case == cc.ExclusiveOrExpressionAnd {
			return e.AndExpression
		}
	case *cc.AndExpression:
		if e.Case == cc.AndExpressionEq {
			return e.EqualityExpression
		}
	case *cc.EqualityExpression:
		if e.Case == cc.EqualityExpressionRel {
			return e.RelationalExpression
		}
	case *cc.RelationalExpression:
		if e.Case == cc.RelationalExpressionShift {
			return e.ShiftExpression
		}
	case *cc.ShiftExpression:
		if e.Case == cc.ShiftExpressionAdd {
			return e.AdditiveExpression
		}
	case *cc.AdditiveExpression:
		if e.Case == cc.AdditiveExpressionMul {
			return e.MultiplicativeExpression
		}
	case *cc.MultiplicativeExpression:
		if e.Case == cc.MultiplicativeExpressionCast {
			return e.CastExpression
		}
	case *cc.CastExpression:
		if e.Case == cc.CastExpressionUnary {
			return e.UnaryExpression
		}
	case *cc.UnaryExpression:
		if e.Case == cc.UnaryExpressionPostfix {
			return e.PostfixExpression
		}
	case *cc.PostfixExpression:
		if e.Case == cc.PostfixExpressionPrimary {
			return e.PrimaryExpression
		}
	case *cc.PrimaryExpression:
		if e.Case == cc.PrimaryExpressionExpr {
			return e.ExpressionList
		}
	}
	return nil
}

// bare returns e without the nodes and parentheses that only hand it on.
func bare(e cc.ExpressionNode) cc.ExpressionNode {
	for {
		x := wrapped(e)
		if x == nil {
			return e
		}
		e = x
	}
}

// operands returns those of an operator that takes two, nil of another node.
func operands(e cc.ExpressionNode) (x, y cc.ExpressionNode) {
	switch e := e.(type) {
	case *cc.LogicalOrExpression:
		return e.LogicalOrExpression, e.LogicalAndExpression
	case *cc.LogicalAndExpression:
		return e.LogicalAndExpression, e.InclusiveOrExpression
	case *cc.InclusiveOrExpression:
		return e.InclusiveOrExpression, e.ExclusiveOrExpression
	case *cc.ExclusiveOrExpression:
		return e.ExclusiveOrExpression, e.AndExpression
	case *cc.AndExpression:
		return e.AndExpression, e.EqualityExpression
	case *cc.EqualityExpression:
		return e.EqualityExpression, e.RelationalExpression
	case *cc.RelationalExpression:
		return e.RelationalExpression, e.ShiftExpression
	case *cc.ShiftExpression:
		return e.ShiftExpression, e.AdditiveExpression
	case *cc.AdditiveExpression:
		return e.AdditiveExpression, e.MultiplicativeExpression
	case *cc.MultiplicativeExpression:
		return e.MultiplicativeExpression, e.CastExpression
	}
	return nil, nil
}

// arguments returns those of a call.
func arguments(call *cc.PostfixExpression) (args []cc.ExpressionNode) {
	for l := call.ArgumentExpressionList; l != nil; l = l.ArgumentExpressionList {
		args = append(args, l.AssignmentExpression)
	}
	return args
}

// lastExpression returns the expression that gives a statement expression its
// value, nil if it has none.
func lastExpression(s *cc.CompoundStatement) cc.ExpressionNode {
	var last *cc.BlockItem
	for l := s.BlockItemList; l != nil; l = l.BlockItemList {
		last = l.BlockItem
	}
	if last == nil || last.Case != cc.BlockItemStmt {
		return nil
	}
	stmt := last.Statement
	for stmt != nil && stmt.Case == cc.StatementLabeled {
		stmt = stmt.LabeledStatement.Statement
	}
	if stmt == nil || stmt.Case != cc.StatementExpr {
		return nil
	}
	return stmt.ExpressionStatement.ExpressionList
}
