//go:build linux && amd64

package selftests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/nopfire/nopfire/internal/testutils"
)

// bccHeaders are the kernel headers that bcc's tools compile their programs with.
// They need not be of the running kernel: a program for USDT reads struct pt_regs
// alone.
var bccHeaders struct {
	once sync.Once
	dir  string
}

// bccTool returns a command of one of bcc's tools, such as "trace". Its output is
// not buffered, so a header that is there tells that the probes are attached.
func bccTool(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(testutils.Oracle(t, name+"-bpfcc", name), args...)
	bccHeaders.once.Do(func() { bccHeaders.dir = kernelHeaders(t) })
	if bccHeaders.dir == "" {
		testutils.SkipOrFail(t, "no kernel headers for bcc")
	}
	cmd.Env = append(os.Environ(), "PYTHONUNBUFFERED=1", "BCC_KERNEL_SOURCE="+bccHeaders.dir)
	return cmd
}

// kernelHeaders returns a directory with the kernel headers of Debian. Their
// packages are two, of what all flavours share and of what one adds; bcc wants one
// directory. No name is in both below those that bcc includes from.
func kernelHeaders(t *testing.T) string {
	t.Helper()
	flavour := dependency(t, "linux-headers-amd64")
	common := strings.TrimSuffix(flavour, "amd64") + "common"
	dir := filepath.Join(sharedDir, "kernel-headers")
	for _, pkg := range []string{common, flavour} {
		root := filepath.Join(debianPackage(t, pkg), "usr", "src", pkg)
		for _, sub := range []string{"include", "arch/x86/include"} {
			entries, err := os.ReadDir(filepath.Join(root, sub))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if err := os.Symlink(filepath.Join(root, sub, e.Name()), filepath.Join(dir, sub, e.Name())); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return dir
}

// dependency returns the first package that a Debian package depends on: the one
// with a version in its name that one without stands for.
func dependency(t *testing.T, pkg string) string {
	t.Helper()
	out, err := exec.Command(testutils.Oracle(t, "apt-cache"), "depends", pkg).CombinedOutput()
	if err != nil {
		testutils.SkipOrFail(t, "no package %s: %v\n%s", pkg, err, out)
	}
	_, name, ok := strings.Cut(string(out), "Depends: ")
	if !ok {
		testutils.SkipOrFail(t, "package %s depends on nothing: %s", pkg, out)
	}
	return strings.Fields(name)[0]
}

// A seed is a running selftests/testprogs/seed, or seedgo.
type seed struct {
	*testutils.Child
	lib string // where its probes are
}

// command sends a command and checks the answer.
func (s *seed) command(t testing.TB, line, want string) {
	t.Helper()
	s.WriteLine(line)
	if got := s.ReadLine(); got != want {
		t.Fatalf("%s: the program says %q, want %q", line, got, want)
	}
}

// startSeed starts the program in C.
func startSeed(t testing.TB) *seed {
	t.Helper()
	program, lib := buildSeed(t)
	return newSeed(t, testutils.Start(t, program), lib)
}

// buildSeed builds the program in C and its library.
func buildSeed(t testing.TB) (program, lib string) {
	t.Helper()
	gcc := testutils.Oracle(t, "gcc")
	if _, err := os.Stat("/usr/include/x86_64-linux-gnu/sys/sdt.h"); err != nil {
		testutils.SkipOrFail(t, "no sys/sdt.h: %v", err)
	}
	dir := t.TempDir()
	program, lib = filepath.Join(dir, "seed"), filepath.Join(dir, "libseed.so")
	for _, cmd := range [][]string{
		{gcc, "-O2", "-g", "-Wall", "-shared", "-fPIC", "-o", lib, "testprogs/seed/loop.c", "testprogs/seed/value.c"},
		{gcc, "-O2", "-g", "-Wall", "-o", program, "testprogs/seed/main.c", lib},
	} {
		if out, err := exec.Command(cmd[0], cmd[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(cmd, " "), err, out)
		}
	}
	return program, lib
}

// newSeed waits until a program is ready. One that knows where its probes are says
// so.
func newSeed(t testing.TB, child *testutils.Child, lib string) *seed {
	t.Helper()
	verb, where, _ := strings.Cut(child.ReadLine(), " ")
	if verb != "ready" {
		t.Fatalf("the program says %q", verb)
	}
	if where != "" {
		lib = where
	}
	return &seed{Child: child, lib: lib}
}

// clockTime is the time of day at the beginning of a line.
var clockTime = regexp.MustCompile(`^\d\d:\d\d:\d\d`)

// TestSeedScenario traces loop_iter(i, msg) with bcc's trace and with nopfire, one
// after the other since bcc attaches without the semaphore and the kernel refuses
// a second tracer with it. They print the same.
func TestSeedScenario(t *testing.T) {
	testutils.NeedBPF(t)
	nopfire := nopfirePath(t)
	goProgram := testutils.GoBuild(t, "./testprogs/seedgo")
	const n = 5
	for _, tt := range []struct {
		name  string
		start func(t *testing.T) *seed
	}{
		{"C with sys-sdt", func(t *testing.T) *seed { return startSeed(t) }},
		{"Go at run time", func(t *testing.T) *seed { return newSeed(t, testutils.Start(t, goProgram), "") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := tt.start(t)
			comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", s.PID))
			if err != nil {
				t.Fatal(err)
			}
			const columns = "%-8s %-7s %-7s %-15s %-16s %s"
			var want []string
			pid := fmt.Sprint(s.PID)
			for i := range n {
				want = append(want, fmt.Sprintf(columns, "HH:MM:SS", pid, pid, strings.TrimSpace(string(comm)), "loop_iter", fmt.Sprintf("i=%d msg=message %d", i, i)))
			}
			spec := fmt.Sprintf(`u:%s:loop_iter "i=%%d msg=%%s", arg1, arg2`, s.lib)
			for _, tracer := range []*exec.Cmd{
				bccTool(t, "trace", "-T", "-p", pid, spec),
				exec.Command(nopfire, "trace", spec, "-p", pid),
			} {
				name := filepath.Base(tracer.Path)
				s.command(t, "enabled", "enabled 0") // the one before has gone
				c := testutils.StartCmd(t, tracer)
				if header, want := c.ReadLine(), fmt.Sprintf(columns, "TIME", "PID", "TID", "COMM", "FUNC", "-"); header != want {
					t.Fatalf("%s: header %q, want %q\n%s", name, header, want, c.Stderr())
				}
				s.command(t, "enabled", "enabled 1")
				s.command(t, fmt.Sprint("fire ", n), fmt.Sprint("fired ", n))
				for _, want := range want {
					if got := clockTime.ReplaceAllString(c.ReadLine(), "HH:MM:SS"); got != want {
						t.Errorf("%s: got  %q\nwant %q", name, got, want)
					}
				}
				c.Interrupt()
			}
		})
	}
}
