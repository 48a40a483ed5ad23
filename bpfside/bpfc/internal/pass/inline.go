package pass

import (
	"slices"
	"strings"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// maxArgs is how many arguments a call has in registers: r1 to r5.
const maxArgs = 5

// The sizes up to which a function is inlined, in operations that make
// instructions: they are those of clang -O2 (InlineConstants in LLVM's
// InlineCost.h: a threshold of 225 where an instruction costs 5), which saves as
// much again as the call itself costs.
const (
	inlineSize = 45
	callSize   = 5
	// maxSize is how large a function may become, which is more than programs are
	// that the verifier still follows to their end. A line of functions that call
	// the next one twice gets there soon.
	maxSize = 1 << 16
)

// callOrder returns the functions of m with each after those that it calls, and
// refuses recursion, which neither the inliner nor the verifier can follow. Only
// what roots reach is in it.
func callOrder(m *ir.Module) ([]*ir.Func, error) {
	const (
		busy = iota + 1
		done
	)
	state := map[*ir.Func]int{}
	var order, path []*ir.Func
	var errs ir.Errors
	var visit func(f *ir.Func)
	visit = func(f *ir.Func) {
		state[f] = busy
		path = append(path, f)
		var callbacks []*ir.Func
		for _, b := range f.Blocks {
			for _, v := range b.Values {
				callee, ok := v.Sym.(*ir.Func)
				switch {
				case !ok:
				case v.Op == ir.OpFunc:
					callbacks = append(callbacks, callee)
				case state[callee] == busy:
					cycle := path[slices.Index(path, callee):]
					errs.Add(v.Pos, "recursion is not supported: %s", cycleText(cycle))
				case state[callee] == 0:
					visit(callee)
				}
			}
		}
		state[f] = done
		order = append(order, f)
		path = path[:len(path)-1]
		// The kernel calls a callback: that one may start the loop anew in which
		// it runs is no recursion of ours.
		saved := path
		path = nil
		for _, c := range callbacks {
			if state[c] == 0 {
				visit(c)
			}
		}
		path = saved
	}
	for _, f := range m.Funcs {
		if isEntry(f) && state[f] == 0 {
			visit(f)
		}
	}
	return order, errs.Err()
}

// cycleText names the functions of a cycle of calls.
func cycleText(cycle []*ir.Func) string {
	if len(cycle) == 1 {
		return cycle[0].Name + " calls itself"
	}
	var s strings.Builder
	for _, f := range cycle {
		s.WriteString(f.Name + " calls ")
	}
	return s.String() + cycle[0].Name
}

// isEntry says whether f is there for others than this unit's functions.
func isEntry(f *ir.Func) bool {
	return len(f.Blocks) > 0 && (f.Section != "" || f.Linkage != ir.Static || f.Used)
}

// inliner decides which calls to inline.
type inliner struct {
	calls map[*ir.Func]int // that are left of each function
	sizes map[*ir.Func]int // of those that have been asked for
	errs  ir.Errors
}

// newInliner counts the calls in funcs.
func newInliner(funcs []*ir.Func) *inliner {
	n := &inliner{calls: map[*ir.Func]int{}, sizes: map[*ir.Func]int{}}
	for _, f := range funcs {
		n.count(f, 1)
	}
	return n
}

// count adds by for each call in f.
func (n *inliner) count(f *ir.Func, by int) {
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			if v.Op == ir.OpCall {
				n.calls[v.Sym.(*ir.Func)] += by
			}
		}
	}
}

// wants says whether to inline the call v of a function that is complete and has
// had its own calls inlined.
func (n *inliner) wants(v *ir.Value) bool {
	f := v.Sym.(*ir.Func)
	switch {
	case len(f.Blocks) == 0 || f.Linkage == ir.Weak || f.Section != "":
		// A weak function may be another one when objects are linked; one with a
		// section is a program, which is verified by itself.
		return false
	case f.Inline == ir.InlineAlways || len(f.Params()) > maxArgs && f.Inline != ir.InlineNever:
		return true
	case f.Inline == ir.InlineNever:
		return false
	case f.Linkage == ir.Static && !f.AddrTaken && n.calls[f] == 1:
		return true
	}
	return n.size(f) <= inlineSize+callSize+len(v.Args)+constantBonus(v)
}

// size returns what sizeOf says of f, which does not change any more once others
// ask for it.
func (n *inliner) size(f *ir.Func) int {
	size, ok := n.sizes[f]
	if !ok {
		size = sizeOf(f)
		n.sizes[f] = size
	}
	return size
}

// sizeOf estimates how many instructions f takes.
func sizeOf(f *ir.Func) int {
	n := 0
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			n += opSize(v)
		}
		switch b.Term.Kind {
		case ir.TermIf, ir.TermRet:
			n++
		case ir.TermSwitch:
			n += len(b.Term.Cases)
		}
	}
	return n
}

// opSize estimates how many instructions v takes.
func opSize(v *ir.Value) int {
	switch v.Op {
	case ir.OpConst, ir.OpUndef, ir.OpAlloca, ir.OpLife, ir.OpZext, ir.OpTrunc,
		ir.OpPtrToInt, ir.OpIntToPtr, ir.OpBarrier:
		return 0 // mostly free, or part of what uses it
	case ir.OpCopy, ir.OpMove:
		return 2 * (v.Size + 7) / 8
	case ir.OpSet:
		return (v.Size + 7) / 8
	case ir.OpCall, ir.OpHelper:
		return 1 + len(v.Args)
	}
	return 1
}

