package pass

import (
	"slices"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// A copier copies blocks into a function: first the blocks, with their
// parameters and values, then their operands and ends, which may name what is
// copied later. What has no copy stands for itself.
type copier struct {
	f      *ir.Func
	blocks map[*ir.Block]*ir.Block
	values map[*ir.Value]*ir.Value
}

func newCopier(f *ir.Func) *copier {
	return &copier{f: f, blocks: map[*ir.Block]*ir.Block{}, values: map[*ir.Value]*ir.Value{}}
}

// params gives to the parameters of from.
func (c *copier) params(from, to *ir.Block) {
	for _, p := range from.Params {
		q := to.NewParam(p.Type, p.Name)
		q.Pos = p.Pos
		c.values[p] = q
	}
}

// value returns a copy of v, with the operands of v as yet.
func (c *copier) value(v *ir.Value) *ir.Value {
	w := c.f.NewValue(v.Op, v.Type)
	id := w.ID
	*w = *v
	w.ID, w.Block, w.Args = id, nil, slices.Clone(v.Args)
	c.values[v] = w
	return w
}

// get returns what stands for v.
func (c *copier) get(v *ir.Value) *ir.Value {
	if w := c.values[v]; w != nil {
		return w
	}
	return v
}

// operands replaces those of the values in b, a copy, by their copies.
func (c *copier) operands(b *ir.Block) {
	for _, v := range b.Values {
		for i, a := range v.Args {
			v.Args[i] = c.get(a)
		}
	}
}

// term returns a copy of t.
func (c *copier) term(t *ir.Term) ir.Term {
	u := *t
	u.Args = c.all(t.Args)
	u.Succs = slices.Clone(t.Succs)
	for i, e := range u.Succs {
		u.Succs[i] = c.edge(e)
	}
	return u
}

// edge returns a copy of e.
func (c *copier) edge(e ir.Edge) ir.Edge {
	to := e.To
	if b := c.blocks[to]; b != nil {
		to = b
	}
	return ir.Edge{To: to, Args: c.all(e.Args)}
}

func (c *copier) all(vs []*ir.Value) []*ir.Value {
	if vs == nil {
		return nil
	}
	ws := make([]*ir.Value, len(vs))
	for i, v := range vs {
		ws[i] = c.get(v)
	}
	return ws
}
