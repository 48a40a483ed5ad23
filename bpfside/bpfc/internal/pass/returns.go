package pass

import "github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"

// returns gives each constant that f returns in several places a block of its
// own, to which they all go: a branch can go there, where setting the register
// first would take a block for each of them, and what runs into it saves the
// exit. Where f returns something else, it stays.
func returns(f *ir.Func) bool {
	places := map[int64]int{}
	shared := map[int64]*ir.Block{}
	for _, b := range f.Blocks {
		if c, ok := returned(b, nil); ok {
			shared[c] = b
		}
		if c, ok := returnedAtEnd(b); ok {
			places[c]++
		}
		for _, e := range b.Term.Succs {
			if c, ok := returned(e.To, e.Args); ok && len(e.Args) > 0 {
				places[c]++
			}
		}
	}
	// to returns the block that returns c as v does.
	to := func(c int64, ret *ir.Term) *ir.Block {
		if shared[c] == nil {
			b := f.NewBlock()
			v := f.NewValue(ir.OpConst, f.Result)
			v.Imm, v.Pos = c, ret.Pos
			b.Append(v)
			b.Term = ir.Term{Kind: ir.TermRet, Args: []*ir.Value{v}, Pos: ret.Pos}
			shared[c] = b
		}
		return shared[c]
	}
	changed := false
	for _, b := range f.Blocks { // those that to adds are right as they are
		for i := range b.Term.Succs {
			e := &b.Term.Succs[i]
			if c, ok := returned(e.To, e.Args); ok && e.To != shared[c] {
				*e = ir.Edge{To: to(c, &e.To.Term)}
				changed = true
			}
		}
		if c, ok := returnedAtEnd(b); ok && b != shared[c] && places[c] > 1 {
			jump(&b.Term, ir.Edge{To: to(c, &b.Term)})
			changed = true
		}
	}
	if changed {
		cfg(f)
	}
	return changed
}

// returnedAtEnd says whether b ends by returning a constant, and which.
func returnedAtEnd(b *ir.Block) (int64, bool) {
	if b.Term.Kind != ir.TermRet || len(b.Term.Args) != 1 {
		return 0, false
	}
	return constOf(b.Term.Args[0])
}

// returned says whether b does nothing but return a constant when it is entered
// with args, and which.
func returned(b *ir.Block, args []*ir.Value) (int64, bool) {
	if b.Term.Kind != ir.TermRet || len(b.Term.Args) != 1 {
		return 0, false
	}
	v := b.Term.Args[0]
	switch {
	case len(b.Values) == 0:
		for i, p := range b.Params {
			if p == v && i < len(args) {
				return constOf(args[i])
			}
		}
		return constOf(v)
	case len(b.Values) == 1 && b.Values[0] == v && len(b.Params) == 0:
		return constOf(v)
	}
	return 0, false
}
