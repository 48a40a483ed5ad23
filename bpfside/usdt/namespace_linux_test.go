package usdt_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// A process in mount and PID namespaces of its own, its executable on an overlay
// file system under a name that means nothing outside, as in a container.
func TestDiscoverInOtherNamespaces(t *testing.T) {
	testutils.Root(t)
	if fs, err := os.ReadFile("/proc/filesystems"); err != nil || !bytes.Contains(fs, []byte("\toverlay\n")) {
		testutils.SkipOrFail(t, "the kernel has no overlay file system")
	}
	for _, m := range []usdt.Method{usdt.UprobeMulti, usdt.PerfEvent} {
		t.Run(m.String(), func(t *testing.T) {
			needMethod(t, m)
			prog := buildSDT(t, "-DSEMAPHORES", "-static")
			dir := t.TempDir()
			script := fmt.Sprintf(`
				set -e
				mount --make-rprivate /
				mount -t tmpfs none %[1]s
				mkdir %[1]s/lower %[1]s/upper %[1]s/work %[1]s/merged
				cp %[2]s %[1]s/lower/app
				mount -t overlay overlay -o lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work %[1]s/merged
				exec %[3]s %[1]s/merged /app`, dir, prog, testutils.Oracle(t, "chroot"))
			cmd := exec.Command(testutils.Oracle(t, "sh"), "-c", script)
			cmd.SysProcAttr = &syscall.SysProcAttr{
				Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
			}
			c := testutils.StartCmd(t, cmd)
			if line := c.ReadLine(); line != "ready" {
				t.Fatalf("child says %q", line)
			}
			res, err := usdt.ProcessTargets(c.PID, "app:values")
			if err != nil {
				t.Fatal(err, res.Problems)
			}
			target := res.Targets[0]
			if filepath.Base(target.Path) != "app" {
				t.Errorf("path %q", target.Path)
			}
			r := newRig(t, target, m, 1)
			l := r.attach(target, &usdt.Options{Method: m})
			if sem := fireSDT(t, c, 42); sem != "1" {
				t.Errorf("semaphore %s, want 1", sem)
			}
			if h := r.hits(1)[0]; h.values[0] != 42 || h.text != "42" {
				t.Errorf("hit %+v, want 42", h)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
