package front

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf/btf"
	"modernc.org/cc/v4"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// A unit is the translation of one source file, and what its parts share.
type unit struct {
	ctx context.Context
	in  *Input
	src *sources
	ast *cc.AST
	mod *ir.Module

	diags ir.Errors
	at    ir.Pos // what is being translated

	objects  map[string]*object // of file scope, by name
	order    []*object
	typedefs map[*cc.Declarator]*cc.DeclarationSpecifiers // that declare it
	marks    []mark
	asserts  []*cc.StaticAssertDeclaration

	funcs    map[string]*ir.Func
	pending  []*ir.Func // named by something and not translated yet
	globals  map[string]*ir.Global
	statics  map[*cc.Declarator]*ir.Global // of function scope
	literals map[string]*ir.Global         // by content
	locals   []*ir.Global                  // statics, in order

	basics  map[cc.Kind]cc.Type
	records map[recordKey]*record
	types   btfTypes

	exprTypes map[cc.ExpressionNode]cc.Type
	retyped   map[*cc.Declarator]cc.Type // see declared

	kernelSpec *btf.Spec
	kernelErr  error
}

func newUnit(ctx context.Context, in *Input, s *sources) *unit {
	return &unit{
		ctx:      ctx,
		in:       in,
		src:      s,
		mod:      &ir.Module{Name: in.File},
		objects:  map[string]*object{},
		typedefs: map[*cc.Declarator]*cc.DeclarationSpecifiers{},
		funcs:    map[string]*ir.Func{},
		globals:  map[string]*ir.Global{},
		statics:  map[*cc.Declarator]*ir.Global{},
		literals: map[string]*ir.Global{},
		basics:   map[cc.Kind]cc.Type{},
		records:  map[recordKey]*record{},
	}
}

// translate fills the module from the checked tree: what others can see first,
// then, until nothing is left, what that names.
func (u *unit) translate() error {
	u.index()
	for _, o := range u.order {
		if !o.needed() {
			continue
		}
		if o.isFunc() {
			u.function(o.declarator())
		} else {
			u.global(o.declarator())
		}
	}
	for len(u.pending) > 0 && u.ctx.Err() == nil {
		f := u.pending[0]
		u.pending = u.pending[1:]
		u.at = f.Pos
		u.translateBody(f, u.objects[f.Name].def)
	}
	u.at = ir.Pos{}
	u.collect()
	u.types.finish()
	return nil
}

// collect puts what was made into the module, in the order of the source: what
// a map of a section looks like must not depend on who named whom first.
func (u *unit) collect() {
	for _, o := range u.order {
		if f := u.funcs[o.name]; f != nil && len(f.Blocks) > 0 {
			u.mod.Funcs = append(u.mod.Funcs, f)
		}
		if g := u.globals[o.name]; g != nil {
			u.mod.Globals = append(u.mod.Globals, g)
		}
	}
	u.mod.Globals = append(u.mod.Globals, u.locals...)
}

// kernel returns the types of the kernel that the program is for.
func (u *unit) kernel() (*btf.Spec, error) {
	if u.kernelSpec == nil && u.kernelErr == nil {
		switch {
		case u.in.Kernel == nil:
			u.kernelErr = errors.New("no types of a kernel are given")
		default:
			u.kernelSpec, u.kernelErr = u.in.Kernel()
			if u.kernelSpec == nil && u.kernelErr == nil {
				u.kernelErr = errors.New("no types of a kernel are given")
			}
		}
		if u.kernelErr != nil {
			u.kernelErr = fmt.Errorf("load kernel types: %w", u.kernelErr)
		}
	}
	return u.kernelSpec, u.kernelErr
}

// event says that a program sends objects of type t through the map g; g is nil
// if which map it is does not show.
func (u *unit) event(g *ir.Global, t cc.Type) {
	if !isAggregate(t) && !isInteger(t) {
		return
	}
	b := u.btfType(t)
	if g != nil && !slices.Contains(g.Events, b) {
		g.Events = append(g.Events, b)
	}
	if !slices.Contains(u.mod.Types, b) {
		u.mod.Types = append(u.mod.Types, b)
	}
}
