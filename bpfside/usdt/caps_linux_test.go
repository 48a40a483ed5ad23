package usdt_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/feature"
	"github.com/nopfire/nopfire/internal/testutils"
)

// asUser runs tests of this package as an ordinary user with some capabilities,
// and returns what they print.
func asUser(t *testing.T, run string, caps ...feature.Capability) string {
	t.Helper()
	testutils.Root(t)
	if os.Getenv("NOPFIRE_TEST_AS_USER") != "" {
		t.Skip("skipped: is the child")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Go's test directories are not for other users.
	dir, err := os.MkdirTemp("", "nopfire-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "self")
	copyFile(t, self, bin)

	var ambient []uintptr
	for _, c := range caps {
		ambient = append(ambient, uintptr(c))
	}
	cmd := exec.Command(bin, "-test.v", "-test.run="+run)
	cmd.Env = append(os.Environ(), "NOPFIRE_TEST_AS_USER=1", "NOPFIRE_CI=", "HOME=/", "TMPDIR=/tmp")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential:  &syscall.Credential{Uid: 65534, Gid: 65534},
		AmbientCaps: ambient,
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// CAP_BPF and CAP_PERFMON alone are enough to trace processes of one's own by
// uprobe_multi: by pid, by file, and what has no name; a perf event for a uprobe
// takes CAP_SYS_ADMIN.
func TestCapabilitiesThatAreEnough(t *testing.T) {
	needMethod(t, usdt.UprobeMulti)
	for _, tc := range []struct {
		run  string
		caps []feature.Capability
		want string
	}{
		{"TestAttachToCProgram/uprobe_multi/pid_with_semaphore", feature.TracingCaps, "--- PASS"},
		{"TestAttachToCProgram/uprobe_multi/file,_all_processes", feature.TracingCaps, "--- PASS"},
		{"TestDiscoverMemfd", feature.TracingCaps, "--- PASS"},
		{"TestDiscoverDeletedExecutable", append([]feature.Capability{feature.CapCheckpointRestore}, feature.TracingCaps...), "--- PASS"},
		{"TestAttachToCProgram/perf_event/pid_with_semaphore", []feature.Capability{feature.CapSysAdmin}, "--- PASS"},
		{"TestAttachToCProgram/perf_event/pid_with_semaphore", feature.TracingCaps, "missing CAP_SYS_ADMIN (run as root"},
	} {
		t.Run(tc.run, func(t *testing.T) {
			out := asUser(t, "^"+strings.ReplaceAll(tc.run, "/", "$/^")+"$", tc.caps...)
			want := tc.want
			if want == "--- PASS" {
				want += ": " + tc.run + " "
			}
			if !strings.Contains(out, want) {
				t.Errorf("with %v: output lacks %q:\n%s", tc.caps, want, out)
			}
		})
	}
}

// With one of the two, the other is named.
func TestMissingCapabilityIsNamed(t *testing.T) {
	for _, tc := range []struct {
		have feature.Capability
		want string
	}{
		{feature.CapBPF, "missing CAP_PERFMON (run as root"},
		{feature.CapPerfmon, "missing CAP_BPF (run as root"},
	} {
		t.Run(tc.have.String(), func(t *testing.T) {
			out := asUser(t, "^TestPrintDefaultMethod$", tc.have)
			if !strings.Contains(out, tc.want) {
				t.Errorf("output lacks %q:\n%s", tc.want, out)
			}
		})
	}
}

// TestPrintDefaultMethod is for TestMissingCapabilityIsNamed.
func TestPrintDefaultMethod(t *testing.T) {
	m, err := usdt.DefaultMethod()
	t.Logf("method %s, error: %v", m, err)
}
