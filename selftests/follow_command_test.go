//go:build linux && (amd64 || arm64)

package selftests

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nopfire/nopfire/internal/testutils"
)

// nopfireCommand builds the command once for all tests.
var nopfireCommand = sync.OnceValues(func() (string, error) {
	path := filepath.Join(sharedDir, "nopfire")
	cmd := exec.Command("go", "build", "-o", path, "../cmd/nopfire")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go build ../cmd/nopfire: %w\n%s", err, out)
	}
	return path, err
})

func nopfirePath(t testing.TB) string {
	t.Helper()
	testutils.Oracle(t, "go")
	path, err := nopfireCommand()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A hit is a line of nopfire trace, without its time.
type hit struct {
	pid  int
	text string // PROVIDER:PROBE and the arguments
}

// A commandTrace is a running nopfire trace.
type commandTrace struct {
	*testutils.Child
	mu   sync.Mutex
	hits []hit
	done chan struct{}
}

// startTrace starts nopfire trace and returns when it traces: it prints its header
// then.
func startTrace(t *testing.T, args ...string) *commandTrace {
	t.Helper()
	tr := &commandTrace{Child: testutils.Start(t, nopfirePath(t), append([]string{"trace"}, args...)...), done: make(chan struct{})}
	if header := tr.ReadLine(); !strings.HasPrefix(header, "TIME ") {
		t.Fatalf("nopfire trace says %q", header)
	}
	go func() {
		defer close(tr.done)
		for {
			line, err := tr.TryReadLine(time.Minute)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				continue
			}
			// TIME PID TID COMM PROBE ARGUMENTS; none of the names has a blank.
			f := strings.Fields(line)
			if len(f) < 5 {
				f = []string{"", "0", "", "", "no event: " + line}
			}
			pid, _ := strconv.Atoi(f[1])
			tr.mu.Lock()
			tr.hits = append(tr.hits, hit{pid, strings.Join(f[4:], " ")})
			tr.mu.Unlock()
		}
	}()
	return tr
}

// of returns the hits that a function wants.
func (tr *commandTrace) of(want func(hit) bool) (hits []hit) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for _, h := range tr.hits {
		if want(h) {
			hits = append(hits, h)
		}
	}
	return hits
}

// end interrupts the trace, and fails the test if it has lost anything or has said a
// word.
func (tr *commandTrace) end(t *testing.T) {
	t.Helper()
	if err := tr.Cmd.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	<-tr.done // has read what it still prints
	if err := tr.Wait(); err != nil {
		t.Errorf("nopfire trace ends with %v", err)
	}
	for said := range strings.Lines(tr.Stderr()) {
		// Some process of the machine may be nobody's to look at.
		if !strings.HasPrefix(said, "nopfire: note: process ") && !strings.HasSuffix(said, " yet; waiting\n") {
			t.Errorf("nopfire trace says %q", said)
		}
	}
}

// emitterProbes is how many probes an emitter has.
const emitterProbes = 8

// checkHits waits for the hits of an emitter that has fired n times, and compares each
// with what was fired.
func checkHits(t *testing.T, tr *commandTrace, provider string, pid, n int) {
	t.Helper()
	mine := func(h hit) bool { return h.pid == pid }
	waitFor(t, fmt.Sprintf("%d hits of process %d", emitterProbes*n, pid), func() bool { return len(tr.of(mine)) >= emitterProbes*n })
	seen := make(map[string]int64)
	for _, h := range tr.of(mine) {
		probe, _, _ := strings.Cut(h.text, " ")
		probe = strings.TrimPrefix(probe, provider+":")
		text, _, _ := strings.Cut(h.text, " point=") // an address
		want := strings.TrimSpace(strings.Replace(wantEvent(probe, seen[probe]), "selftest:", provider+":", 1))
		if text != want {
			t.Fatalf("got  %s\nwant %s", text, want)
		}
		seen[probe]++
	}
	if len(seen) != emitterProbes {
		t.Errorf("hits of %d probes, want %d", len(seen), emitterProbes)
	}
	for probe, hits := range seen {
		if hits != int64(n) {
			t.Errorf("%d hits of %s, want %d", hits, probe, n)
		}
	}
}

// waitTraced waits until all probes of an emitter are traced.
func waitTraced(t *testing.T, e *emitter) {
	t.Helper()
	waitFor(t, "traced", func() bool { return len(strings.Fields(e.command("enabled"))) == 1+emitterProbes })
}

// Processes that start after nopfire trace are traced, each value of each hit; those
// that are killed, while others start, take nothing with them, and when all have gone
// the trace holds nothing of them.
func TestCommandFollowsProcesses(t *testing.T) {
	testutils.NeedBPF(t)
	tr := startTrace(t, "selftest:*", "--all")
	descriptors := func() int {
		fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", tr.PID))
		if err != nil {
			t.Fatal(err)
		}
		return len(fds)
	}
	first := descriptors()
	const n = 20
	var wg sync.WaitGroup
	buildEmitter(t)
	for _, backing := range []string{"memfd", "file", "shared"} {
		dir := t.TempDir()
		for i := range 3 {
			wg.Go(func() {
				e := startEmitter(t, "-backing", backing, "-dir", dir)
				waitTraced(t, e)
				e.fire(t, n)
				if i == 0 {
					kill9(t, e)
				}
				checkHits(t, tr, "selftest", e.PID, n)
				if i != 0 {
					kill9(t, e)
				}
			})
		}
	}
	wg.Wait()
	// What stays is a program for each layout of arguments, for the next process.
	waitFor(t, "the trace lets go", func() bool { return descriptors() <= first+emitterProbes })
	tr.end(t)
}

