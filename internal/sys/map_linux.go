//go:build amd64 || arm64

package sys

import (
	"syscall"
	"unsafe"
)

// Flags of Mremap: include/uapi/linux/mman.h.
const (
	mremapMaymove = 1
	mremapFixed   = 2
)

// Mmap maps n bytes at an address of the kernel's choice. Unlike
// syscall.Mmap it keeps no table of its mappings, so parts of them may be
// replaced and given back.
func Mmap(n int, prot, flags int, fd int, off int64) (unsafe.Pointer, error) {
	r, _, e := syscall.Syscall6(syscall.SYS_MMAP, 0, uintptr(n), uintptr(prot), uintptr(flags), uintptr(fd), uintptr(off))
	if e != 0 {
		return nil, e
	}
	// The address is not Go's: the garbage collector ignores it, and no
	// conversion of ours has to pass for pointer arithmetic.
	return *(*unsafe.Pointer)(unsafe.Pointer(&r)), nil
}

// Munmap gives a mapping back. Nobody may reach it any more.
func Munmap(p unsafe.Pointer, n int) error {
	_, _, e := syscall.Syscall(syscall.SYS_MUNMAP, uintptr(p), uintptr(n), 0)
	return errnoErr(e)
}

// Mprotect changes what is allowed with a mapping.
func Mprotect(p unsafe.Pointer, n int, prot int) error {
	_, _, e := syscall.Syscall(syscall.SYS_MPROTECT, uintptr(p), uintptr(n), uintptr(prot))
	return errnoErr(e)
}

// MoveOver moves the mapping of n bytes at from to the address over and
// thereby replaces what is mapped there, in one step: another thread sees the
// old bytes or the new ones, never a hole.
func MoveOver(from, over unsafe.Pointer, n int) error {
	_, _, e := syscall.Syscall6(syscall.SYS_MREMAP, uintptr(from), uintptr(n), uintptr(n),
		mremapMaymove|mremapFixed, uintptr(over), 0)
	return errnoErr(e)
}
