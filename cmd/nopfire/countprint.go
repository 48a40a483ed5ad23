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
	dists     []*probespec.Dist // one for each clause
	intervals bool              // tables one after the other
	screen    *screen           // one table that is renewed; nil: one in the end
	probes    func() []trace.SessionProbe

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
	names := v.names(rows)
	var b strings.Builder
	b.WriteString(v.color.dim(fmt.Sprintf("%10s %10s %-7s %-15s %s", "COUNT", "RATE", "PID", "COMM", "PROBE")) + "\n")
	var total, totalRecent uint64
	for i := range rows {
		r := &rows[i]
		n := recent[string(appendRowKey(nil, r))]
		total += r.Count
		totalRecent += n
		fmt.Fprintf(&b, "%10d %10s %s%s\n", r.Count, rate(n, within), rowProcess(r), v.color.cyan(printable(names.of(probeOf(r)))))
	}
	if len(rows) != 1 && !names.shared() {
		fmt.Fprintf(&b, "%10d %10s %-7s %-15s %s\n", total, rate(totalRecent, within), "", "", v.color.bold("total"))
	}
	return b.String()
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
	names := v.names(rows)
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
// apart: with the label or the condition, and with the whole specification where that is
// not enough.
type rowNames struct {
	dists    []*probespec.Dist
	selected map[string][]int // by PROVIDER:PROBE the clauses that select it
}

// names returns the names for the probes that there are by now.
func (v *countText) names(rows []trace.Row) rowNames {
	n := rowNames{v.dists, make(map[string][]int)}
	probes := v.probes()
	for i := range rows { // of those that are attached to just now
		probes = append(probes, probeOf(&rows[i]))
	}
	for _, p := range probes {
		name := p.Provider + ":" + p.Name
		if !slices.Contains(n.selected[name], p.Clause) {
			n.selected[name] = append(n.selected[name], p.Clause)
		}
	}
	return n
}

// of returns the name of a probe.
func (n rowNames) of(p trace.SessionProbe) string {
	name := p.Provider + ":" + p.Name
	own := n.dists[p.Clause]
	addition := rowAddition(own)
	for _, clause := range n.selected[name] {
		if clause != p.Clause && rowAddition(n.dists[clause]) == addition {
			return name + " [" + own.Text + "]"
		}
	}
	return name + addition
}

// rowAddition returns what tells the rows of a specification from others.
func rowAddition(d *probespec.Dist) string {
	switch {
	case d.Label != "":
		return " #" + d.Label
	case d.Clause.Where != "":
		return " (" + d.Clause.Where + ")"
	}
	return ""
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
