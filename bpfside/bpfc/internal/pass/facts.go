package pass

import "github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"

// facts uses what the conditions on the way to a block say there: after
// "if (x == 3)" x is 3, after "if (n < 8)" n < 16 is true, and what has been
// compared once need not be again. It only concludes from comparisons of the
// very same value, from which the verifier has drawn the same conclusion.
func facts(f *ir.Func) bool {
	f.RemoveUnreachable()
	k := knowledge{
		f:     f,
		dom:   f.Dominators(),
		preds: f.Preds(),
		is:    make([]*number, f.NumIDs()),
		of:    make([][]fact, f.NumIDs()),
	}
	k.walk()
	return k.changed
}

// A fact is that a value has cond to y.
type fact struct {
	cond ir.Cond
	y    *ir.Value
}

// A number is what a value is known to be, as a constant that is made where it is
// first read.
type number struct {
	imm   int64
	value *ir.Value
}

type knowledge struct {
	f     *ir.Func
	dom   *ir.Dominators
	preds [][]ir.Pred
	is    []*number // by ID
	of    [][]fact  // by ID of the left operand
	undo  []func()

	at      *ir.Block
	out     []*ir.Value // of the block
	changed bool
}

func (k *knowledge) walk() {
	type frame struct {
		kids []*ir.Block
		undo int
	}
	stack := []frame{{kids: []*ir.Block{k.f.Entry()}}}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if len(top.kids) == 0 {
			for i := len(k.undo) - 1; i >= top.undo; i-- {
				k.undo[i]()
			}
			k.undo = k.undo[:top.undo]
			stack = stack[:len(stack)-1]
			continue
		}
		b := top.kids[0]
		top.kids = top.kids[1:]
		undo := len(k.undo)
		k.block(b)
		stack = append(stack, frame{kids: k.dom.Children(b), undo: undo})
	}
}

func (k *knowledge) block(b *ir.Block) {
	k.learn(b)
	k.at, k.out = b, make([]*ir.Value, 0, len(b.Values))
	for _, v := range b.Values {
		k.resolve(v.Args)
		if v.Op == ir.OpCmp {
			if yes, ok := k.decide(v); ok {
				*v = ir.Value{ID: v.ID, Op: ir.OpConst, Type: ir.I32, Block: b, Pos: v.Pos}
				if yes {
					v.Imm = 1
				}
				k.changed = true
			}
		}
		k.out = append(k.out, v)
	}
	k.resolve(b.Term.Args)
	for _, e := range b.Term.Succs {
		k.resolve(e.Args)
	}
	b.Values = k.out
}

// resolve puts constants where they are known.
func (k *knowledge) resolve(args []*ir.Value) {
	for i, a := range args {
		if a.ID >= len(k.is) || k.is[a.ID] == nil {
			continue
		}
		n := k.is[a.ID]
		if n.value == nil { // its first reader
			n.value = k.f.NewValue(ir.OpConst, a.Type)
			n.value.Imm, n.value.Block, n.value.Pos = n.imm, k.at, a.Pos
			k.out = append(k.out, n.value)
			k.undo = append(k.undo, func() { n.value = nil })
		}
		args[i] = n.value
		k.changed = true
	}
}

// learn notes what the one edge that enters b says.
func (k *knowledge) learn(b *ir.Block) {
	if len(k.preds[b.ID]) != 1 {
		return
	}
	pred := k.preds[b.ID][0]
	t := &pred.From.Term
	switch t.Kind {
	case ir.TermIf:
		k.learnIf(t, pred.Index == 0)
	case ir.TermSwitch:
		if pred.Index > 0 {
			k.equal(t.Args[0], t.Cases[pred.Index-1])
		}
	}
}

func (k *knowledge) learnIf(t *ir.Term, isTrue bool) {
	x := t.Args[0]
	if x.Op != ir.OpCmp {
		if isTrue {
			k.note(x, ir.NE, k.f.NewValue(ir.OpConst, x.Type))
		} else {
			k.equal(x, 0)
		}
		return
	}
	cond := x.Cond
	if isTrue {
		k.equal(x, 1)
	} else {
		k.equal(x, 0)
		cond = cond.Not()
	}
	left, right := x.Args[0], x.Args[1]
	if cond == ir.EQ && right.Op == ir.OpConst {
		k.equal(left, right.Imm)
		return
	}
	k.note(left, cond, right)
	k.note(right, cond.Swap(), left)
}

// equal notes that x is n.
func (k *knowledge) equal(x *ir.Value, n int64) {
	if x.Op == ir.OpConst || x.ID >= len(k.is) {
		return
	}
	old := k.is[x.ID]
	k.is[x.ID] = &number{imm: n}
	k.undo = append(k.undo, func() { k.is[x.ID] = old })
}

