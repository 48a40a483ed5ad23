package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/trace/probespec"
)

// traceFlags are the flags of trace.
type traceFlags struct {
	pid, tid int
	uid      int64
	all      bool
	where    string
	name     string // of the thread, a part of it
	message  string // a part of it

	count    eventCount
	duration seconds
	rate     rateLimit

	json                  bool
	seconds, offset, unix bool // -T, -t, -u
	cpu                   bool
	opts                  trace.Options
}

// newTrace returns the command that traces probes.
func newTrace() *cobra.Command {
	f := traceFlags{uid: -1}
	cmd := &cobra.Command{
		Use:   "trace SPEC... [-p PID] [flags] [-- COMMAND [ARG...]]",
		Short: "Print the hits of probes with their arguments",
		Long: `Print the hits of probes with their arguments, one line each.

A SPEC is a probe, and behind it, if wanted, a condition, and what to print:

  PROBE [(CONDITION)] ["FORMAT",] [EXPRESSION, ...]

The probe is written in one of these ways. * and ? are wildcards in PROVIDER and
PROBE, an empty part is *.

  PROVIDER:PROBE               in everything that processes have mapped
  PATH:PROVIDER:PROBE          in one file; PATH may also be the name of a program
                               or library
  urdt:PROVIDER:NAME[/NARGS]   a tracepoint that is defined at run time; no
                               wildcards: it need not exist before it is fired
  u:PATH:[PROVIDER:]PROBE      as in the trace of bcc; a PATH of * is everything

Conditions and expressions are C. They know the arguments by their names, where
the object tells them, and as arg1, arg2, ...; pid, tid, uid, cpu, ts, comm;
string comparison (path == "/"), casts, and p->field where the type is known.
A FORMAT is that of printf. Without expressions all arguments are printed.

All processes are traced, also those that start later, or, with -p, one, with what
it maps later. With -p a PROVIDER:PROBE without wildcards must be there already, as it is
mistyped else; one of a file that is yet to be mapped is PATH:PROVIDER:PROBE. With a
COMMAND behind -- the command is started, and its process, not those that it starts, is
traced from its first instruction; its exit status is that of nopfire.

If a SPEC has a format or is written as in bcc, the columns are those of bcc's
trace -T, for all of them: TIME PID TID COMM FUNC and the message. Otherwise TIME,
to the microsecond, PID TID COMM PROBE and the arguments as name=value.

Tracing ends after --count events, after --duration, on an interrupt, or with the
process; what was gathered by then is printed. Events that were lost because they
came too fast are counted on standard error, and so are those beyond --rate-limit.
Against losses help a condition, a larger --buffer, and writing to a file.

An argument that cannot be read shows the reason in its place. Without metadata
arguments are integers: --string says which of them are addresses of strings, as
[PROBE.]NAME[/LENGTH]: PROBE is a pattern for the name of the probe, LENGTH the
argument that holds the number of bytes, for strings that do not end in a NUL.

More in docs/probe-texts.md, docs/expressions.md and docs/json.md.

Tracing needs the capabilities CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN).`,
		Example: `  sudo nopfire trace 'myapp:*'
  sudo nopfire trace -p 4711 'myapp:request (status >= 500) status, path' --json
  sudo nopfire trace 'myapp:request "%d for %s", status, path' --rate-limit 10/s
  sudo nopfire trace 'u:/usr/lib/libfoo.so:loop_iter "i=%d msg=%s", arg1, arg2' -p 4711 -T
  sudo nopfire trace /usr/lib/postgresql/15/bin/postgres:postgresql:query__start --string arg1
  sudo nopfire trace urdt:backup:step urdt:backup:failed/2 --where 'uid == 1000'
  sudo nopfire trace 'myapp:*' --count 10 -- ./myapp --verbose`,
		RunE: func(cmd *cobra.Command, args []string) error {
			specs, command := splitAtDash(args, cmd.ArgsLenAtDash())
			if err := f.check(cmd, specs, command); err != nil {
				return err
			}
			t, err := f.plan(specs)
			if err != nil {
				return err
			}
			t.out, t.errw = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return t.run(cmd, command)
		},
	}
	cmd.ValidArgsFunction = completeProbes(&f.pid)
	fl := cmd.Flags()
	fl.IntVarP(&f.pid, "pid", "p", 0, "trace process `PID`")
	completeFlag(cmd, "pid", completePIDs)
	fl.BoolVarP(&f.all, "all", "a", false, "trace all processes, also later ones: the default without -p")
	fl.IntVarP(&f.tid, "tid", "L", 0, "trace thread `TID`")
	fl.Int64Var(&f.uid, "uid", -1, "trace threads of user `UID`")
	fl.Lookup("uid").DefValue = "0" // what pflag takes for none, and does not print
	fl.StringVarP(&f.where, "where", "w", "", "a condition for all SPECs: an `EXPRESSION`")
	fl.StringVar(&f.name, "name", "", "print events of threads with `TEXT` in their name")
	fl.StringVarP(&f.message, "msg-filter", "f", "", "print events with `TEXT` in their message")
	fl.VarP(&f.count, "count", "n", "end after `N` events were printed")
	fl.VarP(&f.count, "max-events", "M", "as --count, for habits from bcc: end after `N` events")
	fl.VarP(&f.duration, "duration", "d", "end after `TIME`, such as 10s; a number alone is seconds")
	fl.Var(&f.rate, "rate-limit", "print at most `N[/s]` events a second, and count the others")
	fl.BoolVar(&f.json, "json", false, "print one JSON object an event")
	fl.BoolVarP(&f.seconds, "time", "T", false, "time of day in column TIME as HH:MM:SS, the default in bcc's columns")
	fl.BoolVarP(&f.offset, "timestamp", "t", false, "seconds since the start of the trace in column TIME")
	fl.BoolVarP(&f.unix, "unix-timestamp", "u", false, "with -t: seconds since 1970")
	fl.BoolVarP(&f.cpu, "print_cpu", "C", false, "print the processor in column CPU")
	fl.IntVarP(&f.opts.MaxString, "max-string", "Z", trace.DefaultMaxString, "keep up to `BYTES` of a string")
	fl.Var((*byteSize)(&f.opts.BufferSize), "buffer", "the `SIZE` of the buffer in which events wait, such as 64M (default 8M)")
	fl.StringSliceVar(&f.opts.Strings, "string", nil, "read argument `[PROBE.]NAME[/LENGTH]` (or argN) as a string; may be repeated")
	return cmd
}

