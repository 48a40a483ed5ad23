//go:build linux && (amd64 || arm64)

package selftests

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/internal/feature"
	"github.com/nopfire/nopfire/internal/testutils"
)

// A follower of emitters: the events of each, by process.
type followed struct {
	mu     sync.Mutex
	events map[int][]trace.Event
}

func (f *followed) of(pid int) []trace.Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.events[pid]
}

// waitFor waits until a condition holds.
func waitFor(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: never", what)
		}
	}
}

// TestFollow starts emitters, of every kind of backing, while a session follows all
// processes: every value of every hit is exact, objects that are loaded later are
// traced, and one that is killed takes nothing with it.
func TestFollow(t *testing.T) {
	testutils.NeedBPF(t)
	if err := feature.UprobeMulti.Check(); err != nil {
		// The breakpoint of a perf event is there before its program is.
		t.Skipf("skipped: by perf events a process sees that it is traced before it is: %v", err)
	}
	session, err := trace.Start(trace.Query{Clauses: []trace.Clause{{Pattern: "selftest:*"}}})
	if err != nil {
		t.Fatal(err)
	}
	got := &followed{events: make(map[int][]trace.Event)}
	var reader sync.WaitGroup
	reader.Go(func() {
		for ev, err := range session.Events(context.Background()) {
			if err == nil {
				got.mu.Lock()
				got.events[ev.PID] = append(got.events[ev.PID], ev)
				got.mu.Unlock()
			}
		}
	})
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
		reader.Wait()
	})

	const all, n = 8, 50 // probes of an emitter, and how often each fires
	for _, flags := range [][]string{
		{"-backing", "memfd"},
		{"-backing", "memfd", "-semaphore"},
		{"-backing", "file", "-dir", t.TempDir()},
		{"-backing", "shared", "-dir", t.TempDir()},
	} {
		t.Run(strings.Join(flags[1:min(3, len(flags))], " "), func(t *testing.T) {
			e := startEmitter(t, flags...)
			waitFor(t, "traced", func() bool { return len(strings.Fields(e.command("enabled"))) == 1+all })
			e.fire(t, n)
			waitFor(t, "events", func() bool { return len(got.of(e.PID)) >= all*n })
			seen := make(map[string]int64)
			for _, ev := range got.of(e.PID) {
				text := ev.String()
				if at := strings.Index(text, "point="); at >= 0 { // an address
					text = text[:at]
				}
				if want := wantEvent(ev.Probe, seen[ev.Probe]); text != want {
					t.Fatalf("got  %s\nwant %s", text, want)
				}
				seen[ev.Probe]++
			}

			if answer := e.command("extend"); answer != "extended 1" {
				t.Fatalf("emitter says %q", answer)
			}
			extra := func() (n int) {
				for _, ev := range got.of(e.PID) {
					if ev.Probe == "extra1" {
						n++
					}
				}
				return n
			}
			waitFor(t, "the later object", func() bool {
				e.fire(t, 1)
				return extra() > 0
			})
			if flags[1] == "memfd" {
				kill9(t, e) // the next emitter is traced all the same
			}
		})
	}
	if lost := session.Lost(); lost != 0 {
		t.Errorf("%d events lost", lost)
	}
}
