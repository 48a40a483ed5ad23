package pass

import "github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"

// gvn finds values that compute what one that dominates them has computed, and
// has their readers read that one.
//
// It does not reach over a check of what they are computed from: of
//
//	y = x << 3; if (x < 64) z = x << 3
//
// the verifier knows a bound of z and none of y, for it does not go back when it
// learns about x. Where y itself has been compared it serves, whatever else has:
// the range of a packet pointer is known of those that came from the same
// addition.
func gvn(f *ir.Func) bool {
	f.RemoveUnreachable()
	g := numbering{
		dom:      f.Dominators(),
		preds:    f.Preds(),
		replaced: ir.NewReplacement(f),
		known:    map[expression]made{},
		checked:  make([]int, f.NumIDs()),
		entry:    f.Entry(),
	}
	g.walk(f)
	if len(g.hoisted) > 0 {
		g.entry.Values = append(g.hoisted, g.entry.Values...)
	}
	if g.changed {
		g.replaced.Apply(f)
	}
	return g.changed
}

// An expression is what makes two values the same.
type expression struct {
	op     ir.Op
	typ    ir.Type
	cond   ir.Cond
	size   int
	imm    int64
	sym    ir.Symbol
	x, y   *ir.Value
	signed bool
}

// made is the value that an expression has, and the depth in the dominator tree
// at which it was computed.
type made struct {
	value *ir.Value
	depth int
}

type numbering struct {
	dom      *ir.Dominators
	preds    [][]ir.Pred
	replaced *ir.Replacement
	known    map[expression]made
	checked  []int // by ID: the depth from which on the value has been compared, 0 if nowhere
	undo     []func()
	entry    *ir.Block
	hoisted  []*ir.Value // to the start of the entry
	changed  bool
}

// walk goes through the dominator tree, and forgets what it found in a subtree
// when it leaves it.
func (g *numbering) walk(f *ir.Func) {
	type frame struct {
		kids []*ir.Block
		undo int
	}
	stack := []frame{{kids: []*ir.Block{f.Entry()}}}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if len(top.kids) == 0 {
			for i := len(g.undo) - 1; i >= top.undo; i-- {
				g.undo[i]()
			}
			g.undo = g.undo[:top.undo]
			stack = stack[:len(stack)-1]
			continue
		}
		b := top.kids[0]
		top.kids = top.kids[1:]
		undo := len(g.undo)
		g.block(b, len(stack))
		stack = append(stack, frame{kids: g.dom.Children(b), undo: undo})
	}
}

func (g *numbering) block(b *ir.Block, depth int) {
	if preds := g.preds[b.ID]; len(preds) == 1 {
		t := &preds[0].From.Term
		for _, x := range t.Args {
			if x.Op == ir.OpCmp {
				g.check(x.Args[0], depth)
				g.check(x.Args[1], depth)
			} else {
				g.check(x, depth)
			}
		}
	}
	kept := b.Values[:0]
	for _, v := range b.Values {
		resolve(g.replaced, v.Args)
		if !isPure(v) {
			kept = append(kept, v)
			continue
		}
		e := expressionOf(v)
		if isRemade(v) && b != g.entry {
			g.hoist(e, v)
			continue
		}
		old, ok := g.known[e]
		if ok && g.serves(old, v) {
			g.replaced.Set(v, old.value)
			g.changed = true
			continue
		}
		kept = append(kept, v)
		g.known[e] = made{v, depth}
		g.undo = append(g.undo, func() {
			if ok {
				g.known[e] = old
			} else {
				delete(g.known, e)
			}
		})
	}
	clear(b.Values[len(kept):])
	b.Values = kept
}

// isRemade says whether lower makes v wherever it is read, so that it does not
// matter where it stands.
func isRemade(v *ir.Value) bool {
	switch v.Op {
	case ir.OpConst, ir.OpUndef, ir.OpGlobal, ir.OpFunc:
		return true
	}
	return false
}

// hoist moves v to the entry, for all blocks to read: then edges that bring the
// same number bring the same value.
func (g *numbering) hoist(e expression, v *ir.Value) {
	g.changed = true
	if old, ok := g.known[e]; ok {
		g.replaced.Set(v, old.value)
		return
	}
	v.Block = g.entry
	g.known[e] = made{v, 0}
	g.hoisted = append(g.hoisted, v)
}

// check notes that x has been compared, with what it is a form of.
func (g *numbering) check(x *ir.Value, depth int) {
	for {
		x = g.replaced.Get(x)
		if x.Op == ir.OpConst {
			return
		}
		old := g.checked[x.ID]
		g.checked[x.ID] = depth
		g.undo = append(g.undo, func() { g.checked[x.ID] = old })
		switch {
		case x.Op == ir.OpZext, x.Op == ir.OpSext, x.Op == ir.OpTrunc, x.Op == ir.OpPtrToInt:
		case x.Op == ir.OpAdd && x.Type == ir.Ptr && x.Args[1].Op == ir.OpConst:
		default:
			return
		}
		x = x.Args[0]
	}
}

// serves says whether the value that was made may be read instead of v.
func (g *numbering) serves(old made, v *ir.Value) bool {
	if v.Op == ir.OpCmp || g.checked[old.value.ID] > 0 {
		return true
	}
	for _, a := range v.Args {
		if g.checked[a.ID] > old.depth {
			return false
		}
	}
	return true
}

// expressionOf returns what v computes. Operands whose order does not matter
// have that of their numbers.
func expressionOf(v *ir.Value) expression {
	e := expression{op: v.Op, typ: v.Type, size: v.Size, imm: v.Imm, sym: v.Sym, signed: v.Signed, cond: v.Cond}
	if len(v.Args) > 0 {
		e.x = v.Args[0]
	}
	if len(v.Args) > 1 {
		e.y = v.Args[1]
	}
	if isCommutative(v.Op) && v.Type != ir.Ptr && e.x.ID > e.y.ID {
		e.x, e.y = e.y, e.x
	}
	if v.Op == ir.OpCmp && e.x.ID > e.y.ID {
		e.x, e.y, e.cond = e.y, e.x, e.cond.Swap()
	}
	return e
}
