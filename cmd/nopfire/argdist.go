package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/trace/probespec"
)

// maxLinearBuckets is how many buckets a linear histogram may have: as many as those of
// bpftrace.
const maxLinearBuckets = 1000

// argdistFlags are the flags of argdist.
type argdistFlags struct {
	countFlags
	specs      []distSpec // in their order
	top        int
	cumulative bool
	linear     linearFlag
	byProcess  bool
}

// A distSpec is a specification with the flag that it came with.
type distSpec struct {
	text string
	hist bool
}

// newArgdist returns the command that shows distributions.
func newArgdist() *cobra.Command {
	var f argdistFlags
	cmd := &cobra.Command{
		Use:   "argdist {-C SPEC | -H SPEC}... [-p PID] [flags] [-- COMMAND [ARG...]]",
		Short: "Count the values of arguments, or draw them as histograms",
		Long: `Count how often arguments of probes, or expressions of them, have which values (-C),
or draw the distribution of a number as a histogram (-H). Counting is done in the
kernel, and exact.

A SPEC is a probe, and behind it, if wanted, a condition and expressions:

  PROBE [(CONDITION)] [EXPRESSION, ...] [#LABEL]

or what the argdist of bcc takes, for USDT probes:

  u:PATH:PROBE():TYPE[, ...]:EXPRESSION[, ...][:CONDITION][#LABEL]

PROBE, CONDITION and EXPRESSION are those of nopfire trace. -C counts hits for each
combination of the values, and all hits if there are no expressions. -H draws the
last expression, and a histogram for each combination of the values of those before
it; the buckets are powers of two, or, with --linear, equal ranges. A string is read
up to --max-string bytes; in bcc's form char* is the type of a string.

Without an interval the result is printed in the end: after --duration, on an
interrupt, or with the process. With one, what has been counted since the last time
is printed, or all, with --cumulative.

` + countHelp,
		Example: `  sudo nopfire argdist -C 'myapp:request status' -p 4711
  sudo nopfire argdist -C 'myapp:request (status >= 500) path, status' -T 10 -i 1
  sudo nopfire argdist -H 'myapp:request took' -H 'myapp:request path, took' -d 10
  sudo nopfire argdist -H 'myapp:request status' --linear 0,600,100
  sudo nopfire argdist -C 'u:pthread:pthread_start():u64:arg2' -p 1337
  sudo nopfire argdist -H 'u:/usr/lib/libfoo.so:read():int:arg1:arg2 > 3#sizes' -i 1 -n 5
  sudo nopfire argdist -C 'urdt:backup:step arg1' --json -- ./backup.sh`,
		RunE: func(cmd *cobra.Command, args []string) error {
			extra, command := splitAtDash(args, cmd.ArgsLenAtDash())
			switch {
			case len(extra) > 0:
				return usagef("unexpected argument %q: want -C SPEC or -H SPEC; a command stands behind --", extra[0])
			case len(f.specs) == 0:
				return usagef("what is to be counted? Give -C SPEC or -H SPEC, such as -C 'myapp:request arg1'")
			case f.top < 0:
				return usagef("-T %d is negative", f.top)
			case f.opts.MaxString < 1 || f.opts.MaxString > trace.LimitKeyString:
				return usagef("--max-string %d is not within 1..%d", f.opts.MaxString, trace.LimitKeyString)
			}
			if err := f.check(cmd, command); err != nil {
				return err
			}
			c, err := f.plan()
			if err != nil {
				return err
			}
			c.out, c.errw = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return c.run(cmd, command, func(s *trace.Session) countView { return f.view(c) })
		},
	}
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	fl := cmd.Flags()
	fl.VarP(&distFlag{&f.specs, false}, "count", "C", "count the values that `SPEC` says; may be repeated")
	fl.VarP(&distFlag{&f.specs, true}, "histogram", "H", "draw the values that `SPEC` says; may be repeated")
	for _, name := range []string{"count", "histogram"} {
		completeFlag(cmd, name, completeProbes(&f.pid))
	}
	f.add(cmd, "t")
	fl.IntVarP(&f.top, "top", "T", 0, "print only the `N` largest counts of each -C")
	fl.BoolVarP(&f.cumulative, "cumulative", "c", false, "with an interval: print what was counted from the beginning")
	fl.VarP(&f.linear, "linear", "", "draw histograms with buckets of STEP from MIN up to MAX, given as `MIN,MAX,STEP`")
	fl.BoolVar(&f.byProcess, "by-process", false, "count apart for each process")
	fl.IntVarP(&f.opts.MaxString, "max-string", "z", defaultKeyString, "count strings by their first `BYTES`")
	fl.StringSliceVar(&f.opts.Strings, "string", nil, "read argument `[PROBE.]NAME` (or argN) as a string; may be repeated")
	return cmd
}