// constantBonus is by how much a function may be larger that v calls with
// constants, which make it smaller once they are in it.
func constantBonus(v *ir.Value) int {
	n := 0
	for _, a := range v.Args {
		if a.Op == ir.OpConst {
			n += callSize
		}
	}
	return n
}

// inline puts the functions that f calls in the place of the calls which n wants
// inlined, and says whether there was one. The callees have been through it
// before, so that what it puts there has no call left that it would inline.
func (n *inliner) inline(f *ir.Func) bool {
	changed := false
	var allocas []*ir.Value
	size := sizeOf(f)
	r := ir.NewReplacement(f)
	for i := 0; i < len(f.Blocks) && len(n.errs) == 0; i++ {
		b := f.Blocks[i]
		for k, v := range b.Values {
			if v.Op != ir.OpCall || !n.wants(v) {
				continue
			}
			if b == f.Entry() {
				// None may be left behind the call, which is in another block
				// soon. The call comes later again.
				if allocasFirst(b) {
					i--
					break
				}
			}
			callee := v.Sym.(*ir.Func)
			if size += n.size(callee); size > maxSize {
				n.errs.Add(v.Pos, "%s becomes too large with what is inlined in it: %s is one too many", f.Name, callee.Name)
				break
			}
			n.calls[callee]--
			n.count(callee, 1)
			rest := splitAt(b, k)
			body := embed(f, callee, v, b, rest, r)
			allocas = append(allocas, body.allocas...)
			// In the order of the source: b, the callee's, the rest of b, which
			// has the calls that are next.
			f.Blocks = slices.Insert(f.Blocks, i+1, append(body.blocks, rest)...)
			i += len(body.blocks)
			changed = true
			break
		}
	}
	if !changed {
		return false
	}
	r.Apply(f)
	entry := f.Entry()
	for _, a := range allocas {
		a.Block = entry
	}
	entry.Values = append(allocas, entry.Values...)
	delete(n.sizes, f)
	return true
}

// allocasFirst moves the allocas of b before all else, and says whether it did.
func allocasFirst(b *ir.Block) bool {
	isAlloca := func(v *ir.Value) bool { return v.Op == ir.OpAlloca }
	first := slices.IndexFunc(b.Values, func(v *ir.Value) bool { return !isAlloca(v) })
	if first < 0 || !slices.ContainsFunc(b.Values[first:], isAlloca) {
		return false
	}
	slices.SortStableFunc(b.Values, func(v, w *ir.Value) int {
		switch {
		case isAlloca(v) && !isAlloca(w):
			return -1
		case !isAlloca(v) && isAlloca(w):
			return 1
		}
		return 0
	})
	return true
}

// splitAt moves what follows value k of b, which is a call, to a new block and
// removes the call. b has no end then, and the new block is in no list.
func splitAt(b *ir.Block, k int) *ir.Block {
	f := b.Func
	rest := f.NewBlock()
	f.Blocks = f.Blocks[:len(f.Blocks)-1]
	for _, v := range b.Values[k+1:] {
		rest.Append(v)
	}
	rest.Term, b.Term = b.Term, ir.Term{}
	b.Values = b.Values[:k:k]
	return rest
}

// A body is the copy of a function in another.
type body struct {
	blocks  []*ir.Block
	allocas []*ir.Value
}

// embed copies callee into f, for the call that was at the end of b: b jumps to
// the copy, which jumps to rest where it returns. The result takes the place of
// the call in r. Values keep the places in the source that they have in callee.
func embed(f, callee *ir.Func, call *ir.Value, b, rest *ir.Block, r *ir.Replacement) body {
	c := newCopier(f)
	var out body
	for _, from := range callee.Blocks {
		to := f.NewBlock()
		f.Blocks = f.Blocks[:len(f.Blocks)-1]
		to.Unroll = from.Unroll
		c.blocks[from] = to
		out.blocks = append(out.blocks, to)
	}
	for i, p := range callee.Params() {
		c.values[p] = call.Args[i]
	}
	if callee.Result != ir.Void {
		r.Set(call, rest.NewParam(callee.Result, ""))
	}
	// Allocas live in the entry of f. Each time that the call would run, their
	// scope begins anew.
	for _, v := range callee.Entry().Values {
		if v.Op == ir.OpAlloca {
			alloca := c.value(v)
			out.allocas = append(out.allocas, alloca)
			life := f.NewValue(ir.OpLife, ir.Void, alloca)
			life.Pos = call.Pos
			c.blocks[callee.Entry()].Append(life)
		}
	}
	for _, from := range callee.Blocks {
		to := c.blocks[from]
		if from != callee.Entry() {
			c.params(from, to)
		}
		for _, v := range from.Values {
			if v.Op != ir.OpAlloca {
				to.Append(c.value(v))
			}
		}
	}
	for _, from := range callee.Blocks {
		to := c.blocks[from]
		c.operands(to)
		to.Term = c.term(&from.Term)
		if to.Term.Kind == ir.TermRet {
			jump(&to.Term, ir.Edge{To: rest, Args: to.Term.Args})
		}
	}
	b.Term = ir.Term{Kind: ir.TermJump, Succs: []ir.Edge{{To: c.blocks[callee.Entry()]}}, Pos: call.Pos}
	return out
}
