package pass

import "github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"

// returns gives each constant that f returns a block of its own, which all that
// return it share: a branch can go there, where setting the register first would
// take a block for each of them. Where f returns something else, it stays.
func returns(f *ir.Func) bool {
	changed := false
	byConst := map[int64]*ir.Block{}
	for _, b := range f.Blocks {
		if c, ok := returned(b, nil); ok && byConst[c] == nil {
			byConst[c] = b
		}
	}
	// Blocks are added to f meanwhile; they are right as they are.
	for _, b := range f.Blocks {
		for i := range b.Term.Succs {
			e := &b.Term.Succs[i]
			c, ok := returned(e.To, e.Args)
			if !ok {
				continue
			}
			to := byConst[c]
			if to == nil {
				to = f.NewBlock()
				v := f.NewValue(ir.OpConst, f.Result)
				v.Imm, v.Pos = c, e.To.Term.Pos
				to.Append(v)
				to.Term = ir.Term{Kind: ir.TermRet, Args: []*ir.Value{v}, Pos: e.To.Term.Pos}
				byConst[c] = to
			}
			if e.To != to {
				*e = ir.Edge{To: to}
				changed = true
			}
		}
	}
	if changed {
		cfg(f)
	}
	return changed
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
	case len(b.Values) == 1 && b.Values[0] == v && len(b.Params) == 0:
		return constOf(v)
	}
	return 0, false
}
