// Package selftest holds the checks of "nopfire selftest": what this module
// promises, shown on the running machine.
//
// A Check defines probes, traces them and compares what comes with what was fired,
// through the public packages alone: it reads as the promise that it holds. It needs
// no compiler, no other tool and no network. What the machine cannot do is probed
// first, and is the reason of a skip.
//
// The package may not know how results are printed, nor of package testing.
package selftest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"
)

// A Check is one promise.
type Check struct {
	// Group is the part of the module, and Name says what is promised.
	Group, Name string
	// Needs is what the machine must be able to do.
	Needs Need

	run func(*T)
}

// ID returns GROUP/NAME.
func (c Check) ID() string { return c.Group + "/" + c.Name }

// groups are the groups in the order in which they run, each with its checks.
var groups = []struct {
	name   string
	checks []Check
}{
	{"emit", emitChecks},
	{"elfgen", elfgenChecks},
	{"urdt", urdtChecks},
	{"usdt", usdtChecks},
	{"trace", traceChecks},
	{"bpfc", bpfcChecks},
	{"cli", cliChecks},
}

// Checks returns all checks in the order in which they run.
func Checks() []Check {
	var all []Check
	for _, g := range groups {
		for _, c := range g.checks {
			c.Group = g.name
			all = append(all, c)
		}
	}
	return all
}

// Groups returns the names of the groups in order.
func Groups() []string {
	var names []string
	for _, g := range groups {
		names = append(names, g.name)
	}
	return names
}

// Select returns the checks that one of the patterns GROUP or GROUP/NAME selects, in
// their order; all if there are none. Both parts may have *, ? and [ ], as path.Match
// has them. A pattern that selects nothing is an error.
func Select(patterns ...string) ([]Check, error) {
	all := Checks()
	if len(patterns) == 0 {
		return all, nil
	}
	wanted := make([]bool, len(all))
	for _, p := range patterns {
		group, name, both := strings.Cut(p, "/")
		if !both {
			name = "*"
		}
		found := false
		for i, c := range all {
			if match(group, c.Group) && match(name, c.Name) {
				wanted[i], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("no check is called %q: the groups are %s", p, strings.Join(Groups(), ", "))
		}
	}
	var some []Check
	for i, c := range all {
		if wanted[i] {
			some = append(some, c)
		}
	}
	return some, nil
}

// match reports whether a name fits a pattern; a malformed pattern fits nothing.
func match(pattern, name string) bool {
	// In a name a slash is a character as any other.
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
	return ok && err == nil
}

// A Status is how a check has ended.
type Status uint8

// The statuses.
const (
	Pass Status = iota
	Fail
	Skip
)

// String returns "pass", "fail" or "skip".
func (s Status) String() string {
	return [...]string{"pass", "fail", "skip"}[s]
}

// A Result is what came of a check.
type Result struct {
	Check
	Status Status
	// Reason is why it was skipped, or in one line how it failed.
	Reason string
	// Details are the further lines of a failure: what was expected and what came.
	Details []string
	Took    time.Duration
}

// DefaultTimeout is how long a check may take: it is no measure of anything, only
// the end of all hope.
const DefaultTimeout = 30 * time.Second

// grace is how long a check may take to end and to clean up once its time is over.
var grace = 5 * time.Second

// Options say how to run checks.
type Options struct {
	// Command is how to run the nopfire that is checked: its path, and arguments in
	// front of all others. It must know the hidden command ChildCommand, which calls
	// Child.
	Command []string
	// Timeout is how long one check may take; 0 is DefaultTimeout.
	Timeout time.Duration
}

// Run runs checks, one at a time and in their order, and yields what comes of each.
// It ends early when ctx is done: the check that was running then has no result.
func Run(ctx context.Context, checks []Check, o Options) iter.Seq[Result] {
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	return func(yield func(Result) bool) {
		for _, c := range checks {
			if ctx.Err() != nil {
				return
			}
			r := runCheck(ctx, c, o)
			if ctx.Err() != nil || !yield(r) {
				return
			}
		}
	}
}

// runCheck runs one check. One that does not end in time is left behind.
func runCheck(ctx context.Context, c Check, o Options) Result {
	start := time.Now()
	r := Result{Check: c, Status: Pass}
	if reason, err := c.Needs.missing(); err != nil {
		r.Status, r.Reason = Fail, err.Error()
		return r
	} else if reason != "" {
		r.Status, r.Reason = Skip, reason
		return r
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.Timeout, errTimeout)
	defer cancel()
	t := &T{ctx: ctx, command: o.Command}
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.runAndCleanUp(c.run)
	}()
	var late string
	select {
	case <-done:
	case <-ctx.Done():
		select {
		case <-done:
		case <-time.After(grace):
			late = stacks()
		}
	}
	r.Took = time.Since(start)
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := slices.Clone(t.lines)
	switch {
	case late != "":
		lines = append([]string{"still running after " + (o.Timeout + grace).String()}, append(lines, strings.Split(late, "\n")...)...)
	case errors.Is(context.Cause(ctx), errTimeout):
		lines = append([]string{"not done within " + o.Timeout.String()}, lines...)
	case t.skip != "" && !t.failed:
		r.Status, r.Reason = Skip, t.skip
		return r
	case !t.failed:
		return r
	}
	r.Status = Fail
	if len(lines) > 0 {
		r.Reason, r.Details = lines[0], lines[1:]
	}
	return r
}

// errTimeout is why the context of a check is done that took too long.
var errTimeout = errors.New("the time of the check is over")

// stacks returns where the goroutines of a check are that does not end.
func stacks() string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var own []string
	for _, g := range strings.Split(strings.TrimSpace(string(buf)), "\n\n") {
		// What a check has called has the guard of the check at its bottom.
		if strings.Contains(g, ".(*T).guard.func1(") {
			own = append(own, g)
		}
	}
	return strings.Join(own, "\n")
}
