//go:build !linux

package selftest

const unusedCall = 0

func unusedSyscall() {}
