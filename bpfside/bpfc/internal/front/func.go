package front

import (
	"modernc.org/cc/v4"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// translateBody gives f the blocks of its definition.
//
// An aggregate is passed as a pointer to a copy that the caller made, and
// returned through a pointer, the first argument, to where the caller wants it.
// No kernel calls a function that has such: it is a convention of our own, which
// inlining removes.
func (u *unit) translateBody(f *ir.Func, def *cc.FunctionDefinition) {
	d := def.Declarator
	t, ok := d.Type().(*cc.FunctionType)
	if !ok {
		u.errorf(d, "%s is not a function", d.Name())
		return
	}
	g := &body{
		unit:      u,
		f:         f,
		result:    t.Result(),
		vars:      map[*cc.Declarator]place{},
		statics:   map[*cc.Declarator]staticDecl{},
		labels:    map[label]*ir.Block{},
		crossings: crossings(def.CompoundStatement),
	}
	g.atNode(d)
	g.enter(f.NewBlock())
	if t.IsVariadic() {
		g.errorf(d, "%s: definitions of variadic functions are not supported", d.Name())
	}
	if inMemory(g.result) {
		g.ret = g.b.NewParam(ir.Ptr, "")
	}
	params := g.params(d, t)
	for _, p := range params {
		g.param(p)
	}
	g.compound(def.CompoundStatement)
	g.at = g.f.End
	if g.b.Term.Kind == ir.TermNone {
		g.finish(nil)
	}
	f.Entry().Values = append(g.allocas, f.Entry().Values...)
	for _, b := range f.Blocks { // a goto of a label that an error kept away
		if b.Term.Kind == ir.TermNone {
			b.Term = ir.Term{Kind: ir.TermUnreachable}
		}
	}
}

// params gives the function a parameter for each of its C parameters, before any
// of them is put into its object.
func (g *body) params(d *cc.Declarator, t *cc.FunctionType) (params []param) {
	if dd := d.DirectDeclarator; dd != nil && dd.Case == cc.DirectDeclaratorFuncIdent && dd.IdentifierList != nil {
		g.errorf(d, "%s: parameters without a prototype are not supported", d.Name())
		return nil
	}
	for _, p := range t.Parameters() {
		pt := p.Type()
		if isVoid(pt) {
			break // (void)
		}
		if p.Declarator != nil {
			pt = p.Declarator.Type()
		}
		pt = g.decay(pt)
		if f := floating(pt); f != nil {
			at := d
			if p.Declarator != nil {
				at = p.Declarator
			}
			g.errorf(at, "%s is not supported: BPF has no floating point", f)
			continue
		}
		vt := g.irType(pt)
		if inMemory(pt) {
			vt = ir.Ptr
		}
		params = append(params, param{p.Declarator, pt, g.b.NewParam(vt, p.Name())})
	}
	return params
}

type param struct {
	d *cc.Declarator // nil if it has no name
	t cc.Type
	v *ir.Value
}

func (g *body) param(p param) {
	if p.d == nil {
		return
	}
	g.atNode(p.d)
	if inMemory(p.t) {
		g.vars[p.d] = place{base: p.v, t: p.t, align: g.alignof(p.t), volatile: g.isVolatile(p.t)}
		return
	}
	v := g.alloca(g.sizeof(p.t), g.alignof(p.t), p.d.Name())
	to := place{base: v, t: p.t, align: v.Align, volatile: g.isVolatile(p.t)}
	g.vars[p.d] = to
	g.store(p.d, to, p.v)
}
