package emit

import (
	"syscall"
	"testing"

	"github.com/nopfire/nopfire/elfgen"
)

func TestFormOf(t *testing.T) {
	for _, tt := range []struct {
		errno syscall.Errno
		form  elfgen.NopForm
	}{
		{syscall.ENXIO, elfgen.FormNop5},
		{syscall.EPROTO, elfgen.FormNop10},
		{syscall.ENOSYS, elfgen.FormNop1},
		{syscall.EPERM, elfgen.FormNop1}, // a seccomp filter's answer
		{0, elfgen.FormNop1},
	} {
		if got := formOf(tt.errno); got != tt.form {
			t.Errorf("formOf(%v) = %v, want %v", tt.errno, got, tt.form)
		}
	}
}

func TestMayAskUprobe(t *testing.T) {
	for _, tt := range []struct {
		filtered     bool
		major, minor int
		may          bool
	}{
		{false, 5, 10, true},
		{true, 5, 10, false},
		{true, 6, 17, false},
		{true, 6, 18, true},
		{true, 7, 0, true},
		{true, 0, 0, false}, // unknown
	} {
		got := mayAskUprobe(func() bool { return tt.filtered }, func() (int, int) { return tt.major, tt.minor })
		if got != tt.may {
			t.Errorf("filtered %v, kernel %d.%d: may ask %v, want %v", tt.filtered, tt.major, tt.minor, got, tt.may)
		}
	}
}
