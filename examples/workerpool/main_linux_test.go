//go:build amd64 || arm64

package main

import (
	"context"
	"testing"
	"time"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/internal/testutils"
)

// The pool works, and each job can be followed from outside.
func TestTracedFromOutside(t *testing.T) {
	pool := testutils.Start(t, testutils.GoBuild(t, "."), "-workers", "2")
	pool.WriteLine("6")
	if got := pool.ReadLine(); got != "6: 2 3" {
		t.Fatalf("untraced, the pool says %q", got)
	}

	testutils.NeedBPF(t)
	s, err := trace.Start(trace.Query{PID: pool.PID, Clauses: []trace.Clause{{Pattern: "workerpool:*"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()

	// One job after the other, so that the order of the events is known
	// except for job__queued, which the reader of the input fires.
	for _, job := range []string{"999999000001", "five", "42"} {
		pool.WriteLine(job)
		pool.ReadLine()
	}
	pool.CloseInput()

	type done struct {
		ID          uint64
		Result, Err any
	}
	want := []done{
		{2, "999999000001", nil},
		{3, "", "not a number"},
		{4, "2 3 7", nil},
	}
	var got []done
	counts := map[string]int{}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for ev, err := range s.Events(ctx) { // until the pool ends
		if err != nil {
			t.Fatal(err)
		}
		counts[ev.Probe]++
		for _, a := range ev.Args {
			if a.Err != nil {
				t.Errorf("%s: %s: %v", ev.Probe, a.Name, a.Err)
			}
		}
		switch ev.Probe {
		case "job__start":
			if job := ev.Args[1]; job.Type != "*main.job" || job.Value == trace.Pointer(0) {
				t.Errorf("job is %s %v", job.Type, job)
			}
		case "job__done":
			got = append(got, done{ev.Args[1].Value.(uint64), ev.Args[2].Value, ev.Args[4].Value})
			if w := ev.Args[0].Value.(int64); w < 0 || w > 1 {
				t.Errorf("worker %d of 2", w)
			}
		}
	}
	if ctx.Err() != nil {
		t.Fatal("the pool does not end")
	}
	for _, probe := range []string{"job__queued", "job__start", "job__done"} {
		if counts[probe] != 3 {
			t.Errorf("%d events of %s, want 3", counts[probe], probe)
		}
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Errorf("job %d: %v, want %v", i, got[i], want[i])
		}
	}
}
