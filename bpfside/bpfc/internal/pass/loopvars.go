package pass

import "github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"

// loopVars keeps a global variable that a loop counts in a value while the loop
// runs, and stores it where the loop ends: of what is in memory the verifier
// forgets the bound at each turn, and takes the loop for an endless one.
//
// It does so only where the program has stored the variable right before the
// loop, for no other reason than that nobody may see a store of what he did not
// write: another CPU may write the variable.
func loopVars(f *ir.Func) bool {
	f.RemoveUnreachable()
	for n := range maxLoopVars {
		if !keepOne(f) {
			return n > 0
		}
	}
	return true
}

// maxLoopVars bounds how many variables of a function are kept.
const maxLoopVars = 16

// keepOne keeps one variable of one loop. It splits edges, so that what is known
// of the loops does not hold afterwards.
func keepOne(f *ir.Func) bool {
	loops, _ := f.Loops(f.Dominators())
	if len(loops) == 0 {
		return false
	}
	k := keeping{f: f, preds: f.Preds(), memory: newMemory(f)}
	for _, l := range loops {
		k.loop, k.in = l, map[*ir.Block]bool{}
		for _, b := range l.Blocks {
			k.in[b] = true
		}
		if k.keep() {
			return true
		}
	}
	return false
}

type keeping struct {
	f      *ir.Func
	preds  [][]ir.Pred
	loop   *ir.Loop
	in     map[*ir.Block]bool
	memory *memory
}

// keep changes the loop, if it can.
func (k *keeping) keep() bool {
	entry, ok := k.way()
	if !ok || k.isOpaque() {
		return false
	}
	for i := len(entry.From.Values) - 1; i >= 0; i-- {
		v := entry.From.Values[i]
		if e, _ := effectOf(v); e == writesAny {
			return false
		}
		if v.Op != ir.OpStore || v.Volatile || v.Args[0].Op != ir.OpGlobal || v.Args[0].Sym.(*ir.Global).Extern {
			continue
		}
		at := locationOf(v)
		if k.isOverwritten(entry.From.Values[i+1:], at) || !k.isCounted(at) {
			continue
		}
		k.replace(v, entry)
		return true
	}
	return false
}

// way returns the one edge that enters the loop.
func (k *keeping) way() (entry ir.Pred, ok bool) {
	for _, p := range k.preds[k.loop.Head.ID] {
		if k.in[p.From] {
			continue
		}
		if ok {
			return entry, false
		}
		entry, ok = p, true
	}
	return entry, ok
}

// isOpaque says whether something in the loop may read or write all memory.
func (k *keeping) isOpaque() bool {
	for _, b := range k.loop.Blocks {
		for _, v := range b.Values {
			if e, _ := effectOf(v); e == writesAny {
				return true
			}
		}
	}
	return false
}

func (k *keeping) isOverwritten(behind []*ir.Value, at location) bool {
	for _, v := range behind {
		e, to := effectOf(v)
		if k.memory.writes(v, e, to, at) {
			return true
		}
	}
	return false
}

// isCounted says whether the loop stores the variable, and accesses it in no
// other way than as a whole.
func (k *keeping) isCounted(at location) bool {
	stored := false
	for _, b := range k.loop.Blocks {
		for _, v := range b.Values {
			var places []location
			switch v.Op {
			case ir.OpLoad, ir.OpStore:
				to := locationOf(v)
				if to.sameBase(at) && to.offset == at.offset && to.size == at.size && !v.Volatile {
					stored = stored || v.Op == ir.OpStore
					continue
				}
				places = []location{to}
			case ir.OpCopy, ir.OpMove:
				places = []location{bulkAt(v, v.Args[0]), bulkAt(v, v.Args[1])}
			case ir.OpSet:
				places = []location{bulkAt(v, v.Args[0])}
			}
			for _, p := range places {
				if k.memory.mayAlias(p, at) {
					return false
				}
			}
		}
	}
	return stored
}

// replace has the loop access an object of the frame instead of what the store
// writes, for [mem2reg] to make a value of. The store stays.
func (k *keeping) replace(store *ir.Value, entry ir.Pred) {
	at := locationOf(store)
	object := k.f.NewValue(ir.OpAlloca, ir.Ptr)
	object.Size, object.Align, object.Pos = store.Size, store.Size, store.Pos
	object.Name = store.Args[0].Sym.SymbolName()
	k.f.Entry().InsertBefore(0, object)

	k.store(entry.From, object, store.Args[1], store)
	for _, b := range k.loop.Blocks {
		for _, v := range b.Values {
			if v.Op == ir.OpLoad || v.Op == ir.OpStore {
				if to := locationOf(v); to.sameBase(at) && to.offset == at.offset {
					v.Args[0], v.Imm, v.Align = object, 0, v.Size
				}
			}
		}
	}
	for _, b := range k.loop.Blocks {
		for i := range b.Term.Succs {
			if k.in[b.Term.Succs[i].To] {
				continue
			}
			out := k.f.SplitEdge(ir.Pred{From: b, Index: i})
			load := k.f.NewValue(ir.OpLoad, accessType(store.Size), object)
			if store.Args[1].Type == ir.Ptr {
				load.Type = ir.Ptr
			}
			load.Size, load.Align, load.Pos = store.Size, store.Size, store.Pos
			out.Append(load)
			base := k.f.NewValue(ir.OpGlobal, ir.Ptr)
			base.Sym, base.Imm, base.Pos = store.Args[0].Sym, store.Args[0].Imm, store.Pos
			out.Append(base)
			k.store(out, base, load, store).Imm = store.Imm
		}
	}
}

// store appends a store of value to b, of the size of another one.
func (k *keeping) store(b *ir.Block, to, value, like *ir.Value) *ir.Value {
	v := k.f.NewValue(ir.OpStore, ir.Void, to, value)
	v.Size, v.Align, v.Pos = like.Size, like.Align, like.Pos
	return b.Append(v)
}
