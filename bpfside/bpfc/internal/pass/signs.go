package pass

import "github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"

// signs finds the parameters of loops that are never negative, because they
// begin so and are only counted up below a bound, and takes what is done with
// them as unsigned: "for (int i = 0; i < n; i++) a[i]" then extends i without
// its sign, which is free and of which the verifier loses nothing.
func signs(f *ir.Func) bool {
	f.RemoveUnreachable()
	c := counting{dom: f.Dominators(), preds: f.Preds()}
	counter := make([]bool, f.NumIDs())
	found := false
	for _, b := range f.Blocks[1:] {
		for i, p := range b.Params {
			if p.Type != ir.Ptr && c.isCounter(p, i) {
				counter[p.ID] = true
				found = true
			}
		}
	}
	if !found {
		return false
	}
	changed := false
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			if len(v.Args) == 0 || v.Args[0].ID >= len(counter) || !counter[v.Args[0].ID] {
				continue
			}
			op := v.Op
			switch v.Op {
			case ir.OpSext:
				op = ir.OpZext
			case ir.OpAShr:
				op = ir.OpLShr
			case ir.OpSDiv, ir.OpSMod:
				if n, ok := constOf(v.Args[1]); ok && n > 0 {
					op = map[ir.Op]ir.Op{ir.OpSDiv: ir.OpUDiv, ir.OpSMod: ir.OpUMod}[v.Op]
				}
			case ir.OpCmp:
				if n, ok := constOf(v.Args[1]); ok && n >= 0 && unsigned(v.Cond) != v.Cond {
					v.Cond = unsigned(v.Cond)
					changed = true
				}
			}
			if op != v.Op {
				v.Op = op
				changed = true
			}
		}
	}
	return changed
}

type counting struct {
	dom   *ir.Dominators
	preds [][]ir.Pred
}

// isCounter says whether p, which is parameter i of its block, begins at a number
// that is not negative and is only counted up, to what is not negative either.
func (c *counting) isCounter(p *ir.Value, i int) bool {
	counted := false
	for _, pred := range c.preds[p.Block.ID] {
		a := pred.Edge().Args[i]
		switch {
		case a == p:
		case a.Op == ir.OpAdd && a.Args[0] == p:
			n, ok := constOf(a.Args[1])
			if !ok || n <= 0 || !c.isBelow(p, a.Block, n) {
				return false
			}
			counted = true
		case !isNonNegative(a):
			return false
		}
	}
	return counted
}

// isBelow says whether p is known in block b to be low enough for n to be added.
func (c *counting) isBelow(p *ir.Value, b *ir.Block, n int64) bool {
	most := int64(1<<63 - 1)
	if p.Type == ir.I32 {
		most = 1<<31 - 1
	}
	for ; b != p.Block && b != nil; b = c.dom.Idom(b) {
		if len(c.preds[b.ID]) != 1 {
			continue
		}
		pred := c.preds[b.ID][0]
		t := &pred.From.Term
		if t.Kind != ir.TermIf || t.Args[0].Op != ir.OpCmp || t.Args[0].Args[0] != p {
			continue
		}
		cond, bound := t.Args[0].Cond, t.Args[0].Args[1]
		if pred.Index == 1 {
			cond = cond.Not()
		}
		limit, isNumber := constOf(bound)
		switch {
		case cond == ir.SLT && n == 1: // something is above p
			return true
		case !isNumber || limit < 0:
		case (cond == ir.SLT || cond == ir.ULT) && limit-1 <= most-n:
			return true
		case (cond == ir.SLE || cond == ir.ULE) && limit <= most-n:
			return true
		}
	}
	return false
}
