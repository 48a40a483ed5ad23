package front

import (
	"strings"

	"modernc.org/cc/v4"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// Helpers that send what the user space of a program reads, by their numbers in
// the kernel's enum bpf_func_id.
const (
	helperPerfEventOutput = 25
	helperRingbufOutput   = 130
	helperRingbufReserve  = 131
)

// maxArgs is how many arguments there are registers for.
const maxArgs = 5

// call translates a call and returns its result, nil if it has none. wanted says
// whether anybody looks at it.
func (g *body) call(e *cc.PostfixExpression, wanted bool) *ir.Value {
	if name := builtinName(e.PostfixExpression); name != "" {
		return g.builtin(e, name, wanted)
	}
	c, ok := g.callee(e)
	if !ok {
		return g.undefined(g.valueType(g.typeOf(e)))
	}
	if inMemory(c.t.Result()) {
		g.aggregateCall(e)
		return nil
	}
	args, ok := g.arguments(e, c)
	if !ok {
		return g.undefined(g.valueType(g.typeOf(e)))
	}
	g.atNode(e)
	if c.absent {
		g.poison("function " + c.name)
		return g.undefined(g.valueType(c.t.Result()))
	}
	if c.f == nil {
		g.sendsTyped(e, c.helper)
		return g.helper(c, args)
	}
	return g.emitCall(c.f, args)
}

func (g *body) emitCall(f *ir.Func, args []*ir.Value) *ir.Value {
	v := g.value(ir.OpCall, f.Result, args...)
	v.Sym = f
	if f.Result == ir.Void {
		return nil
	}
	return v
}

// helper calls a helper of the kernel, which gives 64 bits of which the program
// may have declared fewer.
func (g *body) helper(c callee, args []*ir.Value) *ir.Value {
	t := underlying(c.t.Result())
	vt := ir.I64
	switch {
	case isVoid(t):
		vt = ir.Void
	case isPointer(t):
		vt = ir.Ptr
	}
	v := g.value(ir.OpHelper, vt, args...)
	v.Imm = c.helper
	switch {
	case vt == ir.Void:
		return nil
	case vt == ir.Ptr || g.sizeof(t) == 8:
		return v
	case t.Kind() == cc.Bool:
		return g.value(ir.OpTrunc, ir.I32, v)
	}
	return g.convert(nil, v, g.basic(cc.ULong), t)
}

// aggregateCall translates a call of a function that returns an aggregate.
func (g *body) aggregateCall(e *cc.PostfixExpression) place {
	if name := builtinName(e.PostfixExpression); name == "__builtin_choose_expr" {
		if x := g.chosen(e); x != nil {
			return g.lvalue(x)
		}
	}
	t := g.typeOf(e)
	bad := place{base: g.undefined(ir.Ptr), t: t, align: 1}
	c, ok := g.callee(e)
	if !ok {
		return bad
	}
	if c.f == nil || !inMemory(t) {
		g.errorf(e, "the result of this call is not an object")
		return bad
	}
	to := g.temporary(t)
	args, ok := g.arguments(e, c)
	if !ok {
		return bad
	}
	g.atNode(e)
	g.emitCall(c.f, append([]*ir.Value{g.pointerTo(to)}, args...))
	return to
}

// A callee is what a call calls.
type callee struct {
	f      *ir.Func // nil of a helper
	helper int64
	absent bool // a function that the kernel does not have
	t      *cc.FunctionType
	name   string
}

// callee finds what e calls. A helper is called through a pointer that is its
// number: libbpf's headers have it in a variable that nobody changes.
func (g *body) callee(e *cc.PostfixExpression) (c callee, ok bool) {
	x := e.PostfixExpression
	t := g.decay(g.typeOf(x))
	if c.t, ok = pointee(t).(*cc.FunctionType); !ok {
		if t.Kind() != cc.InvalidKind {
			g.errorf(e, "%s is not a function", t)
		}
		return c, false
	}
	if n, isConst := g.constant(x); isConst {
		c.helper = n
		return c, true
	}
	for {
		x = bare(x)
		u, isUnary := x.(*cc.UnaryExpression)
		if !isUnary || u.Case != cc.UnaryExpressionDeref && u.Case != cc.UnaryExpressionAddrof {
			break
		}
		x = u.CastExpression
	}
	if p, isPrimary := x.(*cc.PrimaryExpression); isPrimary && p.Case == cc.PrimaryExpressionIdent {
		if d, isDecl := p.ResolvedTo().(*cc.Declarator); isDecl {
			c.name = d.Name()
			if d.Type().Kind() == cc.Function {
				if c.f = g.function(d); c.f != nil {
					return c, true
				}
				if c.absent = g.weakKfunc(d); !c.absent {
					g.noBody(e, d)
				}
				return c, c.absent
			}
			if n, isHelper := g.helperNumber(d); isHelper {
				c.helper = n
				return c, true
			}
		}
	}
	g.errorf(e, "calls through pointers are not supported")
	return c, false
}

// weakKfunc reports whether d declares a function of the kernel that a program can
// do without: a weak one. As none can be called, each is taken to be absent: its
// address is null, and a call, which the program has to guard by that, is what no
// kernel has.
func (u *unit) weakKfunc(d *cc.Declarator) bool {
	o := u.objects[d.Name()]
	return o != nil && o.attrs.section == ".ksyms" && o.attrs.weak
}

// noBody refuses a function that this file does not define.
func (g *body) noBody(at cc.Node, d *cc.Declarator) {
	switch o := g.objects[d.Name()]; {
	case o == nil:
		g.errorf(at, "%s is not declared", d.Name())
	case o.attrs.section == ".ksyms":
		g.errorf(at, "%s: functions of the kernel (kfuncs) are not supported", d.Name())
	default:
		g.errorf(at, "%s is defined nowhere in this file", d.Name())
	}
}

// helperNumber returns the number of the helper that a variable stands for: a
// pointer to a function that is a constant and stays so.
func (u *unit) helperNumber(d *cc.Declarator) (int64, bool) {
	if d.Linkage() == cc.External && !u.isConst(d.Type()) {
		return 0, false // somebody else may set it
	}
	init := u.initializerOf(d)
	if init == nil || init.Case != cc.InitializerExpr || d.WriteCount() > 1 || d.AddressTaken() {
		return 0, false
	}
	n, ok := u.constant(init.AssignmentExpression)
	return n, ok && n > 0
}

// arguments translates those of a call.
func (g *body) arguments(e *cc.PostfixExpression, c callee) (vals []*ir.Value, ok bool) {
	params := c.t.Parameters()
	if len(params) == 1 && isVoid(params[0].Type()) {
		params = nil
	}
	args := arguments(e)
	switch {
	case len(args) < len(params):
		g.errorf(e, "too few arguments in a call: %d, expected %d", len(args), len(params))
		return nil, false
	case len(args) > len(params) && c.t.MaxArgs() >= 0:
		g.errorf(e, "too many arguments in a call: %d, expected %d", len(args), len(params))
		return nil, false
	case c.f == nil && len(args) > maxArgs:
		g.errorf(e, "helpers take at most %d arguments", maxArgs)
		return nil, false
	}
	for i, x := range args {
		from := g.decay(g.typeOf(x))
		to := from
		if i < len(params) {
			to = g.decay(params[i].Type())
		} else if isInteger(from) {
			to = g.promoted(x)
		}
		if inMemory(to) && (inMemory(from) || isWide(to)) {
			if c.f == nil {
				g.errorf(x, "helpers take no structs")
				return nil, false
			}
			p := g.temporary(to)
			g.copyTo(p, g.object(x, to))
			vals = append(vals, g.pointerTo(p))
			continue
		}
		v := g.convert(x, g.expr(x), from, to)
		if v == nil {
			return nil, false
		}
		vals = append(vals, v)
	}
	return vals, true
}

// functionPointer returns the address of the function that e names, which makes
// that a callback.
func (g *body) functionPointer(e cc.ExpressionNode) *ir.Value {
	x := bare(e)
	for {
		u, ok := x.(*cc.UnaryExpression)
		if !ok || u.Case != cc.UnaryExpressionDeref && u.Case != cc.UnaryExpressionAddrof {
			break
		}
		x = bare(u.CastExpression)
	}
	if p, ok := x.(*cc.PrimaryExpression); ok && p.Case == cc.PrimaryExpressionIdent {
		if d, ok := p.ResolvedTo().(*cc.Declarator); ok && d.Type().Kind() == cc.Function {
			f := g.function(d)
			if f == nil && g.weakKfunc(d) {
				return g.number(ir.Ptr, 0)
			}
			if f == nil {
				g.noBody(e, d)
				return g.undefined(ir.Ptr)
			}
			f.AddrTaken = true
			v := g.value(ir.OpFunc, ir.Ptr)
			v.Sym = f
			return v
		}
	}
	return g.refuse(e, g.basic(cc.Void).Pointer(), "pointers to functions are supported by the name of the function only")
}

// builtinName returns the name that e, what is called, has among those that the
// compiler knows, "" if it is none.
func builtinName(e cc.ExpressionNode) string {
	p, ok := bare(e).(*cc.PrimaryExpression)
	if !ok || p.Case != cc.PrimaryExpressionIdent {
		return ""
	}
	name := p.Token.SrcStr()
	for _, prefix := range []string{"__builtin_", "__sync_", "__atomic_", "__c11_atomic_", "__ccgo__"} {
		if strings.HasPrefix(name, prefix) {
			return name
		}
	}
	switch name {
	case "memcpy", "memmove", "memset", "memcmp", "strlen":
		// As by clang, unless the program has a function of that name.
		if d, ok := p.ResolvedTo().(*cc.Declarator); ok && d.Type().Kind() == cc.Function && !d.IsFuncDef() && !d.IsStatic() {
			return "__builtin_" + name
		}
	}
	return ""
}

// sendsEvent takes note of the type of an event: x, which is converted to a
// pointer of type t, may reserve the place of one in a ring buffer.
func (g *body) sendsEvent(x cc.ExpressionNode, t cc.Type) {
	e, ok := bare(x).(*cc.PostfixExpression)
	if !ok || e.Case != cc.PostfixExpressionCall || !isAggregate(pointee(t)) {
		return
	}
	if p, ok := bare(e.PostfixExpression).(*cc.PrimaryExpression); ok && p.Case == cc.PrimaryExpressionIdent {
		if d, ok := p.ResolvedTo().(*cc.Declarator); ok && isPointer(d.Type()) {
			if n, ok := g.helperNumber(d); ok && n == helperRingbufReserve {
				if args := arguments(e); len(args) > 0 {
					g.event(g.mapOf(args[0]), pointee(t))
				}
			}
		}
	}
}

// sendsTyped is the same of a call that copies an event.
func (g *body) sendsTyped(e *cc.PostfixExpression, helper int64) {
	m, data := 0, 1
	switch helper {
	case helperRingbufOutput:
	case helperPerfEventOutput:
		m, data = 1, 3
	default:
		return
	}
	args := arguments(e)
	if len(args) <= data {
		return
	}
	x := bare(args[data])
	for {
		c, ok := x.(*cc.CastExpression)
		if !ok {
			break
		}
		if t := pointee(g.typeOf(c)); isAggregate(t) {
			g.event(g.mapOf(args[m]), t)
			return
		}
		x = bare(c.CastExpression)
	}
	if t := pointee(g.decay(g.typeOf(x))); isAggregate(t) {
		g.event(g.mapOf(args[m]), t)
	}
}

// mapOf returns the map that x names, nil if it does not show which it is.
func (g *body) mapOf(x cc.ExpressionNode) *ir.Global {
	x = bare(x)
	for {
		if c, ok := x.(*cc.CastExpression); ok {
			x = bare(c.CastExpression)
		} else if a, ok := x.(*cc.UnaryExpression); ok && a.Case == cc.UnaryExpressionAddrof {
			x = bare(a.CastExpression)
		} else {
			break
		}
	}
	p, ok := x.(*cc.PrimaryExpression)
	if !ok || p.Case != cc.PrimaryExpressionIdent {
		return nil
	}
	d, ok := p.ResolvedTo().(*cc.Declarator)
	if !ok || d.Linkage() == cc.None {
		return nil
	}
	if m := g.global(d); m != nil && m.Section == ".maps" {
		return m
	}
	return nil
}
