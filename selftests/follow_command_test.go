//go:build linux && (amd64 || arm64)

package selftests

import (
	"encoding/json"
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

// buildStorm compiles testprogs/storm, static, so that it runs in a root without
// libraries.
func buildStorm(t testing.TB) string {
	t.Helper()
	needSDT(t)
	src, err := os.ReadFile("testprogs/storm/storm.c")
	if err != nil {
		t.Fatal(err)
	}
	return testutils.BuildC(t, string(src), "-static")
}

func needSDT(t testing.TB) {
	t.Helper()
	for _, dir := range []string{"/usr/include", "/usr/include/x86_64-linux-gnu", "/usr/include/aarch64-linux-gnu"} {
		if _, err := os.Stat(filepath.Join(dir, "sys/sdt.h")); err == nil {
			return
		}
	}
	testutils.SkipOrFail(t, "no sys/sdt.h")
}

// What a storm does: children, images and itself fire, each process stormHits times.
const (
	stormChildren = 200
	stormImages   = 60
	stormHits     = 5
)

// stormProcesses is how many processes fire each probe of a storm.
var stormProcesses = map[string]int{"child": stormChildren, "image": stormImages, "here": 1}

// storms are the places for a storm: here, and in containers, whose file of probes no
// path outside leads to. Each is run when a tracer has been started.
func storms(t *testing.T, run func(t *testing.T, storm func())) {
	testutils.NeedBPF(t)
	program := buildStorm(t)
	for _, where := range []string{"here", containers[0].String(), containers[1].String()} {
		t.Run(where, func(t *testing.T) {
			cmd := exec.Command(program)
			for _, c := range containers {
				if where == c.String() {
					cmd = c.command(t, program)
				}
			}
			run(t, func() {
				c := testutils.StartCmd(t, cmd)
				c.ReadLine()
				waitFor(t, "traced", func() bool {
					c.WriteLine("enabled")
					return c.ReadLine() != "enabled 0"
				})
				for _, step := range []struct{ command, answer string }{
					{fmt.Sprintf("fork %d %d", stormChildren, stormHits), fmt.Sprintf("forked %d", stormChildren)},
					{fmt.Sprintf("exec %d %d", stormImages, stormHits), fmt.Sprintf("execed %d", stormImages)},
					{fmt.Sprintf("here %d", stormHits), fmt.Sprintf("fired %d", stormHits)},
				} {
					c.WriteLine(step.command)
					if answer := c.ReadLine(); answer != step.answer {
						t.Fatalf("storm says %q", answer)
					}
				}
			})
		})
	}
}

// Hundreds of processes that live for moments: children, and children that execute a
// program. Each hit is seen, once.
func TestCommandTracesStorm(t *testing.T) {
	storms(t, func(t *testing.T, storm func()) {
		tr := startTrace(t, "storm:*")
		storm()
		tr.end(t) // has printed all that it has seen
		got, pids := make(map[string]int), make(map[int]bool)
		for _, h := range tr.of(func(hit) bool { return true }) {
			got[h.text]++
			pids[h.pid] = true
		}
		wrong := 0
		for probe, n := range stormProcesses {
			for i := range n * stormHits {
				text := fmt.Sprintf("storm:%s arg1=%d arg2=%d", probe, i/stormHits, i%stormHits)
				if got[text] != 1 {
					if wrong++; wrong < 10 {
						t.Errorf("%s was seen %d times, want once", text, got[text])
					}
				}
				delete(got, text)
			}
		}
		for text, n := range got {
			t.Errorf("%s was seen %d times, and never fired", text, n)
		}
		if want := stormChildren + stormImages + 1; len(pids) != want {
			t.Errorf("hits of %d processes, want %d", len(pids), want)
		}
	})
}

// A counted is a line of nopfire count or argdist in JSON.
type counted struct {
	Probe string
	PID   int
	Key   []struct{ Value int }
	Count int
	// A bound is null where there is none.
	Buckets []struct {
		Min, Max *int64
		Count    int
	}
}

// countStorm starts a command that counts, then a storm, and returns what it prints in
// the end.
func countStorm(t *testing.T, storm func(), args ...string) (rows []counted) {
	t.Helper()
	c := testutils.Start(t, nopfirePath(t), append(args, "--json")...)
	storm()
	if err := c.Cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for {
		line, err := c.TryReadLine(time.Minute)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var row counted
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		rows = append(rows, row)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("nopfire %s ends with %v, and says %q", args[0], err, c.Stderr())
	}
	return rows
}

// nopfire count knows each of these processes, and all that it did.
func TestCommandCountsStorm(t *testing.T) {
	storms(t, func(t *testing.T, storm func()) {
		pids := make(map[string]map[int]bool)
		for _, row := range countStorm(t, storm, "count", "storm:*") {
			if row.Count != stormHits {
				t.Errorf("process %d hit %s %d times, want %d", row.PID, row.Probe, row.Count, stormHits)
			}
			if pids[row.Probe] == nil {
				pids[row.Probe] = make(map[int]bool)
			}
			pids[row.Probe][row.PID] = true
		}
		for probe, n := range stormProcesses {
			if len(pids[probe]) != n {
				t.Errorf("%d processes hit %s, want %d", len(pids[probe]), probe, n)
			}
		}
	})
}

// nopfire count -p counts what the process loads later, prints as it goes, and ends with
// the process, with nothing forgotten.
func TestCommandCountsLaterObjects(t *testing.T) {
	testutils.NeedBPF(t)
	e := startEmitter(t)
	c := testutils.Start(t, nopfirePath(t), "count", "selftest:*", "-p", strconv.Itoa(e.PID), "--interval", "50ms", "--json")
	waitTraced(t, e)
	got := make(map[string]int)
	read := func(timeout time.Duration) error {
		line, err := c.TryReadLine(timeout)
		if err != nil {
			return err
		}
		var row counted
		if err := json.Unmarshal([]byte(line), &row); err != nil || row.PID != e.PID {
			t.Fatalf("%q: %v", line, err)
		}
		got[row.Probe] += row.Count
		return nil
	}
	e.fire(t, 10)
	if answer := e.command("extend"); answer != "extended 1" {
		t.Fatalf("emitter says %q", answer)
	}
	waitFor(t, "the later object", func() bool {
		e.fire(t, 1)
		for read(10*time.Millisecond) == nil {
		}
		return got["extra1"] > 0
	})
	e.fire(t, 10)
	kill9(t, e)
	for err := error(nil); !errors.Is(err, io.EOF); err = read(time.Minute) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Wait(); err != nil {
		t.Errorf("nopfire count ends with %v, and says %q", err, c.Stderr())
	}
	for _, probe := range []string{"zero", "ints", "args12", "mixed12", "text", "floats", "other", "bytes"} {
		if got[probe] != e.Fired {
			t.Errorf("%s was counted %d times, fired %d times", probe, got[probe], e.Fired)
		}
	}
	if got["extra1"] <= 10 || got["extra1"] > e.Fired-10 {
		t.Errorf("extra1 was counted %d times; it was there for at most %d of the fires, and is traced since the 10 last ones at least", got["extra1"], e.Fired-10)
	}
}

// nopfire argdist knows how often each value came, and how the values are distributed.
func TestCommandDistributesStorm(t *testing.T) {
	storms(t, func(t *testing.T, storm func()) {
		got := make(map[string]map[int]int)
		for _, row := range countStorm(t, storm, "argdist", "-C", "storm:* arg2") {
			if got[row.Probe] == nil {
				got[row.Probe] = make(map[int]int)
			}
			if len(row.Key) == 1 {
				got[row.Probe][row.Key[0].Value] += row.Count
			}
		}
		for probe, n := range stormProcesses {
			for value := range stormHits {
				if got[probe][value] != n {
					t.Errorf("%s had %d for arg2 %d times, want %d", probe, value, got[probe][value], n)
				}
			}
			if len(got[probe]) != stormHits {
				t.Errorf("%s had %d values of arg2, want %d", probe, len(got[probe]), stormHits)
			}
		}
	})
	storms(t, func(t *testing.T, storm func()) {
		seen := make(map[string]bool)
		for _, row := range countStorm(t, storm, "argdist", "-H", "storm:* arg1") {
			n := int64(stormProcesses[row.Probe])
			seen[row.Probe] = true
			if row.Count != int(n)*stormHits {
				t.Errorf("%d values of %s, want %d", row.Count, row.Probe, n*stormHits)
			}
			for _, b := range row.Buckets {
				// arg1 goes from 0 up to n, which is not included.
				want := min(*b.Max, n-1) - *b.Min + 1
				if int64(b.Count) != want*stormHits {
					t.Errorf("%s: %d values from %d to %d, want %d", row.Probe, b.Count, *b.Min, *b.Max, want*stormHits)
				}
			}
		}
		if len(seen) != len(stormProcesses) {
			t.Errorf("histograms of %d probes, want %d", len(seen), len(stormProcesses))
		}
	})
}
