package sys

import "syscall"

// UprobeErrno calls uprobe(2) outside of the trampoline that is its only
// lawful caller. The error tells which nop the kernel optimizes
// (arch/x86/kernel/uprobes.c): ENXIO the 5-byte one, EPROTO the 10-byte one,
// ENOSYS none.
//
// A seccomp filter that has never heard of the number may answer with the
// death of the process: see MaySeccompKill.
func UprobeErrno() syscall.Errno {
	_, _, e := syscall.Syscall(nrUprobe, 0, 0, 0)
	return e
}
