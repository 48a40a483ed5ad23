package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/trace/probespec"
)

// countText prints hits by probe and process, the most first.
type countText struct {
	w, errw   io.Writer
	color     palette
	dists     []*probespec.Dist
	intervals bool    // tables one after the other
	screen    *screen // one table that is renewed; nil: one in the end
	probes    func() []trace.SessionProbe
	dists     []*probespec.Dist // one for each clause

	differ rowDiffer
	from   time.Time // when counting began
}

func (v *countText) show(c *counted) error {
	if v.from.IsZero() {
		v.from = c.from
	}
	span := c.to.Sub(c.from)
	switch {
	case v.intervals:
		rows := v.differ.since(c.rows)
		if !c.last || len(rows) > 0 {
			heading := v.color.dim(c.to.Format("[15:04:05]")) + "\n"
			if _, err := io.WriteString(v.w, heading+v.table(rows, rows, span)); err != nil {
				return err
			}
		}
	case v.screen == nil:
		if _, err := io.WriteString(v.w, v.table(c.rows, c.rows, span)); err != nil {
			return err
		}
	case c.last:
		if err := v.screen.leave(v.table(c.rows, c.rows, c.to.Sub(v.from))); err != nil {
			return err
		}
	default:
		return v.screen.draw(v.table(c.rows, v.differ.since(c.rows), span))
	}
	if c.last {
		v.noteWithout(c.rows)
	}
	return nil
}

// table returns the table of rows. The rates are those of what was counted lately within
// a time.
func (v *countText) table(rows, lately []trace.Row, within time.Duration) string {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b trace.Row) int { return cmp.Compare(b.Count, a.Count) })
	recent := make(map[string]uint64, len(lately))
	for i := range lately {
		recent[string(appendRowKey(nil, &lately[i]))] = lately[i].Count
	}
	name := v.namer(rows)
	names := v.names()
	var b strings.Builder
	b.WriteString(v.color.dim(fmt.Sprintf("%10s %10s %-7s %-15s %s", "COUNT", "RATE", "PID", "COMM", "PROBE")) + "\n")
	var total, totalRecent uint64
	for i := range rows {
		r := &rows[i]
		n := recent[string(appendRowKey(nil, r))]
		total += r.Count
		totalRecent += n
		fmt.Fprintf(&b, "%10d %10s %s%s\n", r.Count, rate(n, within), rowProcess(r), v.color.cyan(printable(name(probeOfRow(r)))))
	}
	if len(rows) != 1 {
		fmt.Fprintf(&b, "%10d %10s %-7s %-15s %s\n", total, rate(totalRecent, within), "", "", v.color.bold("total"))
	}
	return b.String()
}

// probeOfRow returns the probe whose hits a row counts.
func probeOfRow(r *trace.Row) trace.SessionProbe {
	return trace.SessionProbe{Clause: r.Clause, Provider: r.Provider, Name: r.Probe}
}

// namer returns what names probes: with the label of the specification that has selected
// one, or the text, if another specification has selected it, too.
func (v *countText) namer(rows []trace.Row) func(trace.SessionProbe) string {
	probes := v.probes()
	for i := range rows { // of processes that have gone
		probes = append(probes, probeOfRow(&rows[i]))
	}
	clauses := make(map[string]int, len(probes))
	shared := make(map[string]bool)
	for _, p := range probes {
		name := p.Provider + ":" + p.Name
		if first, ok := clauses[name]; ok && first != p.Clause {
			shared[name] = true
		} else {
			clauses[name] = p.Clause
		}
	}
	return func(p trace.SessionProbe) string {
		name := p.Provider + ":" + p.Name
		switch d := v.dists[p.Clause]; {
		case d.Label != "":
			return name + " of " + d.Label
		case shared[name]:
			return name + " of " + d.Text
		}
		return name
	}
}

// rate returns hits a second, with a decimal if there are few.
func rate(n uint64, within time.Duration) string {
	if within <= 0 {
		return "-"
	}
	perSecond := float64(n) / within.Seconds()
	if n == 0 || perSecond >= 100 {
		return fmt.Sprintf("%.0f", perSecond)
	}
	return fmt.Sprintf("%.1f", perSecond)
}

// noteWithout names the probes that were not hit.
func (v *countText) noteWithout(rows []trace.Row) {
	hit := make(map[trace.SessionProbe]bool, len(rows))
	for i := range rows {
		hit[probeOf(&rows[i])] = true
	}
	names := v.names()
	var without []string
	for _, p := range v.probes() {
		if !hit[p] {
			without = append(without, names.of(p))
		}
	}
	if len(without) > 0 {
		fmt.Fprintf(v.errw, "nopfire: note: not hit: %s\n", probeCount(without))
	}
}

// probeOf returns the probe of a row, as the session names it.
func probeOf(r *trace.Row) trace.SessionProbe {
	return trace.SessionProbe{Clause: r.Clause, Provider: r.Provider, Name: r.Probe}
}

// rowNames name the probes of rows so that those of two specifications can be told
// apart: with the condition, and with the whole specification where that is not enough.
type rowNames struct {
	dists    []*probespec.Dist
	selected map[string][]int // by PROVIDER:PROBE the clauses that select it
}

// names returns the names for the probes that there are by now.
func (v *countText) names() rowNames {
	n := rowNames{v.dists, make(map[string][]int)}
	for _, p := range v.probes() {
		name := p.Provider + ":" + p.Name
		n.selected[name] = append(n.selected[name], p.Clause)
	}
	return n
}

// of returns the name of a probe.
func (n rowNames) of(p trace.SessionProbe) string {
	name := p.Provider + ":" + p.Name
	own := n.dists[p.Clause]
	for _, clause := range n.selected[name] {
		if other := n.dists[clause]; clause != p.Clause && other.Clause.Where == own.Clause.Where {
			return name + " [" + own.Text + "]"
		}
	}
	if own.Clause.Where != "" {
		name += " (" + own.Clause.Where + ")"
	}
	return name
}

// shared tells whether a hit may be in several rows: then their sum is no number of hits.
func (n rowNames) shared() bool {
	for _, clauses := range n.selected {
		if len(clauses) > 1 {
			return true
		}
	}
	return false
}
