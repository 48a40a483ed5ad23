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
	"testing"
	"time"

	"github.com/nopfire/nopfire/internal/testutils"
)

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
