package sys

import (
	"syscall"
	"testing"
)

func TestUprobeErrno(t *testing.T) {
	if MaySeccompKill() {
		t.Skip("a seccomp filter is active: an unknown system call may kill")
	}
	e := UprobeErrno()
	switch e {
	case syscall.ENXIO, syscall.EPROTO:
	case syscall.ENOSYS:
		if major, minor := KernelVersion(); major > 6 || major == 6 && minor >= 18 {
			t.Errorf("kernel %d.%d has no uprobe(2), which is there since 6.18", major, minor)
		}
	default:
		t.Errorf("UprobeErrno = %v, want ENXIO, EPROTO or ENOSYS", e)
	}
}
