//go:build !linux || !(amd64 || arm64)

package feature

// OptimizedNop returns the length in bytes of the nop that this kernel turns
// into a call when a uprobe sits on it: none, which is 0, on this platform.
func OptimizedNop() (int, error) { return 0, nil }

// SimulatesNop reports whether this kernel steps over a nop of arm64 by itself.
func SimulatesNop() bool { return false }
