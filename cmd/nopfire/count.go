package main

import (
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/trace/probespec"
)

// newCount returns the command that counts hits.
func newCount() *cobra.Command {
	var f countFlags
	cmd := &cobra.Command{
		Use:   "count PROBE... [-p PID] [flags] [-- COMMAND [ARG...]]",
		Short: "Count the hits of probes, by probe and process",
		Long: `Count the hits of probes, for each probe and process. Counting is done in the kernel,
and exact.

PROBE is one of those of nopfire trace, with a condition, if wanted:

  PROVIDER:PROBE, PATH:PROVIDER:PROBE, urdt:PROVIDER:NAME[/NARGS],
  u:PATH:[PROVIDER:]PROBE, each with [(CONDITION)] [#LABEL] behind it

PROBE of the table has the condition, or the label instead, by which rows of one probe
are told apart, or else all of the text in brackets. A hit that several of them select
is counted for each; then the rows overlap, and there is no total.

On a terminal the table is renewed each second; otherwise it is printed in the end:
after --duration, on an interrupt, or with the process. With an interval, tables are
printed one after the other, of what has been counted since the last one. RATE is
hits a second: of the last second on a terminal, else of the time that the table is
for. Probes without a hit are named on standard error in the end.

` + countHelp,
		Example: `  sudo nopfire count 'myapp:*'
  sudo nopfire count -p 4711 'myapp:*' 'libstdcxx:*' --interval 5
  sudo nopfire count 'myapp:request (status >= 500)' --duration 10s --json
  sudo nopfire count 'myapp:*' -- ./myapp --verbose`,
		RunE: func(cmd *cobra.Command, args []string) error {
			probes, command := splitAtDash(args, cmd.ArgsLenAtDash())
			if len(probes) == 0 {
				return usagef("which probes are to be counted? Give PROVIDER:PROBE, such as 'myapp:*'; nopfire list shows what there is")
			}
			if err := f.check(cmd, command); err != nil {
				return err
			}
			c, err := f.planCount(probes)
			if err != nil {
				return err
			}
			c.out, c.errw = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return c.run(cmd, command, func(s *trace.Session) countView { return f.countView(c, s) })
		},
	}
	cmd.ValidArgsFunction = completeProbes(&f.pid)
	f.add(cmd, "L")
	return cmd
}

// planCount makes the query that counts the hits of probes.
func (f *countFlags) planCount(probes []string) (*counter, error) {
	if err := forgottenQuotes(probes); err != nil {
		return nil, err
	}
	c := &counter{flags: f}
	var errs []error
	for _, text := range probes {
		d, err := probespec.ParseDist(text, trace.Count)
		if err == nil && len(d.Clause.Capture) > 0 {
			err = usagef("%s has expressions: nopfire argdist -C counts their values", text)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		d.Clause.ByProcess = true
		c.dists = append(c.dists, d)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var err error
	c.query, err = f.query(c.dists)
	return c, err
}

// countView returns what shows the result.
func (f *countFlags) countView(c *counter, s *trace.Session) countView {
	if f.json {
		return &countJSON{w: c.out, dists: c.dists, cumulative: f.interval == 0}
	}
	v := &countText{w: c.out, errw: c.errw, color: paletteFor(c.out), dists: c.dists, intervals: f.interval > 0, probes: s.Probes}
	if _, lines := terminalSize(c.out); f.interval == 0 && lines > 0 && os.Getenv("TERM") != "dumb" {
		v.screen = &screen{w: c.out, height: func() int { _, lines := terminalSize(c.out); return lines }}
		c.errw = v.screen.above(c.errw)
		v.errw = c.errw
		f.interval = seconds(time.Second)
	}
	return v
}
