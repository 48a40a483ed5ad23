package front

import (
	"modernc.org/cc/v4"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// A place is an object in memory: of type t, off bytes behind base. The offset is
// kept apart from the base as long as it is constant, so that it ends in the
// instruction that accesses the object: the verifier takes nothing else on a
// context.
type place struct {
	base     *ir.Value
	off      int64
	t        cc.Type
	align    int // of base + off
	volatile bool
	// A bit-field has bits bits, the first of which is bit bits above base + off,
	// which is the start of the struct, of size bytes.
	bit, bits, size int
	core            *chain // how its offset came from the kernel's BTF
	user            bool   // in the traced process: see readUser
}

// at returns the object of type t that is n bytes into p.
func (p place) at(n int64, t cc.Type) place {
	p.off += n
	p.align = commonAlign(p.align, n)
	p.t = t
	return p
}

// commonAlign returns the alignment of what is n bytes behind an address with
// alignment align.
func commonAlign(align int, n int64) int {
	if n == 0 {
		return align
	}
	return int(min(int64(align), n&-n))
}

// variable returns the place of a declared object.
func (g *body) variable(at cc.Node, d *cc.Declarator) place {
	if p, ok := g.vars[d]; ok {
		return p
	}
	var v *ir.Global
	if s, ok := g.statics[d]; ok {
		v = g.staticLocal(g.f, s.in, s.id)
	} else if d.Linkage() == cc.None {
		g.errorf(at, "internal error: %s has no object", d.Name())
	} else {
		v = g.global(d)
	}
	t := g.declared(d, nil)
	if v == nil { // a diagnostic says why
		return place{base: g.undefined(ir.Ptr), t: t, align: 1}
	}
	base := g.value(ir.OpGlobal, ir.Ptr)
	base.Sym = v
	return place{
		base: base, t: t, align: max(g.alignof(t), v.Align),
		volatile: g.isVolatile(t) || d.IsVolatile(),
	}
}

// temporary returns an object that has no name.
func (g *body) temporary(t cc.Type) place {
	v := g.alloca(g.sizeof(t), g.alignof(t), "")
	g.life(v)
	return place{base: v, t: t, align: v.Align}
}

// life begins the life of an object of the frame.
func (g *body) life(v *ir.Value) {
	g.value(ir.OpLife, ir.Void, v)
}

// lvalue returns the object that e designates. Of an aggregate that is a value
// and no object, such as the result of a call, it is a temporary one that holds
// it.
func (g *body) lvalue(e cc.ExpressionNode) place {
	switch e := bare(e).(type) {
	case *cc.PrimaryExpression:
		return g.lvaluePrimary(e)
	case *cc.PostfixExpression:
		switch e.Case {
		case cc.PostfixExpressionIndex:
			return g.element(e)
		case cc.PostfixExpressionSelect:
			return g.selection(e, g.lvalue(e.PostfixExpression))
		case cc.PostfixExpressionPSelect:
			return g.selection(e, g.deref(e, e.PostfixExpression))
		case cc.PostfixExpressionComplit:
			return g.compoundLiteral(e)
		case cc.PostfixExpressionCall:
			return g.aggregateCall(e)
		}
	case *cc.UnaryExpression:
		if e.Case == cc.UnaryExpressionDeref {
			return g.deref(e, e.CastExpression)
		}
	case *cc.ExpressionList:
		x, done := g.comma(e)
		p := g.lvalue(x)
		done()
		return p
	case *cc.AssignmentExpression:
		if inMemory(g.typeOf(e)) && e.Case == cc.AssignmentExpressionAssign {
			return g.assignAggregate(e)
		}
	case *cc.ConditionalExpression:
		if inMemory(g.typeOf(e)) {
			return g.chooseAggregate(e)
		}
	case *cc.CastExpression:
		if t := g.typeOf(e); inMemory(t) {
			return g.object(e.CastExpression, t)
		}
	}
	t := g.typeOf(e)
	switch {
	case isWide(t): // the result of an operation
		g.badOperands(e, t, t, t)
	case t.Kind() != cc.InvalidKind:
		g.errorf(e, "expression is not an object")
	}
	return place{base: g.undefined(ir.Ptr), t: t, align: 1}
}

func (g *body) lvaluePrimary(e *cc.PrimaryExpression) place {
	switch e.Case {
	case cc.PrimaryExpressionIdent:
		switch d := e.ResolvedTo().(type) {
		case *cc.Declarator:
			return g.variable(e, d)
		}
	case cc.PrimaryExpressionString, cc.PrimaryExpressionLString:
		return g.literal(e)
	case cc.PrimaryExpressionStmt:
		return g.statementExpression(e)
	case cc.PrimaryExpressionGeneric:
		if x := g.selected(e.GenericSelection); x != nil {
			return g.lvalue(x)
		}
		g.errorf(e, "no type of the generic selection is that of its expression")
		return place{base: g.undefined(ir.Ptr), t: cc.Invalid, align: 1}
	}
	if t := g.typeOf(e); t.Kind() != cc.InvalidKind {
		g.errorf(e, "expression is not an object")
	}
	return place{base: g.undefined(ir.Ptr), t: g.typeOf(e), align: 1}
}

// literal returns the object that a string literal stands for.
func (g *body) literal(e *cc.PrimaryExpression) place {
	t := g.typeOf(e)
	s, ok := e.Value().(cc.StringValue)
	if !ok {
		g.errorf(e, "wide string literals are not supported")
		return place{base: g.undefined(ir.Ptr), t: t, align: 1}
	}
	v := g.value(ir.OpGlobal, ir.Ptr)
	v.Sym = g.stringLiteral([]byte(s))
	return place{base: v, t: t, align: 1}
}

// deref returns what the pointer e points at.
func (g *body) deref(at cc.Node, e cc.ExpressionNode) place {
	t := pointee(g.decay(g.typeOf(e)))
	if a, ok := bare(e).(*cc.UnaryExpression); ok && a.Case == cc.UnaryExpressionAddrof {
		if p := g.lvalue(a.CastExpression); p.bits == 0 { // *&x is x, with what is known of its place
			return p
		}
		g.errorf(a, "a bit-field has no address")
	}
	if t.Kind() == cc.Function { // *f is f
		p, off := g.pointer(e)
		return place{base: p, off: off, t: t, align: 1}
	}
	if t0 := g.typeOf(e); t0.Kind() == cc.Array {
		p := g.lvalue(e)
		local := p.at(0, t)
		local.volatile = local.volatile || g.isVolatile(t)
		if p.core != nil {
			g.coreElement(&local, p.core, 0)
		}
		return local
	}
	p, off := g.pointer(e)
	return place{base: p, off: off, t: t, align: max(1, g.alignof(t)), volatile: g.isVolatile(t), user: g.readUser > 0}
}

// element returns a[i], or i[a].
func (g *body) element(e *cc.PostfixExpression) place {
	array, index := e.PostfixExpression, e.ExpressionList
	if isInteger(g.typeOf(array)) {
		array, index = index, array
	}
	t := pointee(g.decay(g.typeOf(array)))
	var p place
	if g.typeOf(array).Kind() == cc.Array {
		p = g.lvalue(array)
	} else {
		base, off := g.pointer(array)
		p = place{base: base, off: off, align: max(1, g.alignof(t)), user: g.readUser > 0}
	}
	size := int64(g.sizeof(t))
	if n, ok := g.constant(index); ok {
		local := p.at(n*size, t)
		local.volatile = local.volatile || g.isVolatile(t)
		if p.core != nil {
			g.coreElement(&local, p.core, n)
		}
		return local
	}
	p.core.fix(g, &p)
	p.base = g.scaledAdd(p.base, index, size, ir.OpAdd)
	p.align = commonAlign(p.align, size)
	p.t, p.volatile = t, p.volatile || g.isVolatile(t)
	return p
}

// scaledAdd returns base plus or minus index times size.
func (g *body) scaledAdd(base *ir.Value, index cc.ExpressionNode, size int64, op ir.Op) *ir.Value {
	t := underlying(g.typeOf(index))
	if !isInteger(t) {
		g.badOperands(index, t, t, t)
		return base
	}
	n := g.widen(g.expr(index), t)
	switch {
	case size&(size-1) != 0:
		n = g.value(ir.OpMul, ir.I64, n, g.number(ir.I64, size))
	case size > 1:
		n = g.value(ir.OpShl, ir.I64, n, g.number(ir.I64, log2(size)))
	case size == 0: // GNU: an array of empty structs
		n = g.number(ir.I64, 0)
	}
	return g.value(op, ir.Ptr, base, n)
}

func log2(n int64) (bits int64) {
	for n > 1 {
		n, bits = n>>1, bits+1
	}
	return bits
}

// selection returns the member of p that e, s.m or p->m, names.
func (g *body) selection(e *cc.PostfixExpression, p place) place {
	path, ok := g.memberOf(e)
	if !ok {
		if t := p.t; t != nil && t.Kind() != cc.InvalidKind {
			g.errorf(e, "%s has no member %s", t, e.Token2.SrcStr())
		}
		return place{base: g.undefined(ir.Ptr), t: cc.Invalid, align: 1}
	}
	return g.members(e, p, path)
}

// members follows a path of members. Where the program asks for it, the offset
// is not that of the program's declaration but that of the kernel's.
func (g *body) members(at cc.Node, p place, path []field) place {
	if p.t == nil {
		p.t = cc.Invalid
	}
	relocate := g.preserve > 0 || g.preserveAccess(p.t)
	c := p.core
	switch {
	case relocate && c == nil:
		c = g.newChain(at, p)
	case !relocate && c != nil:
		c.fix(g, &p)
		c = nil
	}
	var f field
	for _, f = range path {
		p.size = g.sizeof(p.t)
		if f.bits != 0 {
			p.t, p.bit, p.bits = f.typ, f.bit, f.bits
		} else {
			p = p.at(int64(f.offset), f.typ)
		}
		if f.packed {
			p.align = 1
		}
		p.volatile = p.volatile || g.isVolatile(f.typ)
	}
	if c != nil {
		g.coreMember(&p, c, f)
	}
	return p
}

// address returns base and offset of an object for an access to it.
func (g *body) address(p place) (*ir.Value, int64) {
	p.core.fix(g, &p)
	return p.base, p.off
}

// load returns the value of a scalar object.
func (g *body) load(at cc.Node, p place) *ir.Value {
	t := underlying(p.t)
	if !isScalar(t) {
		if t.Kind() == cc.InvalidKind {
			return nil
		}
		if f := floating(t); f != nil {
			return g.refuse(at, t, "%s is not supported: BPF has no floating point", f)
		}
		return g.refuse(at, t, "a value of type %s cannot be used here", t)
	}
	if p.bits != 0 {
		return g.loadBits(p)
	}
	size, signed := g.sizeof(t), isSigned(t)
	if size > 8 {
		return g.refuse(at, t, "%s is not supported", t)
	}
	if n := p.core.accessSize(&p, t, size, signed); n != size {
		vt := unitType(n)
		return g.resize(g.loadSized(p, vt, n, false), g.irType(t), false)
	}
	return g.loadSized(p, g.irType(t), size, signed)
}

func (g *body) loadSized(p place, t ir.Type, size int, signed bool) *ir.Value {
	if p.user {
		p = g.fetchUser(p, size)
	}
	base, off := g.address(p)
	v := g.value(ir.OpLoad, t, base)
	size = min(size, t.Size())
	v.Imm, v.Size, v.Align, v.Volatile = off, size, min(p.align, size), p.volatile
	v.Signed = signed && size < t.Size()
	return v
}

// store puts v, which is converted to the type of the object, there.
func (g *body) store(at cc.Node, p place, v *ir.Value) {
	if v == nil || p.t.Kind() == cc.InvalidKind {
		return // a diagnostic says why
	}
	if g.notUser(at, p) {
		return
	}
	if p.bits != 0 {
		g.storeBits(p, v)
		return
	}
	size := g.sizeof(p.t)
	if size > 8 {
		g.errorf(at, "%s is not supported", p.t)
		return
	}
	base, off := g.address(p)
	s := g.value(ir.OpStore, ir.Void, base, v)
	s.Imm, s.Size, s.Align, s.Volatile = off, size, min(p.align, size), p.volatile
}

// copyTo copies an aggregate. The two are the same object or do not overlap, C11
// 6.5.16.1; an object that is copied to itself keeps its bytes.
func (g *body) copyTo(to, from place) {
	size := g.sizeof(to.t)
	if size == 0 {
		return
	}
	if from.user {
		from = g.fetchUser(from, size)
	}
	v := g.value(ir.OpCopy, ir.Void, g.pointerTo(to), g.pointerTo(from))
	v.Size, v.Align, v.Volatile = size, min(to.align, from.align), to.volatile || from.volatile
}

// pointerTo returns the address of an object as a value.
func (g *body) pointerTo(p place) *ir.Value {
	base, off := g.address(p)
	return g.pointerAdd(base, off)
}

// pointer returns the value of e, a pointer, as a base and a constant offset.
func (g *body) pointer(e cc.ExpressionNode) (*ir.Value, int64) {
	switch t := g.typeOf(e); t.Kind() {
	case cc.Array:
		return g.address(g.lvalue(e))
	case cc.Function:
		return g.functionPointer(e), 0
	}
	switch e := bare(e).(type) {
	case *cc.UnaryExpression:
		if e.Case == cc.UnaryExpressionAddrof {
			return g.addressOf(e)
		}
	case *cc.AdditiveExpression:
		return g.pointerSum(e)
	case *cc.CastExpression:
		from := g.decay(g.typeOf(e.CastExpression))
		switch {
		case isPointer(from):
			g.sendsEvent(e.CastExpression, g.typeOf(e))
			return g.pointer(e.CastExpression)
		case isInteger(from):
			if p, off, ok := g.castPointer(e.CastExpression); ok {
				return p, off
			}
		}
	case *cc.ExpressionList:
		x, done := g.comma(e)
		p, off := g.pointer(x)
		done()
		return p, off
	}
	v := g.expr(e)
	if v == nil {
		return g.undefined(ir.Ptr), 0
	}
	t := g.decay(g.typeOf(e))
	if !isPointer(t) {
		if t.Kind() != cc.InvalidKind {
			g.errorf(e, "%s is not a pointer", t)
		}
		return g.undefined(ir.Ptr), 0
	}
	return v, 0
}

// addressOf translates &x.
func (g *body) addressOf(e *cc.UnaryExpression) (*ir.Value, int64) {
	if g.typeOf(e.CastExpression).Kind() == cc.Function {
		return g.functionPointer(e.CastExpression), 0
	}
	p := g.lvalue(e.CastExpression)
	if p.bits != 0 {
		g.errorf(e, "a bit-field has no address")
	}
	return g.address(p)
}

// pointerSum translates p + i, i + p and p - i.
func (g *body) pointerSum(e *cc.AdditiveExpression) (*ir.Value, int64) {
	pe, ie := e.AdditiveExpression, e.MultiplicativeExpression
	op, sign := ir.OpAdd, int64(1)
	if e.Case == cc.AdditiveExpressionSub {
		op, sign = ir.OpSub, -1
	} else if isInteger(g.typeOf(pe)) {
		pe, ie = ie, pe
	}
	t := pointee(g.decay(g.typeOf(pe)))
	size := int64(g.sizeof(t))
	if isVoid(t) || t.Kind() == cc.Function {
		size = 1 // GNU
	}
	base, off := g.pointer(pe)
	if n, ok := g.constant(ie); ok {
		return base, off + sign*n*size
	}
	return g.scaledAdd(base, ie, size, op), off
}

// castPointer follows a pointer that is cast to an integer, and changed by a
// constant at most, before it is cast back: (T *)((long)ctx + 8).
func (g *body) castPointer(e cc.ExpressionNode) (p *ir.Value, off int64, ok bool) {
	if t := g.typeOf(e); !isInteger(t) || g.sizeof(t) != 8 {
		return nil, 0, false
	}
	switch e := bare(e).(type) {
	case *cc.CastExpression:
		from := g.decay(g.typeOf(e.CastExpression))
		switch {
		case isPointer(from):
			p, off := g.pointer(e.CastExpression)
			return p, off, true
		case isInteger(from):
			return g.castPointer(e.CastExpression)
		}
	case *cc.AdditiveExpression:
		if n, isConst := g.constant(e.MultiplicativeExpression); isConst {
			if e.Case == cc.AdditiveExpressionSub {
				n = -n
			}
			if p, off, ok := g.castPointer(e.AdditiveExpression); ok {
				return p, off + n, true
			}
		}
	}
	return nil, 0, false
}
