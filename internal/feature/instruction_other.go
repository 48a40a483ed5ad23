//go:build !linux

package feature

// Instruction asks the kernel whether it takes a uprobe on an instruction: none
// here has uprobes.
func Instruction([]byte) error { return ErrNotSupported }
