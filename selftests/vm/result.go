package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/nopfire/nopfire/selftests/vm/internal/plan"
)

// readLines gives each line of a serial console to a function, without its end.
func readLines(r io.Reader, line func(string)) error {
	for in := bufio.NewReader(r); ; {
		s, err := in.ReadString('\n')
		if s != "" {
			line(strings.TrimRight(s, "\r\n"))
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// A result is what a machine has said.
type result struct {
	machine string
	release string // of the kernel
	groups  []*groupResult
	faults  []string // of init, and warnings of the kernel
	stray   []string // what the kernel has printed: its last words, if it died
	done    bool
	took    time.Duration
}

// A groupResult is what a group has said.
type groupResult struct {
	name    string
	status  string // "" if it has not ended
	seconds string
	output  []byte
	tests   []test
}

// A test is a test that has no tests below it.
type test struct {
	name   string
	action string // "pass", "fail", "skip", or "unfinished"
	output string
	why    string // it was skipped, if that is not in the output
}

// line takes a line of the console.
func (r *result) line(s string) {
	var g *groupResult
	if n := len(r.groups); n > 0 && r.groups[n-1].status == "" {
		g = r.groups[n-1]
	}
	// What the kernel or the firmware prints may stand before the mark.
	if out, ok := strings.CutPrefix(s, plan.Output); ok && g != nil {
		g.output = append(append(g.output, out...), '\n')
		return
	}
	words, ok := plan.ParseNote(s)
	switch {
	case !ok:
		if strings.TrimSpace(s) != "" {
			r.stray = append(r.stray, s)
		}
	case words[0] == plan.Kernel && len(words) > 1:
		r.release = words[1]
	case words[0] == plan.Begin && len(words) > 1:
		r.groups = append(r.groups, &groupResult{name: words[1]})
	case words[0] == plan.End && len(words) > 3 && g != nil && g.name == words[1]:
		g.status, g.seconds = words[2], words[3]
	case words[0] == plan.Fault && len(words) > 1:
		r.faults = append(r.faults, words[1])
	case words[0] == plan.Done:
		r.done = true
	default:
		r.stray = append(r.stray, s)
	}
}

// event is a line of test2json.
type event struct {
	Action, Test, Output string
}

// parseChecks makes tests of the output of nopfire selftest --json (docs/json.md).
func (g *groupResult) parseChecks() {
	for line := range bytes.Lines(g.output) {
		var c struct{ Kind, Group, Name, Status, Reason string }
		if json.Unmarshal(line, &c) != nil || c.Kind != "check" {
			continue
		}
		g.tests = append(g.tests, test{name: c.Group + "/" + c.Name, action: c.Status, output: string(line), why: c.Reason})
	}
}

// parse makes tests of the output of a group of tests in Go.
func (g *groupResult) parse() error {
	cmd := exec.Command("go", "tool", "test2json")
	cmd.Stdin = bytes.NewReader(g.output)
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go tool test2json: %w", err)
	}
	return g.parseEvents(bytes.NewReader(out))
}

func (g *groupResult) parseEvents(r io.Reader) error {
	byName := make(map[string]*test)
	parents := make(map[string]bool)
	var order []*test
	for dec := json.NewDecoder(r); ; {
		var e event
		if err := dec.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		if e.Test == "" {
			continue
		}
		t := byName[e.Test]
		if t == nil {
			t = &test{name: e.Test, action: "unfinished"}
			byName[e.Test] = t
			order = append(order, t)
			for i, c := range e.Test {
				if c == '/' {
					parents[e.Test[:i]] = true
				}
			}
		}
		switch e.Action {
		case "pass", "fail", "skip":
			t.action = e.Action
		case "output":
			t.output += e.Output
		}
	}
	for _, t := range order {
		// A test with tests below counts if it failed by itself.
		if !parents[t.name] || t.action == "fail" && !failsBelow(order, t.name) || t.action == "unfinished" {
			g.tests = append(g.tests, *t)
		}
	}
	return nil
}

func failsBelow(tests []*test, name string) bool {
	for _, t := range tests {
		if t.action == "fail" && strings.HasPrefix(t.name, name+"/") {
			return true
		}
	}
	return false
}

// count returns the number of tests with an action.
func (g *groupResult) count(action string) int {
	n := 0
	for _, t := range g.tests {
		if t.action == action {
			n++
		}
	}
	return n
}

// bad tells whether a group has a fault.
func (g *groupResult) bad() bool {
	return g.status != "0" || g.count("fail") > 0 || g.count("unfinished") > 0 || len(g.tests) == 0
}

// logLine is a line that a test has logged: file, line number, text.
var logLine = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)$`)

// reason returns why a test was skipped: the last line that it has logged.
func (t *test) reason() string {
	if t.why != "" {
		return t.why
	}
	reason := "no reason given"
	for line := range strings.Lines(t.output) {
		if m := logLine.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
			reason = strings.TrimPrefix(m[1], "skipped: ")
		}
	}
	return reason
}
