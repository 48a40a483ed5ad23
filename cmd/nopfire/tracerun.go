package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/trace/probespec"
	"github.com/nopfire/nopfire/bpfside/usdt"
)

// A tracer is what one run of trace has to do.
type tracer struct {
	flags *traceFlags
	specs []*probespec.Probe // one for each clause
	query trace.Query
	out   io.Writer
	errw  io.Writer
	text  []byte // of the message that is looked at last
	// shared tells that a command writes to out as well.
	shared bool
}

// run traces until something ends it.
func (t *tracer) run(cmd *cobra.Command, command []string) (err error) {
	// The lines of a fast trace are garbage at once, and little is alive.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	child, err := holdTraced(&t.query, command, cmd)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, child.kill()) }()
	t.shared = child != nil
	start := time.Now()
	s, err := trace.Start(t.query)
	if err != nil {
		return err
	}
	defer s.Close()
	noteSome(t.errw, s.Problems())
	probes := s.Probes()
	introduce(t.errw, "tracing", &t.query, probes, child != nil)
	if t.flags.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(t.flags.duration))
		defer cancel()
	}
	p := t.printer(start, probes)
	// At once: it tells that the trace has begun.
	if _, err := io.WriteString(t.out, p.header()); err != nil {
		return err
	}
	if child != nil {
		if err := child.release(cancel); err != nil {
			return err
		}
	}
	enough, err := t.print(ctx, s, p)
	if child == nil {
		return err
	}
	status := child.outlive(ctx, err, enough)
	if err != nil {
		return err
	}
	for i := range t.without(s.Probes()) {
		fmt.Fprintf(t.errw, "nopfire: note: the command had no %s\n", printable(t.specs[i].Clause.Pattern))
	}
	return status
}

// without returns the indexes of the specifications that have none of the probes.
func (t *tracer) without(probes []trace.SessionProbe) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range t.specs {
			if !slices.ContainsFunc(probes, func(p trace.SessionProbe) bool { return p.Clause == i }) && !yield(i) {
				return
			}
		}
	}
}

// someProblems is how many problems are told at a time: a pattern for hundreds of probes
// may fit a condition of few, and a storm of processes may be none of ours to look at.
const someProblems = 10

// noteSome prints the first of many problems, and how many there are.
func noteSome(errw io.Writer, problems []error) {
	note(errw, problems[:min(len(problems), someProblems)]...)
	noteMore(errw, len(problems)-someProblems)
}

// noteMore says how many problems were not told.
func noteMore(errw io.Writer, n int) {
	switch {
	case n == 1:
		note(errw, errors.New("1 more problem like these"))
	case n > 1:
		note(errw, fmt.Errorf("%d more problems like these", n))
	}
}

// An eventSource is a session, or what a test has for one.
type eventSource interface {
	Events(context.Context) iter.Seq2[trace.Event, error]
}

// print prints the events of the source until it ends, or until as many were printed as
// are wanted: then that is enough.
func (t *tracer) print(ctx context.Context, s eventSource, p eventPrinter) (enough bool, err error) {
	size := lineBuffer
	if t.shared {
		size = sharedBuffer
	}
	w := newLineWriter(t.out, size)
	n := &traceNotes{w: t.errw, limit: rateLimiter{limit: t.flags.rate}}
	stop := n.each(time.Second)
	defer stop()
	defer func() { err = errors.Join(err, w.Flush()) }()
	var line []byte
	printed := 0
	for ev, err := range s.Events(ctx) {
		if err != nil {
			if n.take(err) {
				continue
			}
			return false, err
		}
		if !t.wants(&ev) || !n.pass(ev.Time) {
			continue
		}
		line = p.append(line[:0], &ev)
		if _, err := w.Write(line); err != nil {
			return false, nil // Flush has it
		}
		if printed++; printed == int(t.flags.count) {
			return true, nil
		}
	}
	return false, nil
}

// wants reports whether the name of the thread and the message are to be printed.
func (t *tracer) wants(ev *trace.Event) bool {
	if !strings.Contains(ev.Comm, t.flags.name) {
		return false
	}
	if t.flags.message == "" {
		return true
	}
	if format := t.specs[ev.Clause].Format; format != nil {
		t.text = format.Append(t.text[:0], ev.Args)
	} else {
		t.text = appendArgs(t.text[:0], ev.Args, false)
	}
	return bytes.Contains(t.text, []byte(t.flags.message))
}

// traceNotes says on standard error what was not printed, at most once a second: a
// flood of events is not to become a flood of notes.
type traceNotes struct {
	mu       sync.Mutex
	w        io.Writer
	limit    rateLimiter
	lost     []trace.LostError // by reason
	problems int               // since say
}

// pass reports whether an event is within the limit.
func (n *traceNotes) pass(at time.Time) bool {
	if n.limit.limit == 0 {
		return true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.limit.pass(at)
}

// take takes an error of the sequence of events, unless it is one that ends it.
func (n *traceNotes) take(err error) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	var problem *trace.ProblemError
	if errors.As(err, &problem) {
		if n.problems++; n.problems <= someProblems {
			note(n.w, problem)
		}
		return true
	}
	var lost *trace.LostError
	if !errors.As(err, &lost) {
		return false
	}
	i := slices.IndexFunc(n.lost, func(l trace.LostError) bool { return l.Reason == lost.Reason })
	if i < 0 {
		n.lost = append(n.lost, *lost)
	} else {
		n.lost[i].Count += lost.Count
	}
	return true
}

// say prints what is to be said.
func (n *traceNotes) say() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.lost {
		fmt.Fprintf(n.w, "nopfire: %v\n", &l)
	}
	n.lost = n.lost[:0]
	noteMore(n.w, n.problems-someProblems)
	n.problems = 0
	if s := n.limit.take(); s != "" {
		fmt.Fprintf(n.w, "nopfire: %s\n", s)
	}
}

// each calls say each time that an interval has passed, and a last time when the
// function that it returns is called.
func (n *traceNotes) each(interval time.Duration) (stop func()) {
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				n.say()
			case <-done:
				n.say()
				return
			}
		}
	}()
	return func() { close(done); <-ended }
}

// probeNames returns the names of the probes.
func probeNames(targets []*usdt.Target) []string {
	names := make([]string, len(targets))
	for i, t := range targets {
		names[i] = t.String()
	}
	return names
}

// probeCount returns the names of a few probes, or how many they are.
func probeCount(names []string) string {
	names = slices.Clone(names)
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) > 3 {
		return fmt.Sprintf("%d probes", len(names))
	}
	return printable(strings.Join(names, ", "))
}

// processName names what is traced.
func processName(pid int) string {
	if pid == 0 {
		return "all processes"
	}
	return fmt.Sprintf("process %d", pid)
}
