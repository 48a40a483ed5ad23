package pass

import "github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"

// A copied value is one that is made in several blocks since some of them were
// copied: the key is the block, the value what is made there.
type copied map[*ir.Block]*ir.Value

// repair makes each use of a value that has copies use the one that reaches it,
// with parameters for blocks that several reach. A use in a block that makes one
// of them is right already. It is what Braun et al. describe in "Simple and
// Efficient Construction of Static Single Assignment Form", for a graph that is
// complete.
//
// Parameters that turn out not to be needed are left to [params].
func repair(f *ir.Func, copies map[*ir.Value]copied) {
	// Blocks that nothing reaches could go round in a circle without an end.
	f.RemoveUnreachable()
	if len(copies) == 0 {
		return
	}
	preds := f.Preds()
	fixers := make([]*fixer, f.NumIDs())
	var args []newArg
	for v, c := range copies {
		fixers[v.ID] = &fixer{f: f, v: v, made: c, preds: preds, start: map[*ir.Block]*ir.Value{}, args: &args}
	}
	// The walk adds parameters, whose edges it must not see: it lists the uses
	// first.
	type use struct {
		at *(*ir.Value)
		in *ir.Block
	}
	var uses []use
	for _, b := range f.Blocks {
		b.Operands(func(v **ir.Value) {
			if id := (*v).ID; id < len(fixers) && fixers[id] != nil && fixers[id].made[b] == nil {
				uses = append(uses, use{v, b})
			}
		})
	}
	values := make([]*ir.Value, len(uses))
	for i, u := range uses {
		values[i] = fixers[(*u.at).ID].atStart(u.in)
	}
	for i, u := range uses {
		*u.at = values[i]
	}
	// Only now, for appending moves the arguments that the uses point to.
	for _, a := range args {
		e := a.edge.Edge()
		e.Args = append(e.Args[:len(e.Args):len(e.Args)], a.v)
	}
}

// A fixer finds what reaches a block of one value that has copies.
type fixer struct {
	f     *ir.Func
	v     *ir.Value
	made  copied
	preds [][]ir.Pred
	start map[*ir.Block]*ir.Value // what reaches the start of a block
	args  *[]newArg               // of all fixers
}

// newArg is the argument that an edge gets for a new parameter. Those of a
// parameter are complete before the next one of its block is made, so that they
// are in the order of the parameters.
type newArg struct {
	edge ir.Pred
	v    *ir.Value
}

func (x *fixer) atEnd(b *ir.Block) *ir.Value {
	if v := x.made[b]; v != nil {
		return v
	}
	return x.atStart(b)
}

func (x *fixer) atStart(b *ir.Block) *ir.Value {
	if v := x.start[b]; v != nil {
		return v
	}
	// Up a line of blocks without recursion: functions may be long.
	line := []*ir.Block{b}
	for {
		top := line[len(line)-1]
		var v *ir.Value
		switch preds := x.preds[top.ID]; len(preds) {
		case 0:
			// Nothing reaches the entry: this way never comes to the use.
			v = x.f.NewValue(ir.OpUndef, x.v.Type)
			top.InsertBefore(0, v)
		case 1:
			from := preds[0].From
			if v = x.made[from]; v == nil {
				v = x.start[from]
			}
			if v == nil {
				line = append(line, from)
				continue
			}
		default:
			v = top.NewParam(x.v.Type, x.v.Name)
			v.Pos = x.v.Pos
			x.start[top] = v // a loop finds it when it comes back
			for _, p := range preds {
				a := x.atEnd(p.From)
				*x.args = append(*x.args, newArg{p, a})
			}
		}
		for _, b := range line {
			x.start[b] = v
		}
		return v
	}
}
