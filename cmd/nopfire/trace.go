package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/usdt"
)

// traceFlags are the flags of trace.
type traceFlags struct {
	pid      int
	count    int
	duration time.Duration
	json     bool
	opts     trace.Options
}

// newTrace returns the command that traces probes.
func newTrace() *cobra.Command {
	var f traceFlags
	cmd := &cobra.Command{
		Use:   "trace [-p PID] {PROVIDER:PROBE | urdt:PROVIDER:NAME[/NARGS]}...",
		Short: "Print the hits of probes with their arguments",
		Long: `Print the hits of probes with their arguments, one line each.

The probes are those of everything that the process has mapped, and of what it
maps later. PROVIDER:PROBE selects them; * and ? are wildcards, an empty part
is *.

urdt:PROVIDER:NAME is a tracepoint that is defined at run time, fired with any
number of arguments; with /2 behind it, with two. No wildcards: a name need not
exist anywhere before it is fired. Without -p it is traced in all processes,
also those that start later. Arguments have the types that a process has
registered for the name, from about a second after it did, and are integers
otherwise.

Tracing ends after --count events, after --duration, on an interrupt, or with
the process; what was gathered by then is printed. Events that were lost
because they came too fast are counted on standard error.

An argument that cannot be read shows the reason in its place. Without metadata
arguments are integers: --string says which of them are addresses of strings, as
[PROBE.]NAME[/LENGTH]: PROBE is a pattern for the name of the probe, LENGTH the
argument that holds the number of bytes, for strings that do not end in a NUL.
The JSON is described in docs/json.md.

Tracing needs the capabilities CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN).`,
		Example: `  sudo nopfire trace -p 4711 'myapp:request'
  sudo nopfire trace -p 4711 'myapp:*' --count 10 --json
  sudo nopfire trace -p $(pidof postgres | cut -d' ' -f1) postgresql:query__start --string arg1
  sudo nopfire trace urdt:backup:step urdt:backup:failed/2
  sudo nopfire trace -p $(pidof java) hotspot:class__loaded --string arg1/arg2`,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			switch {
			case len(patterns) == 0:
				return usagef("which probes are to be traced? Give PROVIDER:PROBE, such as 'myapp:*'; nopfire list shows what there is")
			case cmd.Flags().Changed("pid") && f.pid <= 0:
				return usagef("-p %d: not a process id", f.pid)
			case f.count < 0:
				return usagef("--count %d is negative", f.count)
			case f.duration < 0:
				return usagef("--duration %s is negative", f.duration)
			case f.opts.MaxString < 1 || f.opts.MaxString > trace.LimitMaxString:
				return usagef("--max-string %d is not within 1..%d", f.opts.MaxString, trace.LimitMaxString)
			}
			probes, err := f.splitNames(patterns)
			if err != nil {
				return usagef("%v", err)
			}
			if f.pid == 0 && len(probes) > 0 {
				return usagef("which process is to be traced? Give -p PID")
			}
			return runTrace(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), &f, probes)
		},
	}
	cmd.Flags().IntVarP(&f.pid, "pid", "p", 0, "trace process `PID`")
	cmd.Flags().IntVarP(&f.count, "count", "n", 0, "end after `N` events")
	cmd.Flags().DurationVarP(&f.duration, "duration", "d", 0, "end after this time, such as 10s")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object an event")
	cmd.Flags().IntVar(&f.opts.MaxString, "max-string", trace.DefaultMaxString, "keep up to `BYTES` of a string")
	cmd.Flags().StringSliceVar(&f.opts.Strings, "string", nil, "read argument `[PROBE.]NAME[/LENGTH]` (or argN) as a string; may be repeated")
	return cmd
}

// splitNames puts the names of URDT into the options and returns the patterns that
// are left.
func (f *traceFlags) splitNames(patterns []string) (probes []string, err error) {
	for _, p := range patterns {
		name, isURDT, err := trace.ParseURDTName(p)
		if err != nil {
			return nil, err
		}
		if isURDT {
			f.opts.URDT = append(f.opts.URDT, name)
			continue
		}
		if _, err := usdt.ParsePattern(p); err != nil {
			return nil, err
		}
		probes = append(probes, p)
	}
	return probes, nil
}

// runTrace traces until something ends it: probes in the process, and the names in
// the options.
func runTrace(ctx context.Context, out, errw io.Writer, f *traceFlags, patterns []string) error {
	found := new(usdt.Result)
	if len(patterns) > 0 {
		var err error
		if found, err = usdt.ProcessTargets(f.pid, patterns...); err != nil {
			note(errw, found.Problems...)
			return err
		}
	}
	names := probeNames(found.Targets)
	if len(f.opts.URDT) > 0 {
		patterns = append(patterns, trace.URDTPattern)
	}
	for _, n := range f.opts.URDT {
		names = append(names, n.Provider+":"+n.Name)
	}
	// What the process maps later is traced too.
	follower, err := usdt.NewFollower(&usdt.FollowOptions{PID: f.pid}, patterns...)
	if err != nil {
		return err
	}
	s, err := trace.NewFollowingSession(follower, &f.opts)
	if err != nil {
		return err
	}
	defer s.Close()
	note(errw, s.Problems()...)
	if f.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.duration)
		defer cancel()
	}
	if isTerminal(errw) {
		fmt.Fprintf(errw, "nopfire: tracing %s in %s; Ctrl-C ends\n", probeCount(names), processName(f.pid))
	}
	return printEvents(ctx, s, out, errw, f, names)
}

// printEvents prints the events of the session until it ends.
func printEvents(ctx context.Context, s *trace.Session, out, errw io.Writer, f *traceFlags, names []string) error {
	w := newLineWriter(out)
	var print func(*trace.Event) error
	if f.json {
		var line []byte
		print = func(ev *trace.Event) error {
			line = append(appendEvent(line[:0], ev), '\n')
			_, err := w.Write(line)
			return err
		}
	} else {
		cols := newEventColumns(paletteFor(out), names)
		if _, err := io.WriteString(w, cols.header()); err != nil {
			return err
		}
		if err := w.Flush(); err != nil {
			return err
		}
		print = func(ev *trace.Event) error {
			_, err := io.WriteString(w, cols.line(ev))
			return err
		}
	}

	n := 0
	for ev, err := range s.Events(ctx) {
		var lost *trace.LostError
		if errors.As(err, &lost) {
			fmt.Fprintf(errw, "nopfire: %v\n", lost)
			continue
		}
		var problem *trace.ProblemError
		if errors.As(err, &problem) {
			note(errw, problem)
			continue
		}
		if err != nil {
			return errors.Join(w.Flush(), err)
		}
		if err := print(&ev); err != nil {
			return err
		}
		if n++; n == f.count {
			break
		}
	}
	return w.Flush()
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
