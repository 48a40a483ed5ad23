// Package pass makes the functions of a module smaller and faster, and gives
// them the shape in which the verifier follows them best. It knows what C allows
// and what eBPF likes, but neither C nor instructions: it reads and writes
// [ir.Module] alone.
//
// A pass is a function func(*ir.Func) bool, in a file of its own, that says
// whether it changed anything. [Run] is the order in which they go.
//
// What the verifier has to follow comes first. Passes that a compiler for other
// machines has, but that hide from the verifier what a program has checked, are
// missing on purpose: none merges two comparisons into arithmetic, moves an
// access or pointer arithmetic above a check, or makes one value of a pointer
// and an integer.
package pass

import (
	"fmt"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// Options of [Run]. The zero value is the usual choice.
type Options struct {
	// After, if not nil, is called with the name of each pass that has changed a
	// function. An error ends Run: tests check the function there.
	After func(pass string, f *ir.Func) error
}

// rounds bounds how often the passes of a function are repeated. Most functions
// need two; the rest gain less than they cost.
const rounds = 4

// Run optimizes m. Afterwards it has the functions that programs need, the
// globals that those name, and no [ir.TermSwitch]. An error is an [ir.Errors]
// about the source, such as recursion.
func Run(m *ir.Module, o Options) error {
	r := &runner{o: o}
	// Calls in code that constants rule out count for nothing, so that the
	// first clean-up comes before the decisions of the inliner.
	for _, f := range m.Funcs {
		r.run(f, "cfg", cfg)
		r.run(f, "promote", promote)
		r.run(f, "combine", combine)
		r.run(f, "cfg", cfg)
		r.run(f, "dce", dce)
	}
	if r.err != nil {
		return r.err
	}
	order, err := callOrder(m)
	if err != nil {
		return err
	}
	in := newInliner(order)
	for _, f := range order {
		r.run(f, "inline", in.inline)
		if err := in.errs.Err(); err != nil {
			return err
		}
		r.optimize(f)
		if r.run(f, "unroll", unroll) {
			r.optimize(f)
		}
	}
	for _, f := range order {
		r.run(f, "switch", switches)
		r.finish(f)
	}
	if r.err != nil {
		return r.err
	}
	removeUnused(m)
	return tooManyParams(m)
}

// runner runs passes until one fails.
type runner struct {
	o   Options
	err error
}

func (r *runner) run(f *ir.Func, name string, pass func(*ir.Func) bool) bool {
	if r.err != nil || len(f.Blocks) == 0 || !pass(f) {
		return false
	}
	if r.o.After != nil {
		if err := r.o.After(name, f); err != nil {
			r.err = fmt.Errorf("after %s of %s: %w", name, f.Name, err)
		}
	}
	return true
}

// optimize runs what makes a function smaller until it stays as it is.
func (r *runner) optimize(f *ir.Func) {
	for range rounds {
		changed := r.run(f, "cfg", cfg)
		changed = r.run(f, "promote", promote) || changed
		changed = r.run(f, "walkers", walkers) || changed
		changed = r.run(f, "memops", memops) || changed
		changed = r.run(f, "combine", combine) || changed
		changed = r.run(f, "gvn", gvn) || changed
		changed = r.run(f, "loads", loads) || changed
		changed = r.run(f, "facts", facts) || changed
		changed = r.run(f, "loop variables", loopVars) || changed
		changed = r.run(f, "signs", signs) || changed
		changed = r.run(f, "combine", combine) || changed
		changed = r.run(f, "thread", thread) || changed
		changed = r.run(f, "dead stores", deadStores) || changed
		changed = r.run(f, "cfg", cfg) || changed
		changed = r.run(f, "dce", dce) || changed
		if !changed {
			break
		}
	}
	f.Renumber()
}

// finish runs what gives a function its last shape.
func (r *runner) finish(f *ir.Func) {
	r.run(f, "combine", combine)
	r.run(f, "dce", dce)
	r.run(f, "cfg", cfg)
	r.run(f, "returns", returns)
	f.Renumber()
}
