//go:build amd64 || arm64

package call

// Site enters the site at address entry, which returns after a few
// instructions, with the registers of f loaded. It cannot be preempted and
// does not grow the stack, so addresses of stack variables in f hold while
// the site, and a tracer in it, runs.
//
//go:noescape
func Site(entry uintptr, f *Frame)

// StackBounds returns the addresses that the stack of this goroutine spans at
// the moment.
func StackBounds() (lo, hi uintptr)
