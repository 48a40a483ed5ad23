package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/trace/probespec"
)

// A counter is what one run of argdist or count has to do.
type counter struct {
	flags *countFlags
	dists []*probespec.Dist // one for each clause
	query trace.Query
	out   io.Writer
	errw  io.Writer
}

// counted is what was counted between two times.
type counted struct {
	rows     []trace.Row
	from, to time.Time
	// last tells that nothing comes after.
	last bool
}

// A countView shows what was counted.
type countView interface {
	show(c *counted) error
}

// A countSource is a session, or what a test has for one.
type countSource interface {
	Events(context.Context) iter.Seq2[trace.Event, error]
	Rows() ([]trace.Row, error)
}

// run counts until something ends it. The view is asked for when the session is there.
func (c *counter) run(cmd *cobra.Command, command []string, view func(*trace.Session) countView) (err error) {
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	child, err := holdTraced(&c.query, command, cmd)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, child.kill()) }()
	s, err := trace.Start(c.query)
	if err != nil {
		return err
	}
	defer s.Close()
	noteSome(c.errw, s.Problems())
	introduce(c.errw, "counting", &c.query, s.Probes(), child != nil)
	if c.flags.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(c.flags.duration))
		defer cancel()
	}
	v := view(s)
	if child != nil {
		if err := child.release(cancel); err != nil {
			return err
		}
	}
	enough, err := c.count(ctx, s, v)
	if child == nil {
		return err
	}
	if status := child.outlive(ctx, err, enough); err == nil {
		err = status
	}
	return err
}

// count shows what the source counts, each interval or once in the end, until it ends
// or until as much was shown as is wanted: then that is enough. The last snapshot is
// taken when the probes are detached, so it has every hit.
func (c *counter) count(ctx context.Context, s countSource, view countView) (enough bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	n := &traceNotes{w: c.errw}
	stop := n.each(time.Second)
	full := false
	defer func() {
		stop()
		if full {
			fmt.Fprintln(c.errw, "nopfire: note: --max-keys N counts more keys")
		}
	}()
	ended := make(chan error, 1)
	go func() {
		var broken error
		for _, err := range s.Events(ctx) {
			var lost *trace.LostError
			full = full || errors.As(err, &lost) && lost.Reason == trace.TooManyKeys
			if err != nil && !n.take(err) {
				broken = err
				break
			}
		}
		ended <- broken
	}()
	running := true
	defer func() {
		cancel()
		if running {
			<-ended
		}
	}()

	var tick <-chan time.Time
	if c.flags.interval > 0 {
		ticker := time.NewTicker(time.Duration(c.flags.interval))
		defer ticker.Stop()
		tick = ticker.C
	}
	from := time.Now()
	for shown := 1; ; shown++ {
		var broken error
		select {
		case broken = <-ended:
			running = false
		case <-tick:
			enough = shown == c.flags.outputs
		}
		if enough { // the last output has all hits up to its end
			cancel()
			broken = <-ended
			running = false
		}
		to := time.Now()
		rows, err := s.Rows()
		if err != nil {
			return enough, errors.Join(broken, err)
		}
		if err := view.show(&counted{rows: rows, from: from, to: to, last: !running}); err != nil {
			return enough, errors.Join(broken, err)
		}
		if !running {
			return enough, broken
		}
		from = to
	}
}
