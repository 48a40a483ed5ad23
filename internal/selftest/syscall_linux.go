package selftest

import "syscall"

// unusedCall is a system call that Go programs do not make by themselves.
const unusedCall = syscall.SYS_GETPGID

func unusedSyscall() { syscall.Syscall(unusedCall, 0, 0, 0) }
