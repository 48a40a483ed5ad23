package pass

import "github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"

// isPure says whether v does nothing but compute its result from what it reads,
// whatever memory holds.
func isPure(v *ir.Value) bool {
	switch v.Op {
	case ir.OpConst, ir.OpUndef, ir.OpGlobal, ir.OpFunc,
		ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpUDiv, ir.OpSDiv, ir.OpUMod, ir.OpSMod,
		ir.OpAnd, ir.OpOr, ir.OpXor, ir.OpShl, ir.OpLShr, ir.OpAShr,
		ir.OpCmp, ir.OpZext, ir.OpSext, ir.OpTrunc, ir.OpSextIn,
		ir.OpPtrToInt, ir.OpIntToPtr, ir.OpBswap:
		return true
	}
	return false
}

// dce removes what nobody reads: values, parameters of blocks with what the
// edges bring for them, and objects that are only written, with the writes.
func dce(f *ir.Func) bool {
	d := deadCode{live: make([]bool, f.NumIDs()), preds: f.Preds()}
	d.dropped = deadObjects(f)
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			if isRoot(v) && !d.dropped[v] {
				d.mark(v)
			}
		}
		d.markAll(b.Term.Args)
	}
	d.markAll(f.Params())
	d.propagate()
	return d.remove(f)
}

// isRoot says whether v does something beside computing its result.
func isRoot(v *ir.Value) bool {
	switch v.Op {
	case ir.OpAlloca, ir.OpLife:
		return false
	case ir.OpLoad:
		return v.Volatile
	}
	return !isPure(v)
}

type deadCode struct {
	live    []bool // by ID
	preds   [][]ir.Pred
	work    []*ir.Value
	dropped map[*ir.Value]bool // writes of objects that nobody reads
}

func (d *deadCode) mark(v *ir.Value) {
	if !d.live[v.ID] {
		d.live[v.ID] = true
		d.work = append(d.work, v)
	}
}

func (d *deadCode) markAll(vs []*ir.Value) {
	for _, v := range vs {
		d.mark(v)
	}
}

// propagate marks what the marked values read.
func (d *deadCode) propagate() {
	for len(d.work) > 0 {
		v := d.work[len(d.work)-1]
		d.work = d.work[:len(d.work)-1]
		d.markAll(v.Args)
		if v.Op != ir.OpParam {
			continue
		}
		for i, p := range v.Block.Params {
			if p == v {
				for _, e := range d.preds[v.Block.ID] {
					d.mark(e.Edge().Args[i])
				}
			}
		}
	}
}

// remove takes away what is not marked.
func (d *deadCode) remove(f *ir.Func) bool {
	changed := false
	for _, b := range f.Blocks {
		kept := b.Values[:0]
		for _, v := range b.Values {
			switch {
			case v.Op == ir.OpLife && d.live[v.Args[0].ID], d.live[v.ID]:
				kept = append(kept, v)
			default:
				changed = true
			}
		}
		clear(b.Values[len(kept):])
		b.Values = kept
		for i := len(b.Params) - 1; i >= 0; i-- {
			if !d.live[b.Params[i].ID] {
				b.RemoveParam(i, d.preds[b.ID])
				changed = true
			}
		}
	}
	return changed
}

// deadObjects returns the writes of objects of the frame whose content nobody
// can read, because their address goes nowhere but into writes.
func deadObjects(f *ir.Func) map[*ir.Value]bool {
	object := map[*ir.Value]*ir.Value{} // the alloca that an address belongs to
	read := map[*ir.Value]bool{}        // allocas
	writes := map[*ir.Value][]*ir.Value{}
	reads := func(vs []*ir.Value) {
		for _, v := range vs {
			if a := object[v]; a != nil {
				read[a] = true
			}
		}
	}
	// Addresses first: what is computed from one is of its object, if it is a
	// constant away. All others are treated as readers.
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			if v.Op == ir.OpAlloca {
				object[v] = v
			}
		}
	}
	if len(object) == 0 {
		return nil
	}
	for again := true; again; {
		again = false
		for _, b := range f.Blocks {
			for _, v := range b.Values {
				if v.Op == ir.OpAdd && object[v] == nil {
					if a := object[v.Args[0]]; a != nil {
						object[v], again = a, true
					}
				}
			}
		}
	}
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			switch v.Op {
			case ir.OpAdd, ir.OpLife:
				continue
			case ir.OpStore, ir.OpCopy, ir.OpMove, ir.OpSet:
				if a := object[v.Args[0]]; a != nil && !v.Volatile {
					writes[a] = append(writes[a], v)
					reads(v.Args[1:])
					continue
				}
			}
			reads(v.Args)
		}
		reads(b.Term.Args)
		for _, e := range b.Term.Succs {
			reads(e.Args)
		}
	}
	dead := map[*ir.Value]bool{}
	for a, ws := range writes {
		if !read[a] {
			for _, w := range ws {
				dead[w] = true
			}
		}
	}
	return dead
}
