package kconfig

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"github.com/nopfire/nopfire/internal/testutils"
)

func TestMain(m *testing.M) { testutils.Main(m) }

// What the running kernel says of itself.
func TestRunning(t *testing.T) {
	version, err := Running.Version()
	if err != nil || version < 5<<16 {
		t.Errorf("version %#x, %v: BPF for tracing needs 5.15", version, err)
	}
	// Since 4.17 and 4.19.
	if runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64" {
		if ok, err := Running.SyscallWrapper(); err != nil || !ok {
			t.Errorf("system call wrappers: %t, %v", ok, err)
		}
	}
	options, err := Running.Options(map[string]bool{"CONFIG_BPF_SYSCALL": true, "CONFIG_THAT_NO_KERNEL_HAS": true})
	switch {
	case errors.Is(err, os.ErrNotExist):
		t.Logf("the kernel does not tell its configuration: %v", err)
	case err != nil:
		t.Error(err)
	case options["CONFIG_BPF_SYSCALL"] != "y" || len(options) != 1:
		t.Errorf("options %v", options)
	}
	testutils.NeedBPF(t)
	if ok, err := Running.Cookies(); err != nil || !ok {
		t.Errorf("Cookies: %t, %v", ok, err)
	}
}