// A container is a way to have a root of its own, in namespaces of mounts and PIDs. A
// rootless one belongs to an ordinary user, and has a user namespace as well.
type container struct{ rootless bool }

func (c container) String() string {
	if c.rootless {
		return "rootless container"
	}
	return "container"
}

var containers = []container{{rootless: false}, {rootless: true}}

// containerScript makes a root on a tmpfs that nobody outside can see, and becomes the
// program in it: what a container is to a tracer.
const containerScript = `set -e
root=$0 program=$1
shift
mount -t tmpfs tmpfs "$root"
cp "$program" "$root/app"
mkdir "$root/proc" "$root/tmp"
mount -t proc proc "$root/proc"
cd "$root"
exec chroot . /app "$@"
`

// command returns the command that runs a program in a container.
func (c container) command(t *testing.T, program string, args ...string) *exec.Cmd {
	t.Helper()
	testutils.Root(t)
	testutils.Oracle(t, "chroot")
	dir, err := os.MkdirTemp("", "nopfire-container-") // Go's are not for other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	root, app := filepath.Join(dir, "root"), filepath.Join(dir, "app")
	data, err := os.ReadFile(program)
	for _, step := range []func() error{
		func() error { return os.Chmod(dir, 0o755) },
		func() error { return os.Mkdir(root, 0o755) },
		func() error { return os.WriteFile(app, data, 0o755) },
	} {
		if err == nil {
			err = step()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	flags := []string{"--mount", "--pid", "--fork", "--kill-child"}
	if c.rootless {
		flags = append(flags, "--user", "--map-root-user")
	}
	flags = append(flags, "sh", "-c", containerScript, root, app)
	cmd := exec.Command(testutils.Oracle(t, "unshare"), append(flags, args...)...)
	if c.rootless {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		cmd.Dir = "/"
	}
	return cmd
}

// innerPID returns the process, numbered as outside, that is the first one of the PID
// namespace which unshare has made.
func innerPID(t *testing.T, unshare int) int {
	t.Helper()
	procs, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range procs {
		status, _ := os.ReadFile(file)
		if strings.Contains(string(status), fmt.Sprintf("\nPPid:\t%d\n", unshare)) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatalf("process %d has no child", unshare)
	return 0
}

// What runs in a container that is started later is traced: probes that it defines at
// run time, in a memfd and in files that no path outside leads to.
func TestCommandFollowsContainers(t *testing.T) {
	testutils.NeedBPF(t)
	program := buildEmitter(t)
	tr := startTrace(t, "boxed:*", "--all")
	for _, c := range containers {
		for _, flags := range [][]string{
			{"-backing", "memfd"},
			{"-backing", "memfd", "-semaphore"},
			{"-backing", "file", "-dir", "/tmp"},
		} {
			t.Run(c.String()+" "+strings.Join(flags, " "), func(t *testing.T) {
				e := &emitter{Child: testutils.StartCmd(t, c.command(t, program, append(flags, "-provider", "boxed")...))}
				if line := e.ReadLine(); line != "ready" {
					t.Fatalf("emitter says %q", line)
				}
				pid := innerPID(t, e.PID)
				path := strings.Fields(e.command("info"))[1]
				if _, err := os.Stat(path); flags[1] == "file" && !errors.Is(err, os.ErrNotExist) {
					t.Fatalf("%s is there outside of the container: %v", path, err)
				}
				waitTraced(t, e)
				const n = 20
				e.fire(t, n)
				checkHits(t, tr, "boxed", pid, n)
			})
		}
	}
	tr.end(t)
}

// Names of URDT reach into containers, too, where each process has an object of its own.
func TestCommandFollowsNamesIntoContainers(t *testing.T) {
	testutils.NeedBPF(t)
	program := testutils.GoBuild(t, "./testprogs/urdtfire")
	tr := startTrace(t, "urdt:dyn:boxed/2")
	for i, c := range containers {
		t.Run(c.String(), func(t *testing.T) {
			app := testutils.StartCmd(t, c.command(t, program))
			if path := app.ReadLine(); !strings.HasPrefix(path, "/proc/") {
				t.Fatalf("the object is %s, want one without a name", path)
			}
			pid := innerPID(t, app.PID)
			mine := func(h hit) bool { return h.pid == pid }
			// Nobody but the trace knows when it has got there.
			const first, n = -1, 50
			waitFor(t, "the first hit", func() bool {
				app.WriteLine(fmt.Sprintf("two boxed %d %d", first, i))
				app.ReadLine()
				return len(tr.of(mine)) > 0
			})
			for k := range n {
				app.WriteLine(fmt.Sprintf("two boxed %d %d", k, i))
				app.ReadLine()
			}
			want := func(k int) hit { return hit{pid, fmt.Sprintf("dyn:boxed arg1=%d arg2=%d", k, i)} }
			later := func(h hit) bool { return mine(h) && h != want(first) }
			waitFor(t, "all hits", func() bool { return len(tr.of(later)) >= n })
			for k, h := range tr.of(later) {
				if h != want(k) {
					t.Errorf("hit %d is %v, want %v", k, h, want(k))
				}
			}
		})
	}
	tr.end(t)
}
