package feature

import (
	"errors"
	"syscall"

	"github.com/nopfire/nopfire/internal/sys"
)

// OptimizedNop returns the length in bytes of the nop that this kernel turns
// into a call when a uprobe sits on it: 5, 10, or 0 if it does so with none. The
// error says that it could not be found out.
func OptimizedNop() (int, error) {
	if sys.MaySeccompKill() {
		// Kernels that know the call do not ask the filter for it
		// (__seccomp_filter, kernel/seccomp.c, since 6.18).
		if major, minor := sys.KernelVersion(); major < 6 || major == 6 && minor < 18 {
			return 0, errors.New("a seccomp filter may kill on the system call that tells")
		}
	}
	switch e := sys.UprobeErrno(); e {
	case syscall.ENXIO:
		return 5, nil
	case syscall.EPROTO:
		return 10, nil
	case syscall.ENOSYS:
		return 0, nil
	default:
		return 0, e
	}
}

// SimulatesNop reports whether this kernel steps over a nop of arm64 by itself.
func SimulatesNop() bool { return false }
