//go:build linux

package usdt

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/nopfire/nopfire/internal/procmaps"
	"github.com/nopfire/nopfire/internal/procwatch"
	"github.com/nopfire/nopfire/internal/testutils"
)

// A script is an event source that plays what a test says, and nothing of what
// happens in truth.
type script struct {
	batches   chan batch
	refreshed chan bool // what Refresh says, false if nothing
	closed    int
}

type batch struct {
	events []procwatch.Event
	lost   bool
	err    error
}

func (s *script) Read(dst []procwatch.Event, timeout time.Duration) ([]procwatch.Event, bool, error) {
	select {
	case b := <-s.batches:
		return append(dst, b.events...), b.lost, b.err
	case <-time.After(timeout):
		return dst, false, nil
	}
}

func (s *script) Refresh() (bool, error) {
	select {
	case changed := <-s.refreshed:
		return changed, nil
	default:
		return false, nil
	}
}

func (s *script) Wake() {}

func (s *script) Close() error { s.closed++; return nil }

// followScript starts a follower on a script; next waits for its next Change.
func followScript(t *testing.T, interval time.Duration, pattern string) (f *Follower, s *script, next func() Change) {
	t.Helper()
	s = &script{batches: make(chan batch, 10), refreshed: make(chan bool, 1)}
	f, err := newFollower(&FollowOptions{Interval: interval}, func(int) (eventSource, error) { return s, nil }, []string{pattern})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	pull, stop := iter.Pull(f.Changes(ctx))
	t.Cleanup(func() {
		cancel()
		stop()
		f.Close()
		if s.closed != 1 {
			t.Errorf("source closed %d times", s.closed)
		}
	})
	next = func() Change {
		t.Helper()
		c, ok := pull()
		if !ok {
			t.Fatal("no more changes")
		}
		return c
	}
	return f, s, next
}

// A tracee is a running program with a probe that no other process has.
func tracee(t *testing.T, provider string) *testutils.Child {
	t.Helper()
	c := testutils.Start(t, testutils.BuildC(t, strings.ReplaceAll(`
		#include <stdio.h>
		#include <sys/sdt.h>
		int main(void) { DTRACE_PROBE(PROVIDER, here); puts("ready"); fflush(stdout); return getchar(); }`, "PROVIDER", provider)))
	c.ReadLine()
	return c
}

// What no event told of is found when events were lost, and when a CPU has come
// of which nothing is known.
func TestFollowerScansAgain(t *testing.T) {
	provider := fmt.Sprintf("scans%d", os.Getpid()) // another run of the tests may be seen
	for _, tt := range []struct {
		name string
		play func(s *script)
	}{
		{"lost", func(s *script) { s.batches <- batch{lost: true} }},
		{"new cpu", func(s *script) { s.refreshed <- true }},
		{"source fails", func(s *script) { s.batches <- batch{err: errors.New("broken")} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, s, next := followScript(t, 20*time.Millisecond, provider+":here")
			if c := next(); len(c.Added) > 0 {
				t.Fatalf("first change %+v", c)
			}
			child := tracee(t, provider)
			time.Sleep(60 * time.Millisecond) // looks that find nothing, since they are at holders only
			tt.play(s)
			if c := next(); len(c.Added) != 1 || c.Added[0].PIDs[0] != child.PID {
				t.Errorf("change %+v, want the probe of process %d", c, child.PID)
			}
			err := f.Polling()
			if (err != nil) != (tt.name == "source fails") {
				t.Errorf("polls: %v", err)
			}
			child.CloseInput()
			child.Wait()
			// No event tells of the end either: it is seen by looking.
			if c := next(); len(c.Removed) != 1 {
				t.Errorf("change %+v, want the probe removed", c)
			}
		})
	}
}

