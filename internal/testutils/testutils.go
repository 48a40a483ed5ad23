// Package testutils holds what the tests of several packages share: skips that
// are earned and visible, oracles, child processes, and a TestMain that fails on
// leaked file descriptors.
//
// With NOPFIRE_CI=1 in the environment a missing oracle or privilege is a
// failure: the machine of the CI promises to have them all.
package testutils

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/nopfire/nopfire/internal/feature"
)

// InCI reports whether NOPFIRE_CI=1 is set: then nothing may be skipped for want
// of a tool or a privilege.
func InCI() bool { return os.Getenv("NOPFIRE_CI") == "1" }

// SkipOrFail ends the test for want of something: as failed in the CI, else as
// skipped.
func SkipOrFail(t testing.TB, format string, args ...any) {
	t.Helper()
	if InCI() {
		t.Fatalf("NOPFIRE_CI=1, and "+format, args...)
	}
	t.Skipf("skipped: "+format, args...)
}

// Oracle returns the path of the first of the named tools that is installed. If
// there is none the test is skipped, or fails in the CI.
func Oracle(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	SkipOrFail(t, "no %s in PATH", strings.Join(names, " or "))
	return ""
}

// Root skips the test (fails it in the CI) if it does not run as root.
func Root(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		SkipOrFail(t, "not root (uid %d)", os.Geteuid())
	}
}

// NeedBPF skips the test (fails it in the CI) if this process cannot load a
// uprobe program. It tries, and gives the kernel's answer as the reason.
func NeedBPF(t testing.TB) {
	t.Helper()
	Need(t, feature.BPF)
}

// Need skips the test (fails it in the CI) if the features are not all there,
// with the kernel's answer as the reason.
func Need(t testing.TB, fs ...*feature.Feature) {
	t.Helper()
	for _, f := range fs {
		if err := f.Check(); err != nil {
			SkipOrFail(t, "no %s: %v", f.Name, err)
		}
	}
}