func (k *knowledge) note(x *ir.Value, cond ir.Cond, y *ir.Value) {
	if x.Op == ir.OpConst || x.ID >= len(k.of) {
		return
	}
	n := len(k.of[x.ID])
	k.of[x.ID] = append(k.of[x.ID], fact{cond, y})
	k.undo = append(k.undo, func() { k.of[x.ID] = k.of[x.ID][:n] })
}

// decide says whether the comparison v is true, if the facts tell.
func (k *knowledge) decide(v *ir.Value) (isTrue, ok bool) {
	x, y := v.Args[0], v.Args[1]
	if x.ID >= len(k.of) || x.Op == ir.OpConst || len(k.of[x.ID]) == 0 {
		return false, false
	}
	if y.Op == ir.OpConst {
		r := fullRange(x)
		for _, f := range k.of[x.ID] {
			if f.y.Op == ir.OpConst {
				r.narrow(f.cond, f.y.Imm)
			}
		}
		return r.decide(v.Cond, y.Imm)
	}
	for _, f := range k.of[x.ID] {
		if f.y == y {
			if implies(f.cond, v.Cond) {
				return true, true
			}
			if implies(f.cond, v.Cond.Not()) {
				return false, true
			}
		}
	}
	return false, false
}

// implies says whether x a y has x b y follow.
func implies(a, b ir.Cond) bool {
	if a == b {
		return true
	}
	switch a {
	case ir.EQ:
		return b == ir.ULE || b == ir.UGE || b == ir.SLE || b == ir.SGE
	case ir.ULT:
		return b == ir.ULE || b == ir.NE
	case ir.UGT:
		return b == ir.UGE || b == ir.NE
	case ir.SLT:
		return b == ir.SLE || b == ir.NE
	case ir.SGT:
		return b == ir.SGE || b == ir.NE
	}
	return false
}

// A numberRange is what a value can be: bounds of it as an unsigned and as a
// signed number, which are kept apart, and numbers that it is not.
type numberRange struct {
	typ        ir.Type
	umin, umax uint64
	smin, smax int64
	not        []int64
}

// fullRange is what can be of x by its type and its zero bits.
func fullRange(x *ir.Value) numberRange {
	r := numberRange{typ: x.Type, umax: ^zeroBits(x, knownDepth), smin: -1 << 63, smax: 1<<63 - 1}
	if x.Type == ir.I32 {
		r.smin, r.smax = -1<<31, 1<<31-1
	}
	return r
}

func (r *numberRange) unsigned(n int64) uint64 {
	if r.typ == ir.I32 {
		return uint64(uint32(n))
	}
	return uint64(n)
}

// narrow takes in that the value has cond to n.
func (r *numberRange) narrow(cond ir.Cond, n int64) {
	u := r.unsigned(n)
	switch cond {
	case ir.NE:
		r.not = append(r.not, n)
	case ir.ULT:
		if u > 0 {
			r.umax = min(r.umax, u-1)
		}
	case ir.ULE:
		r.umax = min(r.umax, u)
	case ir.UGT:
		if u < 1<<64-1 {
			r.umin = max(r.umin, u+1)
		}
	case ir.UGE:
		r.umin = max(r.umin, u)
	case ir.SLT:
		if n > -1<<63 {
			r.smax = min(r.smax, n-1)
		}
	case ir.SLE:
		r.smax = min(r.smax, n)
	case ir.SGT:
		if n < 1<<63-1 {
			r.smin = max(r.smin, n+1)
		}
	case ir.SGE:
		r.smin = max(r.smin, n)
	}
}

// decide says whether each number of r has cond to n, or none.
func (r *numberRange) decide(cond ir.Cond, n int64) (isTrue, ok bool) {
	if r.umin > r.umax || r.smin > r.smax {
		return false, false // nothing comes here, which others find out
	}
	if r.always(cond, n) {
		return true, true
	}
	if r.always(cond.Not(), n) {
		return false, true
	}
	return false, false
}

func (r *numberRange) always(cond ir.Cond, n int64) bool {
	u := r.unsigned(n)
	switch cond {
	case ir.EQ:
		return r.umin == u && r.umax == u || r.smin == n && r.smax == n
	case ir.NE:
		for _, x := range r.not {
			if x == n {
				return true
			}
		}
		return u < r.umin || u > r.umax || n < r.smin || n > r.smax
	case ir.ULT:
		return r.umax < u
	case ir.ULE:
		return r.umax <= u
	case ir.UGT:
		return r.umin > u
	case ir.UGE:
		return r.umin >= u
	case ir.SLT:
		return r.smax < n
	case ir.SLE:
		return r.smax <= n
	case ir.SGT:
		return r.smin > n
	case ir.SGE:
		return r.smin >= n
	}
	return false
}