// defaultKeyString is how many bytes of a string are counted by, as in bcc.
const defaultKeyString = 80

// plan makes the query of the flags.
func (f *argdistFlags) plan() (*counter, error) {
	c := &counter{flags: &f.countFlags}
	var errs []error
	for _, spec := range f.specs {
		kind := trace.Count
		switch {
		case spec.hist && f.linear.Step != 0:
			kind = trace.LinearHist
		case spec.hist:
			kind = trace.Log2Hist
		}
		d, err := probespec.ParseDist(spec.text, kind)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		d.Clause.ByProcess = f.byProcess
		if kind == trace.LinearHist {
			d.Clause.Linear = trace.Linear(f.linear)
		}
		c.dists = append(c.dists, d)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var err error
	c.query, err = f.query(c.dists)
	return c, err
}

// view returns what shows the result.
func (f *argdistFlags) view(c *counter) countView {
	if f.json {
		return &countJSON{w: c.out, dists: c.dists, cumulative: f.cumulative || f.interval == 0}
	}
	return &distText{
		w: c.out, color: paletteFor(c.out), dists: c.dists, width: columnsOf(c.out),
		top: f.top, intervals: f.interval > 0, cumulative: f.cumulative || f.interval == 0,
	}
}

// A distFlag is -C or -H: both add to one list.
type distFlag struct {
	specs *[]distSpec
	hist  bool
}

func (d *distFlag) String() string { return "" }
func (d *distFlag) Type() string   { return "SPEC" }

func (d *distFlag) Set(text string) error {
	*d.specs = append(*d.specs, distSpec{text, d.hist})
	return nil
}

// A linearFlag is MIN,MAX,STEP.
type linearFlag trace.Linear

func (l *linearFlag) Type() string { return "MIN,MAX,STEP" }

func (l *linearFlag) String() string {
	if l.Step == 0 {
		return ""
	}
	return fmt.Sprintf("%d,%d,%d", l.Min, l.Max, l.Step)
}

func (l *linearFlag) Set(text string) error {
	parts := strings.Split(text, ",")
	if len(parts) != 3 {
		return errors.New("want MIN,MAX,STEP, such as 0,100,10")
	}
	for i, p := range []*int64{&l.Min, &l.Max, &l.Step} {
		n, err := strconv.ParseInt(strings.TrimSpace(parts[i]), 0, 64)
		if err != nil {
			return fmt.Errorf("%q is no number", parts[i])
		}
		*p = n
	}
	switch {
	case l.Min >= l.Max:
		return errors.New("MIN is not below MAX")
	case l.Step <= 0:
		return errors.New("STEP is not above 0")
	case l.buckets() > maxLinearBuckets:
		return fmt.Errorf("%d buckets: at most %d", l.buckets(), maxLinearBuckets)
	}
	return nil
}

// buckets returns how many ranges there are; the last may be a part of one.
func (l *linearFlag) buckets() uint64 {
	// Modulo 2^64 the difference is right even where it is none of an int64.
	return (uint64(l.Max)-uint64(l.Min)-1)/uint64(l.Step) + 1
}
