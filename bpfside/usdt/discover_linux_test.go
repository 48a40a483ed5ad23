package usdt_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// copyFile copies an executable, as a package manager replaces one.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o755); err != nil {
		t.Fatal(err)
	}
}

// traced attaches to a target, fires once and expects one hit.
func traced(t *testing.T, c *testutils.Child, target *usdt.Target) {
	t.Helper()
	needMethod(t, usdt.UprobeMulti)
	r := newRig(t, target, usdt.UprobeMulti, 1)
	r.attach(target, nil)
	fireSDT(t, c, 42)
	if h := r.hits(1)[0]; h.values[0] != 42 || h.text != "42" {
		t.Errorf("hit %+v, want 42", h)
	}
}

func TestDiscoverDeletedExecutable(t *testing.T) {
	prog := buildSDT(t, "-DSEMAPHORES")
	c := testutils.Start(t, prog)
	c.ReadLine()
	if err := os.Remove(prog); err != nil {
		t.Fatal(err)
	}
	res, err := usdt.ProcessTargets(c.PID, "app:values")
	if err != nil {
		t.Fatal(err, res.Problems)
	}
	if got := res.Targets[0].Path; got != prog {
		t.Errorf("path %q, want %q", got, prog)
	}
	traced(t, c, res.Targets[0])
}

func TestDiscoverReplacedExecutable(t *testing.T) {
	prog, other := buildSDT(t, "-DSEMAPHORES"), buildSDT(t)
	c := testutils.Start(t, prog)
	c.ReadLine()
	if err := os.Remove(prog); err != nil {
		t.Fatal(err)
	}
	copyFile(t, other, prog)
	res, err := usdt.ProcessTargets(c.PID, "app:values")
	if err != nil {
		t.Fatal(err, res.Problems)
	}
	if res.Targets[0].Locations[0].RefCtrOffset == 0 {
		t.Error("the file that replaced the executable was read")
	}
	traced(t, c, res.Targets[0])
}

// startFromMemfd starts a program from a memfd that nobody keeps open.
func startFromMemfd(t *testing.T, prog string) *testutils.Child {
	t.Helper()
	data, err := os.ReadFile(prog)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.MemfdCreate("app memfd", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "memfd")
	defer f.Close()
	if _, err := io.Copy(f, bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/fd/3")
	cmd.ExtraFiles = []*os.File{f}
	c := testutils.StartCmd(t, cmd)
	c.ReadLine()
	return c
}

func TestDiscoverMemfd(t *testing.T) {
	c := startFromMemfd(t, buildSDT(t, "-DSEMAPHORES"))
	res, err := usdt.ProcessTargets(c.PID, "app:*")
	if err != nil {
		t.Fatal(err, res.Problems)
	}
	target := find(t, res, "app:values")
	if want := "/memfd:app memfd"; target.Path != want {
		t.Errorf("path %q, want %q", target.Path, want)
	}
	find(t, res, "app:other")
	traced(t, c, target)
}

// Without the capability for map_files, files are found by name and by
// descriptor. The test runs itself as an ordinary user.
func TestDiscoverWithoutMapFiles(t *testing.T) {
	if os.Getenv("NOPFIRE_TEST_CHILD") != "" {
		t.Skip("skipped: is the child")
	}
	testutils.Root(t)
	prog := buildSDT(t, "-DSEMAPHORES")
	// Go's test directories are not for other users.
	dir, err := os.MkdirTemp("", "nopfire-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copyFile(t, prog, filepath.Join(dir, "prog"))
	copyFile(t, self, filepath.Join(dir, "self"))
	for _, tc := range []struct{ name, want string }{
		{"named", "/proc/PID/root" + dir + "/prog"},
		{"memfd", "/proc/PID/fd/3"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd := exec.Command(filepath.Join(dir, "self"), "-test.run=^TestOrdinaryUserHelper$", "-test.v")
			cmd.Env = append(os.Environ(), "NOPFIRE_TEST_CHILD="+tc.name, "NOPFIRE_TEST_PROG="+filepath.Join(dir, "prog"), "NOPFIRE_CI=")
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			cmd.Dir = "/"
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if !strings.Contains(string(out), "open="+tc.want+"\n") {
				t.Errorf("output lacks open=%s:\n%s", tc.want, out)
			}
		})
	}
}

// TestOrdinaryUserHelper is what TestDiscoverWithoutMapFiles runs.
func TestOrdinaryUserHelper(t *testing.T) {
	mode, prog := os.Getenv("NOPFIRE_TEST_CHILD"), os.Getenv("NOPFIRE_TEST_PROG")
	var c *testutils.Child
	switch mode {
	case "":
		t.Skip("skipped: run by TestDiscoverWithoutMapFiles")
	case "named":
		c = testutils.Start(t, prog)
	case "memfd":
		data, err := os.ReadFile(prog)
		if err != nil {
			t.Fatal(err)
		}
		fd, err := unix.MemfdCreate("app", 0)
		if err != nil {
			t.Fatal(err)
		}
		f := os.NewFile(uintptr(fd), "memfd")
		defer f.Close()
		if _, err := f.Write(data); err != nil {
			t.Fatal(err)
		}
		// The shell keeps descriptor 3 open in the program.
		cmd := exec.Command("/bin/sh", "-c", "exec /proc/self/fd/3")
		cmd.ExtraFiles = []*os.File{f}
		c = testutils.StartCmd(t, cmd)
	}
	c.ReadLine()
	res, err := usdt.ProcessTargets(c.PID, "app:values")
	if err != nil {
		t.Fatal(err, res.Problems)
	}
	open := strings.Replace(res.Targets[0].Open, "/proc/"+strconv.Itoa(c.PID)+"/", "/proc/PID/", 1)
	os.Stdout.WriteString("open=" + open + "\n")

	_, err = usdt.DefaultMethod()
	if err == nil || !strings.Contains(err.Error(), "missing CAP_BPF and CAP_PERFMON") {
		t.Errorf("DefaultMethod without privilege: %v, want it to name the capabilities", err)
	}
}

func TestProcessTargetsErrors(t *testing.T) {
	c := testutils.Start(t, buildSDT(t))
	c.ReadLine()

	res, err := usdt.ProcessTargets(c.PID, "app:valeus", "app:*")
	if !errors.Is(err, usdt.ErrNoProbe) || !strings.Contains(err.Error(), "app:valeus: no such probe in process") || !strings.Contains(err.Error(), "did you mean app:values?") {
		t.Errorf("error %v, want no such probe with a near name", err)
	}
	if len(res.Targets) != 2 {
		t.Errorf("%d targets beside the error, want the 2 of the other pattern", len(res.Targets))
	}
	for _, pid := range []int{0, -1, 1 << 30} {
		if _, err := usdt.ProcessTargets(pid); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("process %d: %v, want an error that wraps os.ErrNotExist", pid, err)
		}
	}
	if _, err := usdt.ProcessTargets(c.PID, "app"); err == nil {
		t.Error("a pattern without a colon was taken")
	}
}

