package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/trace/probespec"
)

// countHelp is the end of the help of argdist and count.
const countHelp = `All processes are traced, also those that start later, or, with -p, one. With a
COMMAND behind -- the command is started, and traced from its first instruction on;
probes that it defines at run time are traced some milliseconds after that. Its exit
status is that of nopfire.

Hits that could not be counted are told on standard error.
The JSON is described in docs/json.md.

Tracing needs the capabilities CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN).`

// minInterval is the shortest time between two outputs: it is for people, and a
// snapshot takes its time.
const minInterval = 10 * time.Millisecond

// countFlags are the flags that argdist and count share.
type countFlags struct {
	pid, tid int
	all      bool
	where    string
	interval seconds
	outputs  int
	duration seconds
	json     bool
	opts     trace.Options
}

// add adds the flags to a command; tid is the letter of --tid.
func (f *countFlags) add(cmd *cobra.Command, tid string) {
	fl := cmd.Flags()
	fl.IntVarP(&f.pid, "pid", "p", 0, "trace process `PID`")
	completeFlag(cmd, "pid", completePIDs)
	fl.BoolVarP(&f.all, "all", "a", false, "trace all processes, also later ones: the default without -p")
	fl.IntVarP(&f.tid, "tid", tid, 0, "trace thread `TID`")
	fl.StringVarP(&f.where, "where", "w", "", "a condition for all probes: an `EXPRESSION`")
	fl.VarP(&f.interval, "interval", "i", "print each time that `TIME` has passed, such as 500ms; a number alone is seconds")
	fl.IntVarP(&f.outputs, "number", "n", 0, "end after `N` outputs; the interval is a second unless -i says otherwise")
	fl.VarP(&f.duration, "duration", "d", "end after `TIME`, such as 10s; a number alone is seconds")
	fl.BoolVar(&f.json, "json", false, "print one JSON object for each line or histogram")
	fl.IntVar(&f.opts.MaxKeys, "max-keys", trace.DefaultMaxKeys, "count up to `N` different keys of each specification")
}

// check looks for mistakes in the flags.
func (f *countFlags) check(cmd *cobra.Command, command []string) error {
	changed := cmd.Flags().Changed
	switch {
	case changed("pid") && f.pid <= 0:
		return usagef("-p %d: not a process id", f.pid)
	case changed("tid") && f.tid <= 0:
		return usagef("--tid %d: not a thread id", f.tid)
	case f.pid != 0 && f.tid != 0:
		return usagef("-p and --tid exclude each other: a thread has one process")
	case f.all && (f.pid != 0 || f.tid != 0):
		return usagef("--all and a process exclude each other")
	case cmd.ArgsLenAtDash() >= 0 && len(command) == 0:
		return usagef("no command behind --")
	case len(command) > 0 && (f.pid != 0 || f.tid != 0 || f.all):
		return usagef("-p, --tid or --all and a command exclude each other")
	case changed("interval") && time.Duration(f.interval) < minInterval:
		return usagef("--interval %s: at least %s", time.Duration(f.interval), minInterval)
	case f.outputs < 0:
		return usagef("-n %d is negative", f.outputs)
	case f.duration < 0:
		return usagef("--duration %s is negative", time.Duration(f.duration))
	case f.opts.MaxKeys < 1 || f.opts.MaxKeys > maxMaxKeys:
		return usagef("--max-keys %d is not within 1..%d", f.opts.MaxKeys, maxMaxKeys)
	}
	if err := f.opts.Check(); err != nil {
		return usagef("%v", err)
	}
	if f.outputs > 0 && f.interval == 0 {
		f.interval = seconds(time.Second)
	}
	return nil
}

// maxMaxKeys keeps a slip of the finger from taking all memory.
const maxMaxKeys = 1 << 24

// query returns the query for clauses, with the conditions that the flags set.
func (f *countFlags) query(dists []*probespec.Dist) (trace.Query, error) {
	q := trace.Query{PID: f.pid, Options: &f.opts}
	var conditions []string
	if f.where != "" {
		where, err := probespec.ParseCondition(f.where)
		if err != nil {
			return q, err
		}
		conditions = append(conditions, where)
	}
	if f.tid != 0 {
		var err error
		if q.PID, err = processOf(f.tid); err != nil {
			return q, err
		}
		conditions = append(conditions, fmt.Sprintf("tid == %d", f.tid))
	}
	for _, d := range dists {
		clause := d.Clause // which keeps its own condition, to be shown
		clause.Where = allOf(append([]string{clause.Where}, conditions...))
		q.Clauses = append(q.Clauses, clause)
	}
	return q, nil
}
