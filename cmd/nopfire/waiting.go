package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/procmaps"
)

// introduce says what is traced, to somebody at a terminal, and what is not there yet,
// to everybody. Doing is what the command does; of a command that is held nothing can be
// there yet.
func introduce(errw io.Writer, doing string, q *trace.Query, probes []trace.SessionProbe, held bool) {
	found := make([]bool, len(q.Clauses))
	var names []string
	for _, p := range probes {
		found[p.Clause] = true
		names = append(names, p.Provider+":"+p.Name)
	}
	for i := range q.Clauses {
		if !held {
			noteWaiting(errw, q.PID, &q.Clauses[i], found[i])
		}
		if len(probes) == 0 {
			names = append(names, q.Clauses[i].Pattern)
		}
	}
	if isTerminal(errw) {
		fmt.Fprintf(errw, "nopfire: %s %s in %s; Ctrl-C ends\n", doing, probeCount(names), processName(q.PID))
	}
}

// noteWaiting says what of a clause is not there yet: else nobody could tell a probe
// that does not fire from one that nothing has mapped. Attached tells that the session
// has attached to something for it.
func noteWaiting(errw io.Writer, pid int, c *trace.Clause, attached bool) {
	what := ""
	switch {
	case pid == 0 && !attached:
		what = "no process has " + printable(c.Pattern) + " yet"
	case c.Path == "" && !attached:
		what = processName(pid) + " has no " + printable(c.Pattern) + " yet"
	case c.Path == "":
	case pid == 0 && !anyMaps(c.Path):
		what = "no process has mapped " + printable(c.Path) + " yet"
	case pid != 0 && !mapsProbe(pid, c.Pattern):
		what = processName(pid) + " has not mapped " + printable(c.Path)
	}
	if what != "" {
		fmt.Fprintf(errw, "nopfire: note: %s; waiting\n", what)
	}
}

// mapsProbe reports whether a process has mapped probes like those of a pattern: a file
// is attached to in any case, and may be another one by now than what a process has
// mapped under its name.
func mapsProbe(pid int, pattern string) bool {
	_, err := usdt.ProcessTargets(pid, pattern)
	return !errors.Is(err, usdt.ErrNoProbe)
}

// anyMaps reports whether some process has mapped a file executable that is called as
// the one that a name means, wherever that process sees it. It is true if that cannot be
// known.
func anyMaps(name string) bool {
	path, err := usdt.FindFile(name)
	if err != nil {
		return true
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	base := filepath.Base(path)
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return true
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		for m, err := range procmaps.Of(pid) {
			if err == nil && m.Perms&procmaps.Exec != 0 && filepath.Base(m.Path) == base {
				return true
			}
		}
	}
	return false
}
