//go:build linux && (amd64 || arm64)

package selftests

import (
	"errors"
	"fmt"
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

// An ordinary user with CAP_BPF and CAP_PERFMON loads an object and attaches all
// its programs, uprobes too; without them the missing ones are named.
func TestObjectAsUser(t *testing.T) {
	testutils.Root(t)
	testutils.NeedBPF(t)
	testutils.Need(t, feature.UprobeMulti)
	// Go's test directories are not for other users.
	dir, err := os.MkdirTemp("", "nopfire-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile("testprogs/usdtobj/target.c")
	if err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(dir, "target")
	object := testutils.BuildBPF(t, "testprogs/usdtobj/programs.bpf.c", fmt.Sprintf("-DTARGET=%q", target), "-DMORE_SECTIONS", "-DMANY_PLACES")
	for to, from := range map[string]string{"target": testutils.BuildC(t, string(src)), "object": object, "self": os.Args[0]} {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, to), data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name string
		caps []feature.Capability
		want string
	}{
		{"both", feature.TracingCaps, "attached 10 programs, 400 hits of app:same, 1 of plain_one"},
		{"without CAP_BPF", []feature.Capability{feature.CapPerfmon}, "missing CAP_BPF (run as root"},
		{"without CAP_PERFMON", []feature.Capability{feature.CapBPF}, "missing CAP_PERFMON (run as root"},
		{"without any", nil, "missing CAP_BPF and CAP_PERFMON (run as root"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd := exec.Command(filepath.Join(dir, "self"), "-test.v", "-test.run=^TestObjectAsUserChild$")
			cmd.Env = append(os.Environ(), "NOPFIRE_TEST_DIR="+dir, "NOPFIRE_CI=", "HOME=/", "TMPDIR=/tmp")
			cmd.Dir = "/"
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			for _, c := range tc.caps {
				cmd.SysProcAttr.AmbientCaps = append(cmd.SysProcAttr.AmbientCaps, uintptr(c))
			}
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), tc.want) {
				t.Errorf("%v, output lacks %q:\n%s", err, tc.want, out)
			}
		})
	}
}

// TestObjectAsUserChild is the user of TestObjectAsUser.
func TestObjectAsUserChild(t *testing.T) {
	dir := os.Getenv("NOPFIRE_TEST_DIR")
	if dir == "" {
		t.Skip("skipped: run by TestObjectAsUser")
	}
	target := testutils.Start(t, filepath.Join(dir, "target"))
	target.ReadLine()
	c, err := usdt.LoadCollection(filepath.Join(dir, "object"), nil)
	if errors.Is(err, syscall.EPERM) {
		t.Log(err)
		return
	}
	if err != nil {
		t.Fatalf("%+v", err)
	}
	defer c.Close()
	a, err := usdt.AutoAttach(c, &usdt.AutoOptions{PID: target.PID})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	target.WriteLine("")
	target.ReadLine()
	got := seenBy(t, c)
	t.Logf("attached %d programs, %d hits of app:same, %d of plain_one", len(a.Links), got[seenSame].Hits, got[seenUprobe].Hits)
}
