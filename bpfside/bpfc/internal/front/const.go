package front

import (
	"math/bits"
	"strconv"
	"strings"

	"modernc.org/cc/v4"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// constant returns the value of an expression that has one at compile time and
// does nothing else: in 64 bits, extended by the sign that its type has. What has
// side effects, or needs memory, has none; cc says that "*p = 0" is 0.
func (u *unit) constant(e cc.ExpressionNode) (int64, bool) {
	if e == nil {
		return 0, false
	}
	v, ok := u.eval(e)
	if !ok {
		return 0, false
	}
	return u.convert(v, u.decay(u.typeOf(e))), true
}

// convert returns v as an object of type t holds it: C11 6.3.1.2 and 6.3.1.3.
func (u *unit) convert(v int64, t cc.Type) int64 {
	t = underlying(t)
	if t.Kind() == cc.Bool {
		if v != 0 {
			return 1
		}
		return 0
	}
	signed := isSigned(t)
	switch u.sizeof(t) {
	case 1:
		if signed {
			return int64(int8(v))
		}
		return int64(uint8(v))
	case 2:
		if signed {
			return int64(int16(v))
		}
		return int64(uint16(v))
	case 4:
		if signed {
			return int64(int32(v))
		}
		return int64(uint32(v))
	}
	return v
}

// integer returns the value that cc has of a literal or an enumerator.
func integer(v cc.Value) (int64, bool) {
	switch v := v.(type) {
	case cc.Int64Value:
		return int64(v), true
	case cc.UInt64Value:
		return int64(v), true
	}
	return 0, false
}

// truth returns v as a condition has it.
func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// eval is constant before its conversion to the type of e.
func (u *unit) eval(e cc.ExpressionNode) (int64, bool) {
	switch e := bare(e).(type) {
	case *cc.PrimaryExpression:
		return u.evalPrimary(e)
	case *cc.PostfixExpression:
		return u.evalPostfix(e)
	case *cc.UnaryExpression:
		return u.evalUnary(e)
	case *cc.CastExpression:
		return u.evalCast(e)
	case *cc.MultiplicativeExpression, *cc.AdditiveExpression, *cc.AndExpression,
		*cc.ExclusiveOrExpression, *cc.InclusiveOrExpression, *cc.EqualityExpression, *cc.RelationalExpression:
		return u.evalBinary(e)
	case *cc.ShiftExpression:
		return u.evalShift(e)
	case *cc.LogicalAndExpression:
		x, ok := u.constant(e.LogicalAndExpression)
		if !ok || x == 0 {
			return 0, ok // whatever the other one is
		}
		y, ok := u.constant(e.InclusiveOrExpression)
		return truth(y != 0), ok
	case *cc.LogicalOrExpression:
		x, ok := u.constant(e.LogicalOrExpression)
		if !ok || x != 0 {
			return 1, ok
		}
		y, ok := u.constant(e.LogicalAndExpression)
		return truth(y != 0), ok
	case *cc.ConditionalExpression:
		x, ok := u.constant(e.LogicalOrExpression)
		switch {
		case !ok:
			return 0, false
		case x == 0:
			return u.constant(e.ConditionalExpression)
		case middle(e) == nil: // GNU: x ?: y
			return x, true
		}
		return u.constant(e.ExpressionList)
	}
	return 0, false
}

func (u *unit) evalPrimary(e *cc.PrimaryExpression) (int64, bool) {
	switch e.Case {
	case cc.PrimaryExpressionInt:
		if v, ok := integer(e.Value()); ok {
			return v, true
		}
		_, v, ok := u.literal(e)
		return v, ok
	case cc.PrimaryExpressionChar, cc.PrimaryExpressionLChar:
		return integer(e.Value())
	case cc.PrimaryExpressionIdent:
		if d, ok := e.ResolvedTo().(*cc.Enumerator); ok {
			return integer(d.Value())
		}
	case cc.PrimaryExpressionGeneric:
		return u.constant(u.selected(e.GenericSelection))
	}
	return 0, false
}

// literal returns the type and the value of an integer constant by its text, C11
// 6.4.4.1: cc leaves them out where it takes an expression for unused, as in a
// generic selection of which it selects another part.
func (u *unit) literal(e *cc.PrimaryExpression) (cc.Type, int64, bool) {
	text := strings.ToLower(e.Token.SrcStr())
	digits := strings.TrimRight(text, "ul")
	suffix := text[len(digits):]
	x, err := strconv.ParseUint(digits, 0, 64)
	if err != nil {
		return nil, 0, false
	}
	unsigned, long := strings.Contains(suffix, "u"), strings.Count(suffix, "l")
	based := strings.HasPrefix(digits, "0")
	kinds := [][2]cc.Kind{{cc.Int, cc.UInt}, {cc.Long, cc.ULong}, {cc.LongLong, cc.ULongLong}}
	for i, k := range kinds[min(long, 2):] {
		bits := 63
		if i+long == 0 {
			bits = 31
		}
		switch {
		case !unsigned && x>>bits == 0:
			return u.basic(k[0]), int64(x), true
		case (unsigned || based) && x>>bits>>1 == 0:
			return u.basic(k[1]), int64(x), true
		}
	}
	return nil, 0, false
}

func (u *unit) evalPostfix(e *cc.PostfixExpression) (int64, bool) {
	if e.Case != cc.PostfixExpressionCall {
		return 0, false
	}
	name, args := builtinName(e.PostfixExpression), arguments(e)
	switch {
	case name == "__builtin_constant_p" && len(args) == 1:
		_, ok := u.constant(args[0])
		if !ok && u.stringOf(args[0]) != nil {
			ok = true
		}
		// What only becomes a constant when a function is inlined is none.
		return truth(ok), true
	case name == "__builtin_choose_expr" && len(args) == 3:
		if x, ok := u.constant(args[0]); ok && x != 0 {
			return u.constant(args[1])
		} else if ok {
			return u.constant(args[2])
		}
	case name == "__ccgo__types_compatible_p" && len(args) == 2:
		return truth(u.compatible(u.typeOf(args[0]), u.typeOf(args[1]))), true
	case name == "__builtin_expect" && len(args) == 2:
		return u.constant(args[0])
	case name == "__builtin_strlen" && len(args) == 1:
		if s := u.stringOf(args[0]); s != nil {
			n := strings.IndexByte(string(s), 0)
			return int64(n), n >= 0
		}
	case strings.HasPrefix(name, "__builtin_bswap") && len(args) == 1:
		return u.evalSwap(args[0], u.sizeof(u.typeOf(e)))
	case len(args) == 1:
		return u.evalBits(name, args[0])
	}
	return 0, false
}

// evalBits is evalPostfix of a builtin that counts bits.
func (u *unit) evalBits(name string, arg cc.ExpressionNode) (int64, bool) {
	name, ok := strings.CutPrefix(name, "__builtin_")
	if !ok {
		return 0, false
	}
	v, ok := u.constant(arg)
	if !ok {
		return 0, false
	}
	x, width := uint64(uint32(v)), 32
	if short := strings.TrimRight(name, "l"); short != name {
		x, width, name = uint64(v), 64, short
	}
	switch name {
	case "popcount":
		return int64(bits.OnesCount64(x)), true
	case "parity":
		return int64(bits.OnesCount64(x) & 1), true
	case "clz": // of 0 it is undefined
		return int64(bits.LeadingZeros64(x) - (64 - width)), x != 0
	case "ctz":
		return int64(bits.TrailingZeros64(x)), x != 0
	case "ffs":
		if x == 0 {
			return 0, true
		}
		return int64(bits.TrailingZeros64(x)) + 1, true
	}
	return 0, false
}

func (u *unit) evalSwap(e cc.ExpressionNode, size int) (int64, bool) {
	v, ok := u.constant(e)
	var r uint64
	for i := range size {
		r |= uint64(v) >> (8 * i) & 0xff << (8 * (size - 1 - i))
	}
	return int64(r), ok
}

// stringOf returns the bytes of a string literal, with its end; nil of anything
// else.
func (u *unit) stringOf(e cc.ExpressionNode) []byte {
	p, ok := bare(e).(*cc.PrimaryExpression)
	if !ok {
		return nil
	}
	switch v := p.Value().(type) {
	case cc.StringValue:
		if p.Case == cc.PrimaryExpressionString {
			return []byte(v)
		}
	case cc.UTF32StringValue:
		if p.Case == cc.PrimaryExpressionLString {
			b := make([]byte, 0, 4*len(v))
			for _, r := range v {
				b = append(b, byte(r), byte(r>>8), byte(r>>16), byte(r>>24))
			}
			return b
		}
	}
	return nil
}

func (u *unit) evalUnary(e *cc.UnaryExpression) (int64, bool) {
	switch e.Case {
	case cc.UnaryExpressionSizeofExpr:
		return u.sizeofValue(u.typeOf(e.UnaryExpression))
	case cc.UnaryExpressionSizeofType:
		return u.sizeofValue(u.named(e.TypeName))
	case cc.UnaryExpressionAlignofExpr:
		return int64(u.alignof(u.typeOf(e.UnaryExpression))), true
	case cc.UnaryExpressionAlignofType:
		return int64(u.alignof(u.named(e.TypeName))), true
	case cc.UnaryExpressionAddrof:
		return u.numericAddress(e)
	}
	v, ok := u.constant(e.CastExpression)
	if !ok {
		return 0, false
	}
	v = u.convert(v, u.promoted(e.CastExpression))
	switch e.Case {
	case cc.UnaryExpressionPlus:
		return v, true
	case cc.UnaryExpressionMinus:
		return -v, true
	case cc.UnaryExpressionCpl:
		return ^v, true
	case cc.UnaryExpressionNot:
		return truth(v == 0), true
	}
	return 0, false
}

// sizeofValue is what sizeof gives: GNU C has 1 for void and for functions, and
// that of an array of variable length is not constant.
func (u *unit) sizeofValue(t cc.Type) (int64, bool) {
	if t.Kind() == cc.Void || t.Kind() == cc.Function {
		return 1, true
	}
	for a, ok := t.(*cc.ArrayType); ok; a, ok = a.Elem().(*cc.ArrayType) {
		if a.IsVLA() {
			return 0, false
		}
	}
	return int64(u.sizeof(t)), t.Kind() != cc.InvalidKind
}

func (u *unit) evalCast(e *cc.CastExpression) (int64, bool) {
	t := u.named(e.TypeName)
	if !isScalar(underlying(t)) {
		return 0, false
	}
	if v, ok := u.constant(e.CastExpression); ok {
		return u.convert(v, t), true
	}
	// (size_t)&((struct s *)0)->m, and (long)1.5.
	if v, ok := u.numericAddress(e.CastExpression); ok {
		return u.convert(v, t), true
	}
	if p, ok := bare(e.CastExpression).(*cc.PrimaryExpression); ok && p.Case == cc.PrimaryExpressionFloat {
		if f, ok := p.Value().(cc.Float64Value); ok && float64(f) > -1<<53 && float64(f) < 1<<53 {
			return u.convert(int64(f), t), true
		}
	}
	return 0, false
}

func (u *unit) evalBinary(e cc.ExpressionNode) (int64, bool) {
	x, y := operands(e)
	a, ok := u.constant(x)
	if !ok {
		return 0, false
	}
	b, ok := u.constant(y)
	if !ok {
		return 0, false
	}
	tx, ty := u.decay(u.typeOf(x)), u.decay(u.typeOf(y))
	if isPointer(tx) || isPointer(ty) {
		return u.evalPointers(e, a, b, tx, ty)
	}
	t := u.common(x, y)
	if !isInteger(t) {
		return 0, false
	}
	a, b = u.convert(a, t), u.convert(b, t)
	signed := isSigned(t)
	switch e := e.(type) {
	case *cc.MultiplicativeExpression:
		switch {
		case e.Case == cc.MultiplicativeExpressionMul:
			return a * b, true
		case b == 0:
			return 0, false // undefined: C11 6.5.5p5
		case e.Case == cc.MultiplicativeExpressionDiv && signed:
			return a / b, true
		case e.Case == cc.MultiplicativeExpressionDiv:
			return int64(uint64(a) / uint64(b)), true
		case signed:
			return a % b, true
		}
		return int64(uint64(a) % uint64(b)), true
	case *cc.AdditiveExpression:
		if e.Case == cc.AdditiveExpressionSub {
			return a - b, true
		}
		return a + b, true
	case *cc.AndExpression:
		return a & b, true
	case *cc.ExclusiveOrExpression:
		return a ^ b, true
	case *cc.InclusiveOrExpression:
		return a | b, true
	case *cc.EqualityExpression:
		return truth((a == b) == (e.Case == cc.EqualityExpressionEq)), true
	case *cc.RelationalExpression:
		return truth(related(e.Case, a, b, signed)), true
	}
	return 0, false
}

func related(c cc.RelationalExpressionCase, a, b int64, signed bool) bool {
	less, more := uint64(a) < uint64(b), uint64(a) > uint64(b)
	if signed {
		less, more = a < b, a > b
	}
	switch c {
	case cc.RelationalExpressionLt:
		return less
	case cc.RelationalExpressionGt:
		return more
	case cc.RelationalExpressionLeq:
		return !more
	}
	return !less
}

// evalPointers is evalBinary of pointers that are numbers, such as (char *)0 + 4.
func (u *unit) evalPointers(e cc.ExpressionNode, a, b int64, tx, ty cc.Type) (int64, bool) {
	switch e := e.(type) {
	case *cc.EqualityExpression:
		return truth((a == b) == (e.Case == cc.EqualityExpressionEq)), true
	case *cc.RelationalExpression:
		return truth(related(e.Case, a, b, false)), true
	case *cc.AdditiveExpression:
		switch sub := e.Case == cc.AdditiveExpressionSub; {
		case isPointer(tx) && isPointer(ty):
			size := u.stride(tx)
			if !sub || size == 0 {
				return 0, false
			}
			return (a - b) / size, true
		case isPointer(tx) && sub:
			return a - b*u.stride(tx), true
		case isPointer(tx):
			return a + b*u.stride(tx), true
		case !sub:
			return b + a*u.stride(ty), true
		}
	}
	return 0, false
}

// stride is how far apart the objects are that a pointer of type t counts.
func (u *unit) stride(t cc.Type) int64 {
	if p := pointee(t); p.Kind() != cc.Void && p.Kind() != cc.Function {
		return int64(u.sizeof(p))
	}
	return 1 // GNU C
}

func (u *unit) evalShift(e *cc.ShiftExpression) (int64, bool) {
	a, ok := u.constant(e.ShiftExpression)
	if !ok {
		return 0, false
	}
	n, ok := u.constant(e.AdditiveExpression)
	if !ok {
		return 0, false
	}
	t := u.promoted(e.ShiftExpression)
	a = u.convert(a, t)
	if n < 0 || n >= int64(8*u.sizeof(t)) {
		return 0, false // undefined: C11 6.5.7p3
	}
	switch {
	case e.Case == cc.ShiftExpressionLsh:
		return a << n, true
	case isSigned(t):
		return a >> n, true
	}
	return int64(uint64(a) >> n), true
}

// numericAddress returns the value of a pointer that is a number plus what leads
// to a member or an element.
func (u *unit) numericAddress(e cc.ExpressionNode) (int64, bool) {
	sym, off, ok := u.address(e, false)
	return off, ok && sym == nil
}

// addressConstant returns the object that a pointer points to, or into, at off:
// C11 6.6p9.
func (u *unit) addressConstant(e cc.ExpressionNode) (sym ir.Symbol, off int64, ok bool) {
	sym, off, ok = u.address(e, true)
	return sym, off, ok && sym != nil
}

// address is the value of e as a symbol plus an offset. Without symbols only one
// that has none is looked for.
func (u *unit) address(e cc.ExpressionNode, symbols bool) (ir.Symbol, int64, bool) {
	e = bare(e)
	switch t := u.typeOf(e); {
	case t.Kind() == cc.Array || t.Kind() == cc.Function:
		return u.objectAt(e, symbols)
	case !isPointer(t) && u.irType(t) != ir.I64:
		return nil, 0, false
	}
	switch e := e.(type) {
	case *cc.UnaryExpression:
		if e.Case == cc.UnaryExpressionAddrof {
			return u.objectAt(e.CastExpression, symbols)
		}
	case *cc.CastExpression:
		if sym, off, ok := u.address(e.CastExpression, symbols); ok {
			return sym, off, true
		}
	case *cc.AdditiveExpression:
		x, y := operands(e)
		if !isPointer(u.decay(u.typeOf(x))) && e.Case == cc.AdditiveExpressionAdd {
			x, y = y, x
		}
		sym, off, ok := u.address(x, symbols)
		if !ok {
			break
		}
		n, ok := u.constant(y)
		if !ok || isPointer(u.decay(u.typeOf(y))) {
			break
		}
		if t := u.decay(u.typeOf(x)); isPointer(t) {
			n *= u.stride(t)
		}
		if e.Case == cc.AdditiveExpressionSub {
			n = -n
		}
		return sym, off + n, true
	}
	if !symbols {
		// Only a cast says that a number is an address: constant has seen to it
		// that this is not asked of what asks this.
		if c, ok := e.(*cc.CastExpression); ok {
			v, ok := u.constant(c.CastExpression)
			return nil, v, ok
		}
		return nil, 0, false
	}
	v, ok := u.constant(e)
	return nil, v, ok
}

// objectAt is the address of the object, or function, that e designates.
func (u *unit) objectAt(e cc.ExpressionNode, symbols bool) (ir.Symbol, int64, bool) {
	e = bare(e)
	switch e := e.(type) {
	case *cc.PrimaryExpression:
		if !symbols {
			return nil, 0, false
		}
		return u.symbolOf(e)
	case *cc.UnaryExpression:
		if e.Case == cc.UnaryExpressionDeref {
			return u.address(e.CastExpression, symbols)
		}
	case *cc.PostfixExpression:
		switch e.Case {
		case cc.PostfixExpressionIndex:
			p, i := e.PostfixExpression, e.ExpressionList
			if !isPointer(u.decay(u.typeOf(p))) {
				p, i = i, p
			}
			sym, off, ok := u.address(p, symbols)
			if !ok {
				return nil, 0, false
			}
			n, ok := u.constant(i)
			return sym, off + n*u.stride(u.decay(u.typeOf(p))), ok
		case cc.PostfixExpressionSelect, cc.PostfixExpressionPSelect:
			path, ok := u.memberOf(e)
			if !ok || path[len(path)-1].bits != 0 {
				return nil, 0, false
			}
			at := u.objectAt
			if e.Case == cc.PostfixExpressionPSelect {
				at = u.address
			}
			sym, off, ok := at(e.PostfixExpression, symbols)
			for _, f := range path {
				off += int64(f.offset)
			}
			return sym, off, ok
		}
	}
	return nil, 0, false
}

// symbolOf returns what a name or a string literal stands for.
func (u *unit) symbolOf(e *cc.PrimaryExpression) (ir.Symbol, int64, bool) {
	if s := u.stringOf(e); s != nil {
		return u.stringLiteral(s), 0, true
	}
	d, ok := e.ResolvedTo().(*cc.Declarator)
	if !ok || e.Case != cc.PrimaryExpressionIdent {
		return nil, 0, false
	}
	if d.Type().Kind() == cc.Function {
		f := u.function(d)
		return f, 0, f != nil
	}
	if g := u.statics[d]; g != nil {
		return g, 0, true
	}
	if d.StorageDuration() != cc.Static || d.Linkage() == cc.None {
		return nil, 0, false
	}
	g := u.global(d)
	return g, 0, g != nil
}
