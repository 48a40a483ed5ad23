// Package call enters a probe site with its arguments in registers: a frame
// in Go, two short pieces of assembly, nothing else. It may not know what a
// probe, a file or a mapping is.
package call

import "unsafe"

// MaxArgs is the number of argument registers.
const MaxArgs = 12

// A Frame holds the values of the argument registers. Register i gets
// Words[i] | uintptr(Ptrs[i]); one of the two is zero.
//
// Addresses that may lie on the goroutine's stack must stand in Ptrs: the
// stack can be moved until Site runs, and only pointers are adjusted then.
type Frame struct {
	Words [MaxArgs]uint64
	Ptrs  [MaxArgs]unsafe.Pointer
}
