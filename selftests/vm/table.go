package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// ok tells whether a machine has run n groups without a fault.
func (r *result) ok(n int) bool {
	return r.done && len(r.groups) == n && len(r.faults) == 0 && !slices.ContainsFunc(r.groups, (*groupResult).bad)
}

// printResults prints, in this order, so that the table ends it: what failed, why
// tests were skipped, and a table of machines and groups.
func printResults(w io.Writer, results []*result, gs []group) {
	for _, r := range results {
		r.printFaults(w)
	}
	printSkips(w, results)
	fmt.Fprint(w, "\nok/failed/skipped, by group and kernel\n\n")
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(tw, "group")
	for _, r := range results {
		fmt.Fprintf(tw, "\t%s", r.machine)
	}
	fmt.Fprintln(tw)
	for _, g := range gs {
		fmt.Fprint(tw, g.name)
		for _, r := range results {
			fmt.Fprintf(tw, "\t%s", r.cell(g.name))
		}
		fmt.Fprintln(tw)
	}
	fmt.Fprint(tw, "kernel")
	for _, r := range results {
		fmt.Fprintf(tw, "\t%s", cmpOr(r.release, "did not boot"))
	}
	fmt.Fprint(tw, "\nseconds")
	for _, r := range results {
		fmt.Fprintf(tw, "\t%d", int(r.took/time.Second))
	}
	fmt.Fprintln(tw)
	tw.Flush()
}

func cmpOr(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// cell is the entry of the table for a group.
func (r *result) cell(name string) string {
	for _, g := range r.groups {
		if g.name != name {
			continue
		}
		s := fmt.Sprintf("%d/%d/%d", g.count("pass"), g.count("fail")+g.count("unfinished"), g.count("skip"))
		if g.bad() {
			s += " status " + cmpOr(g.status, "none")
		}
		return s
	}
	return "not run"
}

// printFaults prints what is wrong, with all that is known of it.
func (r *result) printFaults(w io.Writer) {
	for _, g := range r.groups {
		if !g.bad() {
			continue
		}
		fmt.Fprintf(w, "\n== %s %s: status %s\n", r.machine, g.name, cmpOr(g.status, "none"))
		explained := false
		for _, t := range g.tests {
			if t.action == "fail" || t.action == "unfinished" {
				explained = true
				fmt.Fprintf(w, "-- %s %s\n%s", t.action, t.name, tail(t.output, 40))
			}
		}
		if !explained {
			fmt.Fprint(w, tail(string(g.output), 40))
		}
	}
	for _, f := range r.faults {
		fmt.Fprintf(w, "\n== %s: %s\n", r.machine, f)
	}
	if !r.done {
		fmt.Fprintf(w, "\n== %s: did not come to its end; the last that it has printed:\n%s\n", r.machine,
			tail(strings.Join(r.stray, "\n"), 30))
	}
}

// tail returns the last n lines of a text.
func tail(s string, n int) string {
	lines := slices.Collect(strings.Lines(s))
	return strings.Join(lines[max(0, len(lines)-n):], "")
}

// printSkips prints the reasons of skipped tests, each once, with the machines
// and the number of tests that it holds for.
func printSkips(w io.Writer, results []*result) {
	type key struct{ group, reason string }
	counts := make(map[key][]int)
	var keys []key
	for i, r := range results {
		for _, g := range r.groups {
			for _, t := range g.tests {
				if t.action != "skip" {
					continue
				}
				k := key{g.name, t.reason()}
				if counts[k] == nil {
					counts[k] = make([]int, len(results))
					keys = append(keys, k)
				}
				counts[k][i]++
			}
		}
	}
	if len(keys) == 0 {
		return
	}
	fmt.Fprint(w, "\nskipped, with the reason\n\n")
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, k := range keys {
		for _, n := range counts[k] {
			fmt.Fprintf(tw, "%d\t", n)
		}
		fmt.Fprintf(tw, "%s\t%s\n", k.group, k.reason)
	}
	tw.Flush()
}