// An event about something that is not so, or not any more, changes nothing.
func TestFollowerDoubtsEvents(t *testing.T) {
	_, s, next := followScript(t, time.Hour, "doubts:here")
	next()
	child := tracee(t, "doubts")
	var m procmaps.Mapping
	for got, err := range executableFiles(child.PID) {
		if err == nil && strings.HasSuffix(got.Path, "/prog") {
			m = got
		}
	}
	moved := m
	moved.Start, moved.End = m.Start+1<<32, m.End+1<<32
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Skipf("skipped: %v", err)
	}
	gone := dead.Process.Pid
	ev := func(k procwatch.Kind, pid int, m procmaps.Mapping) procwatch.Event {
		return procwatch.Event{Kind: k, PID: pid, TID: pid, Mapping: m}
	}
	nowhere := procmaps.Mapping{Start: 1 << 20, End: 2 << 20, Inode: 1, Path: "/gone", Perms: procmaps.Exec}
	s.batches <- batch{events: []procwatch.Event{
		ev(procwatch.Map, gone, nowhere),
		ev(procwatch.Exec, gone, procmaps.Mapping{}),
		ev(procwatch.Exit, gone, procmaps.Mapping{}),
		ev(procwatch.Map, child.PID, nowhere),
	}}
	// The file is there, at another address.
	s.batches <- batch{events: []procwatch.Event{ev(procwatch.Map, child.PID, moved)}}
	if c := next(); len(c.Added) != 1 || len(c.Removed)+len(c.Problems) > 0 {
		t.Fatalf("change %+v, want one probe", c)
	}
	// It maps all that it did.
	s.batches <- batch{events: []procwatch.Event{ev(procwatch.Exec, child.PID, procmaps.Mapping{})}}
	s.batches <- batch{events: []procwatch.Event{ev(procwatch.Exit, child.PID, procmaps.Mapping{})}}
	syncPoint := tracee(t, "doubts")
	s.batches <- batch{lost: true}
	if c := next(); len(c.Added) != 1 || c.Added[0].PIDs[0] != syncPoint.PID || len(c.Removed) > 0 {
		t.Errorf("change %+v, want one more probe", c)
	}
}

// A file is read once, and a fault of it is told once, however often it is mapped.
func TestFollowerTellsFaultsOnce(t *testing.T) {
	// A note that ends in the middle, in a program like any other.
	bad := testutils.BuildC(t, `
		#include <stdio.h>
		__asm__(".pushsection .note.stapsdt,\"\",\"note\"\n.4byte 8, 100, 3\n.asciz \"stapsdt\"\n.popsection");
		int main(void) { puts("ready"); fflush(stdout); return getchar(); }`)
	f, s, next := followScript(t, time.Hour, "once:here")
	next()
	start := func() {
		c := testutils.Start(t, bad)
		c.ReadLine()
		s.batches <- batch{lost: true}
	}
	of := func(c Change) (n int) {
		for _, p := range c.Problems {
			var fe *FileError
			if errors.As(p, &fe) && fe.Path == bad {
				n++
			}
		}
		return n
	}
	start()
	if c := next(); of(c) != 1 {
		t.Fatalf("change %+v, want a fault of %s", c, bad)
	}
	tracee(t, "once")
	start()
	if c := next(); len(c.Added) != 1 || of(c) != 0 {
		t.Errorf("change %+v, want a probe and no fault that was told", c)
	}
	if !f.barren[identityAt(t, bad)] {
		t.Error("the file is not known")
	}
}

func identityAt(t *testing.T, path string) FileID {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	id, err := identityOf(st)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// The number of the one process is given to another one: that is the end, whether it
// is the exit that is told of late, or all of it is lost.
func TestFollowerOfReusedPID(t *testing.T) {
	child := tracee(t, "reused")
	for name, b := range map[string]batch{
		"exit": {events: []procwatch.Event{
			{Kind: procwatch.Exit, PID: child.PID, TID: child.PID},
			{Kind: procwatch.Map, PID: child.PID, Mapping: firstMapping(t, child.PID)},
		}},
		"lost": {lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{batches: make(chan batch, 1)}
			f, err := newFollower(&FollowOptions{PID: child.PID, Interval: time.Hour}, func(int) (eventSource, error) { return s, nil }, []string{"reused:here"})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			f.began += "0" // as if another process had had the number
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			s.batches <- b
			var added, removed int
			for c := range f.Changes(ctx) {
				added, removed = added+len(c.Added), removed+len(c.Removed)
			}
			if added != 1 || removed != 1 || ctx.Err() != nil {
				t.Errorf("%d targets added and %d removed (%v), want one each and the end", added, removed, ctx.Err())
			}
		})
	}
}

// firstMapping returns the mapping of the program of a process.
func firstMapping(t *testing.T, pid int) procmaps.Mapping {
	t.Helper()
	for m, err := range executableFiles(pid) {
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	t.Fatal("no mapping")
	return procmaps.Mapping{}
}
