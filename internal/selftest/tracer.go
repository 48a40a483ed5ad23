package selftest

import (
	"context"
	"errors"
	"os"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/emit"
)

// provider is the name of the providers of the checks.
const provider = "selftest"

// newProvider returns a provider of this process, which goes with the check.
func newProvider(t *T, o *emit.Options) *emit.Provider {
	p, err := emit.NewProvider(provider, o)
	t.Must(err)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("close provider: %v", err)
		}
	})
	return p
}

// A tracer is a session that traces this process.
type tracer struct {
	t *T
	*trace.Session
}

// traceSelf traces probes of this process. It fails the check if any cannot be.
func traceSelf(t *T, patterns ...string) *tracer {
	q := trace.Query{PID: os.Getpid()}
	for _, p := range patterns {
		q.Clauses = append(q.Clauses, trace.Clause{Pattern: p})
	}
	return traceQuery(t, q)
}

// traceQuery starts a session, which goes with the check.
func traceQuery(t *T, q trace.Query) *tracer {
	s, err := trace.Start(q)
	t.Must(err)
	t.Cleanup(func() { s.Close() })
	for _, p := range s.Problems() {
		// Among all processes there may be some that nobody may look at.
		var unseen *usdt.ProcessError
		if q.PID != 0 || !errors.As(p, &unseen) {
			t.Errorf("not traced: %v", p)
		}
	}
	return &tracer{t, s}
}

// gather detaches the probes and returns all events since the start.
func (tr *tracer) gather() []trace.Event {
	// A sequence whose context is done gives what has been gathered, and no more.
	ctx, cancel := context.WithCancel(tr.t.ctx)
	cancel()
	var all []trace.Event
	for ev, err := range tr.Events(ctx) {
		if err != nil {
			tr.t.Errorf("%v", err)
			continue
		}
		all = append(all, ev)
	}
	return all
}

// expect ends the session, and compares its events with "PROVIDER:PROBE NAME=VALUE …".
func (tr *tracer) expect(want ...string) {
	var got []string
	for _, ev := range tr.gather() {
		got = append(got, ev.String())
	}
	equalLines(tr.t, "events", got, want)
}
