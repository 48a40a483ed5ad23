package feature

import (
	"fmt"
	"syscall"
	"testing"
)

func TestPermissionErrorText(t *testing.T) {
	guess := fmt.Errorf("load program: %w (MEMLOCK may be too low)", syscall.EPERM)
	for _, tt := range []struct {
		err  PermissionError
		want string
	}{
		{PermissionError{Op: "load program", Missing: []Capability{CapBPF, CapPerfmon}, Err: guess},
			"load program: operation not permitted: missing CAP_BPF and CAP_PERFMON (run as root, or give the program these capabilities)"},
		{PermissionError{Op: "load program", Err: guess},
			"load program: operation not permitted, although the capabilities are there: lockdown, seccomp, a security module or a limit forbids it"},
		{PermissionError{Op: "load program", UserNamespace: true, Err: guess},
			"load program: operation not permitted: capabilities count in the initial user namespace only, and this process is in another"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("\n got %s\nwant %s", got, tt.want)
		}
	}
}
