package usdt_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// mapper does to its mappings what the lines of its input say.
const mapper = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *commands(void *unused)
{
	char line[4096];
	void *lib = NULL;

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "open ", 5)) {
			lib = dlopen(line + 5, RTLD_NOW);
			puts(lib ? "opened" : dlerror());
		} else if (!strcmp(line, "close")) {
			puts(dlclose(lib) ? dlerror() : "closed");
		} else if (!strcmp(line, "fork")) {
			pid_t pid = fork();
			if (pid == 0) {
				fclose(stdout); /* somebody waits for its end */
				close(2);
				for (;;)
					pause();
			}
			printf("%d\n", pid);
		} else if (!strncmp(line, "exec ", 5)) {
			execl(line + 5, line + 5, NULL);
			puts("not executed");
		}
		fflush(stdout);
	}
	exit(0);
}

int main(int argc, char **argv)
{
	pthread_t t;

	if (argc == 1)
		commands(NULL);
	/* With an argument the first thread ends before the process. */
	pthread_create(&t, NULL, commands, NULL);
	pthread_exit(NULL);
}
`

// startMapper builds and starts the program above, with a library that it can
// open.
func startMapper(t *testing.T, args ...string) (c *testutils.Child, lib string) {
	t.Helper()
	prog := testutils.BuildC(t, mapper, "-ldl", "-pthread")
	lib = testutils.BuildC(t, `
		#include <sys/sdt.h>
		void fire(long n) { DTRACE_PROBE1(libprobe, fire, n); }`, "-shared", "-fPIC")
	c = testutils.Start(t, prog, args...)
	if line := c.ReadLine(); line != "ready" {
		t.Fatalf("mapper says %q", line)
	}
	return c, lib
}

func ask(t *testing.T, c *testutils.Child, line, want string) {
	t.Helper()
	c.WriteLine(line)
	if got := c.ReadLine(); got != want {
		t.Fatalf("%s: mapper says %q, want %q", line, got, want)
	}
}

// forms are the two ways to follow a process.
var forms = []string{"all processes", "one process"}

func followForm(t *testing.T, form string, pid int) *following {
	t.Helper()
	o := &usdt.FollowOptions{Interval: 50 * time.Millisecond}
	if form == "one process" {
		o.PID = pid
	}
	return follow(t, o, "libprobe:*", "app:*", "sign:here")
}

// A library that is opened, closed, and opened again: the kernel does not tell of
// the second, which is found by looking.
func TestFollowUnload(t *testing.T) {
	for _, form := range forms {
		t.Run(form, func(t *testing.T) {
			c, lib := startMapper(t)
			f := followForm(t, form, c.PID)
			for range 3 {
				ask(t, c, "open "+lib, "opened")
				f.until("opened", func() bool { return f.of(c.PID, "libprobe:fire") != nil })
				ask(t, c, "close", "closed")
				f.until("closed", func() bool { return f.gone(c.PID) })
			}
		})
	}
}

// A process whose first thread has ended still maps what it maps, and maps more.
func TestFollowWithoutFirstThread(t *testing.T) {
	for _, form := range forms {
		t.Run(form, func(t *testing.T) {
			c, lib := startMapper(t, "thread")
			f := followForm(t, form, c.PID)
			ask(t, c, "open "+lib, "opened")
			f.until("opened", func() bool { return f.of(c.PID, "libprobe:fire") != nil })
			time.Sleep(150 * time.Millisecond) // a few looks
			if f.of(c.PID, "libprobe:fire") == nil {
				t.Error("gone while the process lives")
			}
			c.CloseInput()
			c.Wait()
			f.until("ended", func() bool { return f.gone(c.PID) })
		})
	}
}

// A forked child maps what its parent maps. No mapping is reported for it, and it
// alone holds the library when the parent has ended.
func TestFollowFork(t *testing.T) {
	c, lib := startMapper(t)
	f := followForm(t, "all processes", 0)
	ask(t, c, "open "+lib, "opened")
	// Not even a name is left to open it by.
	if err := os.Remove(lib); err != nil {
		t.Fatal(err)
	}
	c.WriteLine("fork")
	child, err := strconv.Atoi(c.ReadLine())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(child, syscall.SIGKILL) })
	c.CloseInput()
	c.Wait()
	f.until("opened", func() bool { return f.of(child, "libprobe:fire") != nil })
	time.Sleep(150 * time.Millisecond) // the parent's end is seen
	f.poke()
	target := f.of(child, "libprobe:fire")
	if target == nil {
		t.Fatalf("mapped are %v, want the child's library", f.names())
	}
	needMethod(t, usdt.Auto)
	newRig(t, target, usdt.Auto, -1).attach(target, nil) // reachable through the child
	syscall.Kill(child, syscall.SIGKILL)
	f.until("gone", func() bool { return f.gone(child) })
}

// A process that executes another program maps that, and nothing of before.
func TestFollowExec(t *testing.T) {
	for _, form := range forms {
		t.Run(form, func(t *testing.T) {
			prog := buildSDT(t)
			c, lib := startMapper(t)
			f := followForm(t, form, c.PID)
			ask(t, c, "open "+lib, "opened")
			f.until("opened", func() bool { return f.of(c.PID, "libprobe:fire") != nil })
			c.WriteLine("exec " + prog)
			f.until("executed", func() bool {
				return f.of(c.PID, "libprobe:fire") == nil && f.of(c.PID, "app:values") != nil
			})
		})
	}
}

// A file that many processes map is one, until the last of them has ended.
func TestFollowSharedFile(t *testing.T) {
	prog := buildSDT(t)
	f := followForm(t, "all processes", 0)
	var children []*testutils.Child
	for range 5 {
		c := testutils.Start(t, prog)
		c.ReadLine()
		children = append(children, c)
	}
	here := func() (n int) {
		for _, target := range f.mapped {
			if target.Path == prog {
				n++
			}
		}
		return n
	}
	f.until("started", func() bool { return here() > 0 })
	probes := here()
	for i, c := range children {
		f.poke()
		if here() != probes {
			t.Errorf("%d targets with %d processes left, want %d", here(), len(children)-i, probes)
		}
		c.CloseInput()
		c.Wait()
	}
	f.until("ended", func() bool { return here() == 0 })
}

// A process that starts later in mount and PID namespaces of its own, under a name
// that means nothing outside.
func TestFollowOtherNamespaces(t *testing.T) {
	testutils.Root(t)
	needMethod(t, usdt.Auto)
	prog := buildSDT(t, "-DSEMAPHORES", "-static")
	f := follow(t, nil, "app:values")
	dir := t.TempDir()
	cmd := exec.Command(testutils.Oracle(t, "sh"), "-c", fmt.Sprintf(`
		set -e
		mount --make-rprivate /
		mount -t tmpfs none %[1]s
		cp %[2]s %[1]s/app
		exec %[3]s %[1]s /app`, dir, prog, testutils.Oracle(t, "chroot")))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID}
	c := testutils.StartCmd(t, cmd)
	if line := c.ReadLine(); line != "ready" {
		t.Fatalf("child says %q", line)
	}
	f.until("started", func() bool { return f.of(c.PID, "app:values") != nil })
	target := f.of(c.PID, "app:values")
	r := newRig(t, target, usdt.Auto, 1)
	r.attach(target, nil)
	if sem := fireSDT(t, c, 42); sem != "1" {
		t.Errorf("semaphore %s, want 1", sem)
	}
	if h := r.hits(1)[0]; h.values[0] != 42 {
		t.Errorf("hit %+v, want 42", h)
	}
}

// Without CAP_PERFMON a follower looks again and again, and says why. The test
// runs itself as an ordinary user.
func TestFollowWithoutPrivilege(t *testing.T) {
	if data, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid"); err != nil || strings.TrimSpace(string(data)) < "1" {
		t.Skip("skipped: perf events are for everybody here")
	}
	prog := buildSDT(t)
	// Go's test directories are not for other users.
	dir, err := os.MkdirTemp("", "nopfire-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	copyFile(t, prog, filepath.Join(dir, "prog"))
	t.Setenv("NOPFIRE_TEST_FOLLOW", filepath.Join(dir, "prog"))
	out := asUser(t, "^TestFollowByPolling$")
	for _, want := range []string{"missing CAP_PERFMON (run as root", "--- PASS: TestFollowByPolling"} {
		if !strings.Contains(out, want) {
			t.Errorf("output lacks %q:\n%s", want, out)
		}
	}
}

// TestFollowByPolling is for TestFollowWithoutPrivilege.
func TestFollowByPolling(t *testing.T) {
	prog := os.Getenv("NOPFIRE_TEST_FOLLOW")
	if prog == "" {
		t.Skip("skipped: run by TestFollowWithoutPrivilege")
	}
	f := follow(t, &usdt.FollowOptions{Interval: 20 * time.Millisecond}, "app:*")
	t.Logf("polls: %v", f.Polling())
	if f.Polling() == nil {
		t.Error("does not poll")
	}
	c := testutils.Start(t, prog)
	c.ReadLine()
	f.until("started", func() bool { return f.of(c.PID, "app:values") != nil })
	one := follow(t, &usdt.FollowOptions{PID: c.PID, Interval: 20 * time.Millisecond}, "app:*")
	if one.of(c.PID, "app:values") == nil {
		t.Error("not found by its pid")
	}
	c.CloseInput()
	c.Wait()
	f.until("ended", func() bool { return f.gone(c.PID) })
	for {
		if _, ok := one.step(); !ok {
			break
		}
	}
	if len(one.mapped) > 0 {
		t.Errorf("%v after the end", one.names())
	}
}

// A mapping that was moved since it was found, which no event tells of, is attached
// to all the same.
func TestAttachToMovedMapping(t *testing.T) {
	needMethod(t, usdt.Auto)
	lib := testutils.BuildC(t, `
		#include <sys/sdt.h>
		void fire(long n) { DTRACE_PROBE1(moved, fire, n); }`, "-shared", "-fPIC", "-Wl,-z,noseparate-code")
	c := testutils.Start(t, testutils.BuildC(t, `
		#define _GNU_SOURCE
		#include <fcntl.h>
		#include <stdio.h>
		#include <sys/mman.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			int fd = open(argv[1], O_RDONLY);
			void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
			void *q = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			close(fd);
			unlink(argv[1]);
			puts("ready");
			fflush(stdout);
			getchar();
			puts(mremap(p, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, q) == q ? "moved" : "failed");
			fflush(stdout);
			return getchar() + getchar();
		}`), lib)
	c.ReadLine()
	res, err := usdt.ProcessTargets(c.PID, "moved:fire")
	if err != nil {
		t.Fatal(err, res.Problems)
	}
	c.WriteLine("")
	if line := c.ReadLine(); line != "moved" {
		t.Fatalf("program says %q", line)
	}
	newRig(t, res.Targets[0], usdt.Auto, -1).attach(res.Targets[0], nil)
}