// A process that maps nothing says why.
func TestProcessTargetsWithoutFiles(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Wait() })
	// It is waited for without being reaped.
	pid := cmd.Process.Pid
	if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	for _, patterns := range [][]string{nil, {"app:*"}} {
		_, err := usdt.ProcessTargets(pid, patterns...)
		if !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), fmt.Sprintf("process %d: has ended, and its parent has not waited for it (a zombie): ", pid)) {
			t.Errorf("zombie: error %v", err)
		}
	}
	const kthreadd = 2
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", kthreadd))
	if err != nil || string(comm) != "kthreadd\n" {
		t.Skipf("skipped: process %d is not the parent of the kernel's threads, but %q, %v", kthreadd, comm, err)
	}
	res, err := usdt.ProcessTargets(kthreadd)
	if err != nil || len(res.Problems) != 1 || !strings.Contains(res.Problems[0].Error(), "has no file mapped executable") {
		t.Errorf("thread of the kernel: problems %v, error %v", res.Problems, err)
	}
}

func TestFileTargetsErrors(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("#!/bin/sh\nexec true\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	short := filepath.Join(dir, "short")
	if err := os.WriteFile(short, []byte("\x7fELF"), 0o755); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		path string
		is   error
		want string
	}{
		{text, usdt.ErrNotELF, text + ": is a script for /bin/sh and not an ELF file: name its interpreter"},
		{short, usdt.ErrNotELF, short + ": at 0x4: not an ELF file: identification of 16 bytes at 0x0: unexpected EOF"},
		{fifo, usdt.ErrNotELF, "open " + fifo + ": not an ELF file"}, // and does not hang
		{dir, usdt.ErrNotELF, "open " + dir + ": not an ELF file"},
		{filepath.Join(dir, "none"), os.ErrNotExist, "open " + dir + "/none: no such file or directory"},
	} {
		_, err := usdt.FileTargets(tc.path)
		if !errors.Is(err, tc.is) || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", tc.path, err, tc.want)
		}
	}
}
