package feature

import "github.com/nopfire/nopfire/internal/sys"

// OptimizedNop returns the length in bytes of the nop that this kernel turns
// into a call when a uprobe sits on it: none, which is 0, on this machine.
func OptimizedNop() (int, error) { return 0, nil }

// SimulatesNop reports whether this kernel steps over a nop by itself, which
// saves a second trap (arch/arm64/kernel/probes/decode-insn.c, since 6.13). There
// is nothing to tell it by but the version: a wrong answer is a wrong cost shown,
// no more.
func SimulatesNop() bool {
	major, minor := sys.KernelVersion()
	return major > 6 || major == 6 && minor >= 13
}