// splitAtDash tells what stands before -- from what stands behind it; dash is -1 if
// there is none.
func splitAtDash(args []string, dash int) (before, behind []string) {
	if dash < 0 {
		return args, nil
	}
	return args[:dash], args[dash:]
}

// check looks for mistakes in the flags.
func (f *traceFlags) check(cmd *cobra.Command, specs, command []string) error {
	changed := cmd.Flags().Changed
	switch {
	case len(specs) == 0:
		return usagef("which probes are to be traced? Give PROVIDER:PROBE, such as 'myapp:*'; nopfire list shows what there is")
	case changed("pid") && f.pid <= 0:
		return usagef("-p %d: not a process id", f.pid)
	case changed("tid") && f.tid <= 0:
		return usagef("-L %d: not a thread id", f.tid)
	case f.pid != 0 && f.tid != 0:
		return usagef("-p and -L exclude each other: a thread has one process")
	case f.all && (f.pid != 0 || f.tid != 0):
		return usagef("--all and a process exclude each other")
	case cmd.ArgsLenAtDash() >= 0 && len(command) == 0:
		return usagef("no command behind --")
	case len(command) > 0 && (f.pid != 0 || f.tid != 0 || f.all):
		return usagef("-p, -L or --all and a command exclude each other")
	case changed("uid") && (f.uid < 0 || f.uid >= 1<<32-1):
		return usagef("--uid %d: not a user id", f.uid)
	case f.count < 0:
		return usagef("--count %d is negative", f.count)
	case f.duration < 0:
		return usagef("--duration %s is negative", time.Duration(f.duration))
	case f.json && (f.seconds || f.offset || f.unix || f.cpu):
		return usagef("--json has time and processor of each event: leave out -T, -t, -u and -C")
	case f.unix && !f.offset:
		return usagef("-u is for -t")
	case f.opts.MaxString < 1 || f.opts.MaxString > trace.LimitMaxString:
		return usagef("--max-string %d is not within 1..%d", f.opts.MaxString, trace.LimitMaxString)
	}
	if err := f.opts.Check(); err != nil {
		return usagef("%v", err)
	}
	return nil
}

// plan makes the query of the specifications and the flags.
func (f *traceFlags) plan(specs []string) (*tracer, error) {
	f.opts.ReuseArgs = true // an event is printed before the next one is asked for
	t := &tracer{flags: f, query: trace.Query{PID: f.pid, Options: &f.opts}}
	conditions, err := f.conditions()
	if err != nil {
		return nil, err
	}
	if err := forgottenQuotes(specs); err != nil {
		return nil, err
	}
	var errs []error
	for _, text := range specs {
		p, err := probespec.ParseTrace(text)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		p.Clause.Where = allOf(append([]string{p.Clause.Where}, conditions...))
		t.specs = append(t.specs, p)
		t.query.Clauses = append(t.query.Clauses, p.Clause)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if f.tid != 0 {
		if t.query.PID, err = processOf(f.tid); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// conditions returns those that the flags set for all specifications.
func (f *traceFlags) conditions() (all []string, err error) {
	if f.where != "" {
		where, err := probespec.ParseCondition(f.where)
		if err != nil {
			return nil, err
		}
		all = append(all, where)
	}
	if f.tid != 0 {
		all = append(all, fmt.Sprintf("tid == %d", f.tid))
	}
	if f.uid >= 0 {
		all = append(all, fmt.Sprintf("uid == %d", f.uid))
	}
	return all, nil
}

// allOf joins conditions, of which some may be empty. One alone stays as it is, so
// that an error in it shows it as it was written.
func allOf(conditions []string) string {
	var all []string
	for _, c := range conditions {
		if c != "" {
			all = append(all, c)
		}
	}
	if len(all) < 2 {
		return strings.Join(all, "")
	}
	return "(" + strings.Join(all, ") && (") + ")"
}

// processOf returns the process of a thread.
func processOf(tid int) (int, error) {
	path := fmt.Sprintf("/proc/%d/status", tid)
	status, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("no thread has the id %d", tid)
	}
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if v, ok := strings.CutPrefix(line, "Tgid:"); ok { // proc_pid_status(5)
			return strconv.Atoi(strings.TrimSpace(v))
		}
	}
	return 0, fmt.Errorf("%s has no Tgid", path)
}
