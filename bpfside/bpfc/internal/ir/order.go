package ir

import "slices"

// Reachable returns the blocks that can be reached from the entry, in reverse
// post-order: each before those that it dominates.
func (f *Func) Reachable() []*Block {
	if len(f.Blocks) == 0 {
		return nil
	}
	// Iterative, for functions may be deep: a frame is a block and the number of
	// its successors that have been visited.
	type frame struct {
		b    *Block
		next int
	}
	seen := make([]bool, f.NumIDs())
	order := make([]*Block, 0, len(f.Blocks))
	stack := []frame{{b: f.Entry()}}
	seen[f.Entry().ID] = true
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.next < len(top.b.Term.Succs) {
			// From the last to the first, so that the order has the first
			// successor first, as the source has.
			to := top.b.Term.Succs[len(top.b.Term.Succs)-1-top.next].To
			top.next++
			if !seen[to.ID] {
				seen[to.ID] = true
				stack = append(stack, frame{b: to})
			}
			continue
		}
		order = append(order, top.b)
		stack = stack[:len(stack)-1]
	}
	slices.Reverse(order)
	return order
}

// RemoveUnreachable drops the blocks that cannot be reached from the entry, and
// brings the others into reverse post-order. It says whether it dropped one.
func (f *Func) RemoveUnreachable() bool {
	order := f.Reachable()
	dropped := len(order) != len(f.Blocks)
	f.Blocks = order
	return dropped
}

// A Pred is an edge seen from the block that it enters: edge Index of From.
type Pred struct {
	From  *Block
	Index int
}

// Edge returns the edge.
func (p Pred) Edge() *Edge { return &p.From.Term.Succs[p.Index] }

// Preds returns the edges that enter each block, by the block's ID. A block that
// another reaches in two ways has two.
func (f *Func) Preds() [][]Pred {
	preds := make([][]Pred, f.NumIDs())
	for _, b := range f.Blocks {
		for i := range b.Term.Succs {
			to := b.Term.Succs[i].To
			preds[to.ID] = append(preds[to.ID], Pred{b, i})
		}
	}
	return preds
}

// SplitEdge puts a block between the edge p and the block that it enters, and
// returns it. It stands behind the last block of the function.
func (f *Func) SplitEdge(p Pred) *Block {
	e := p.Edge()
	b := f.NewBlock()
	b.Term = Term{Kind: TermJump, Succs: []Edge{*e}, Pos: p.From.Term.Pos}
	*e = Edge{To: b}
	return b
}

// RemoveParam removes parameter i of b, and what the edges in preds, which are
// all that enter b, bring for it. Nothing may use it any more.
func (b *Block) RemoveParam(i int, preds []Pred) {
	b.Params = slices.Delete(b.Params, i, i+1)
	for _, p := range preds {
		e := p.Edge()
		e.Args = slices.Delete(slices.Clone(e.Args), i, i+1)
	}
}

// Operands calls do with the place of each operand that b has: of its values,
// its end and its edges.
func (b *Block) Operands(do func(**Value)) {
	for _, v := range b.Values {
		for i := range v.Args {
			do(&v.Args[i])
		}
	}
	for i := range b.Term.Args {
		do(&b.Term.Args[i])
	}
	for _, e := range b.Term.Succs {
		for i := range e.Args {
			do(&e.Args[i])
		}
	}
}

// Uses returns how many operands each value is, by the value's ID.
func (f *Func) Uses() []int {
	uses := make([]int, f.NumIDs())
	for _, b := range f.Blocks {
		b.Operands(func(v **Value) { uses[(*v).ID]++ })
	}
	return uses
}

// A Replacement says what takes the place of values. Passes collect in it what
// they find on a walk, and apply it once at the end.
type Replacement struct {
	to []*Value // by ID
}

// NewReplacement returns an empty one, for values of f.
func NewReplacement(f *Func) *Replacement {
	return &Replacement{to: make([]*Value, f.NumIDs())}
}

// Set says that w takes the place of v.
func (r *Replacement) Set(v, w *Value) {
	for v.ID >= len(r.to) {
		r.to = append(r.to, nil)
	}
	r.to[v.ID] = w
}

// Get returns what stands for v in the end: v itself if nothing takes its place.
func (r *Replacement) Get(v *Value) *Value {
	w := v
	for w.ID < len(r.to) && r.to[w.ID] != nil {
		w = r.to[w.ID]
	}
	// Shorten the way for the next who asks.
	for v != w {
		next := r.to[v.ID]
		r.to[v.ID] = w
		v = next
	}
	return w
}

// Apply replaces the operands of f.
func (r *Replacement) Apply(f *Func) {
	for _, b := range f.Blocks {
		b.Operands(func(v **Value) { *v = r.Get(*v) })
	}
}

// ReplaceAll puts w in the place of v in all of f. It walks the whole function:
// for more than a few values use a [Replacement].
func (f *Func) ReplaceAll(v, w *Value) {
	r := NewReplacement(f)
	r.Set(v, w)
	r.Apply(f)
}

// InsertBefore puts v into b before value i of b.
func (b *Block) InsertBefore(i int, v *Value) *Value {
	v.Block = b
	b.Values = slices.Insert(b.Values, i, v)
	return v
}

// Renumber gives blocks and values the numbers from 1 on in the order in which
// they stand, those of values without a result last. It makes what indexes by
// number smaller, and the text of a function depend on nothing but itself.
func (f *Func) Renumber() {
	id := 0
	for i, b := range f.Blocks {
		b.ID = i + 1
		for _, p := range b.Params {
			id++
			p.ID = id
		}
		for _, v := range b.Values {
			if v.Type != Void {
				id++
				v.ID = id
			}
		}
	}
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			if v.Type == Void {
				id++
				v.ID = id
			}
		}
	}
	f.lastID = max(id, len(f.Blocks))
}
