package main

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nopfire/nopfire/bpfside/trace"
)

// fakeCounts is a session that counts 10 more with each snapshot. Its events are errors,
// and end with the context, unless ends says that they end by themselves.
type fakeCounts struct {
	events []error
	ends   bool
	rowErr error

	asked    int
	detached bool
}

func (f *fakeCounts) Events(ctx context.Context) iter.Seq2[trace.Event, error] {
	return func(yield func(trace.Event, error) bool) {
		defer func() { f.detached = true }()
		for _, err := range f.events {
			if !yield(trace.Event{}, err) {
				return
			}
		}
		if !f.ends {
			<-ctx.Done()
		}
	}
}

func (f *fakeCounts) Rows() ([]trace.Row, error) {
	f.asked += 10
	return []trace.Row{{Count: uint64(f.asked)}}, f.rowErr
}

// fakeView keeps what it is shown, and cancels when it has seen enough.
type fakeView struct {
	counts []uint64
	last   []bool
	err    error
	enough int
	cancel func()
}

func (v *fakeView) show(c *counted) error {
	v.counts = append(v.counts, c.rows[0].Count)
	v.last = append(v.last, c.last)
	if len(v.counts) == v.enough {
		v.cancel()
	}
	return v.err
}

func TestCountLoop(t *testing.T) {
	broken := errors.New("broken")
	const tick = seconds(time.Millisecond)
	for _, row := range []struct {
		name   string
		flags  countFlags
		source fakeCounts
		view   fakeView
		want   []uint64 // shown
		notes  string
		err    error
	}{
		{"the end of the process", countFlags{}, fakeCounts{ends: true}, fakeView{}, []uint64{10}, "", nil},
		{"three outputs", countFlags{interval: tick, outputs: 3}, fakeCounts{}, fakeView{}, []uint64{10, 20, 30}, "", nil},
		{"an interrupt, and what was gathered by then", countFlags{interval: tick}, fakeCounts{}, fakeView{enough: 2}, []uint64{10, 20, 30}, "", nil},
		{
			"losses and problems", countFlags{},
			fakeCounts{ends: true, events: []error{
				&trace.LostError{Count: 3, Reason: trace.TooManyKeys}, &trace.LostError{Count: 2, Reason: trace.TooManyKeys},
				&trace.ProblemError{Err: errors.New("no access")},
			}},
			fakeView{},
			[]uint64{10},
			"nopfire: note: no access\nnopfire: 5 hits not counted: too many different keys\nnopfire: note: --max-keys N counts more keys\n", nil,
		},
		{"an error of the session, after what was counted", countFlags{}, fakeCounts{events: []error{broken}}, fakeView{}, []uint64{10}, "", broken},
		{"no snapshot", countFlags{}, fakeCounts{ends: true, rowErr: broken}, fakeView{}, nil, "", broken},
		{"nobody reads", countFlags{interval: tick}, fakeCounts{}, fakeView{err: broken}, []uint64{10}, "", broken},
	} {
		t.Run(row.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			row.view.cancel = cancel
			var notes strings.Builder
			c := &counter{flags: &row.flags, errw: &notes}
			enough, err := c.count(ctx, &row.source, &row.view)
			if enough != (row.flags.outputs > 0) {
				t.Errorf("enough is %v", enough)
			}
			if !errors.Is(err, row.err) || row.err == nil && err != nil {
				t.Errorf("error %v, want %v", err, row.err)
			}
			if !row.source.detached {
				t.Error("Events has not ended")
			}
			if !slices.Equal(row.view.counts, row.want) {
				// An interrupt may come with a tick.
				if row.view.enough == 0 || len(row.view.counts) < len(row.want) {
					t.Errorf("shown %v, want %v", row.view.counts, row.want)
				}
			}
			if n := len(row.view.last); n > 0 && row.err == nil && (slices.Index(row.view.last, true) != n-1) {
				t.Errorf("last is %v", row.view.last)
			}
			if notes.String() != row.notes {
				t.Errorf("notes %q, want %q", &notes, row.notes)
			}
		})
	}
}
