package pass

import "github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"

// promote makes values of the objects of the frame, as far as it can: an object
// that is pointed to from a variable is known only when that variable is a
// value, so that it takes turns.
func promote(f *ir.Func) bool {
	changed := false
	for range 8 { // what points to what points to what
		again := sroa(f)
		again = mem2reg(f) || again
		if !again {
			break
		}
		changed = true
	}
	return changed
}
