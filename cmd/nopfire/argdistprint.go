package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nopfire/nopfire/bpfside/btfvalue"
	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/trace/probespec"
)

// distText prints distributions as the argdist of bcc does: counts in columns, the
// largest last, and histograms as bars.
type distText struct {
	w          io.Writer
	color      palette
	dists      []*probespec.Dist
	width      int // of the terminal, 0 if there is none
	top        int // 0: all
	intervals  bool
	cumulative bool

	differ rowDiffer
	buf    bytes.Buffer
}

func (v *distText) show(c *counted) error {
	rows := c.rows
	if !v.cumulative {
		rows = v.differ.since(rows)
		if c.last && len(rows) == 0 {
			return nil // an interval that has hardly begun
		}
	}
	v.buf.Reset()
	if v.intervals {
		fmt.Fprintf(&v.buf, "%s\n", v.color.dim(c.to.Format("[15:04:05]")))
	}
	for i, d := range v.dists {
		head := d.Label
		if head == "" {
			head = d.Text
		}
		fmt.Fprintf(&v.buf, "%s\n", v.color.bold(printable(head)))
		own := rowsOf(rows, i)
		if d.Clause.Aggregate == trace.Count {
			v.counts(d, own)
		} else {
			v.histograms(d, own)
		}
	}
	_, err := v.w.Write(v.buf.Bytes())
	return err
}

// counts prints a line for each row, by count.
func (v *distText) counts(d *probespec.Dist, rows []trace.Row) {
	slices.SortStableFunc(rows, func(a, b trace.Row) int {
		switch {
		case a.Count < b.Count:
			return -1
		case a.Count > b.Count:
			return 1
		}
		return 0
	})
	process := ""
	if d.Clause.ByProcess {
		process = fmt.Sprintf("%-7s %-15s ", "PID", "COMM")
	}
	fmt.Fprintf(&v.buf, "\t%s\n", v.color.dim(fmt.Sprintf("%-10s %s%s", "COUNT", process, "EVENT")))
	if left := len(rows) - v.top; v.top > 0 && left > 0 {
		fmt.Fprintf(&v.buf, "\t%-10s %s\n", "…", v.color.dim(fmt.Sprintf("(%d smaller)", left)))
		rows = rows[left:]
	}
	named := severalProbes(d, rows)
	lines := make([]string, len(rows))
	width, most := 0, uint64(0)
	for i := range rows {
		r := &rows[i]
		lines[i] = rowEvent(d, r, named)
		if d.Clause.ByProcess {
			lines[i] = rowProcess(r) + lines[i]
		}
		width = max(width, min(utf8.RuneCountInString(lines[i]), maxCell))
		most = max(most, r.Count)
	}
	const before = 8 + 10 + 1 + 2 // the tab, COUNT, blanks
	room := v.width - before - width - 1
	for i, line := range lines {
		fmt.Fprintf(&v.buf, "\t%-10d ", rows[i].Count)
		if room < minBar {
			fmt.Fprintf(&v.buf, "%s\n", line)
			continue
		}
		bar := strings.Repeat("*", max(int(float64(rows[i].Count)/float64(most)*float64(min(room, maxBar))), 1))
		fmt.Fprintf(&v.buf, "%s  %s\n", pad(line, width), v.color.cyan(bar))
	}
}

// The bars beside counts are between these in width, if the terminal has the room.
const minBar, maxBar = 8, 60

// histograms draws one for each row.
func (v *distText) histograms(d *probespec.Dist, rows []trace.Row) {
	if len(rows) == 0 {
		v.buf.WriteString("(no values)\n")
	}
	named := severalProbes(d, rows)
	unit := d.ValueName
	if d.Label != "" && len(d.Clause.Capture) == 0 {
		unit = d.Label
	}
	for i := range rows {
		r := &rows[i]
		if len(d.Clause.Capture) > 0 || d.Clause.ByProcess || named {
			head := rowEvent(d, r, named)
			if d.Clause.ByProcess {
				head = strings.TrimSpace(fmt.Sprintf("%s[%d] %s", printable(r.Comm), r.PID, head))
			}
			fmt.Fprintf(&v.buf, "%s\n", v.color.cyan(head))
		}
		// A buffer takes everything.
		_ = btfvalue.WriteRanges(&v.buf, histRanges(&d.Clause, r.Buckets), printable(unit+measure(r.ValueType)))
	}
}

// measure returns the measure of a type's numbers, to stand behind their name.
func measure(typ string) string {
	if typ == "time.Duration" {
		return " (ns)"
	}
	return ""
}

// severalProbes tells whether rows say which probe they are of.
func severalProbes(d *probespec.Dist, rows []trace.Row) bool {
	if strings.ContainsAny(d.Clause.Pattern, "*?") || strings.HasSuffix(d.Clause.Pattern, ":") {
		return true
	}
	for i := range rows {
		if rows[i].Provider != rows[0].Provider || rows[i].Probe != rows[0].Probe {
			return true
		}
	}
	return false
}

// rowProcess returns the process of a row in columns.
func rowProcess(r *trace.Row) string {
	return fmt.Sprintf("%-7d %s ", r.PID, pad(printable(orDash(r.Comm)), 15))
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// rowEvent returns the key of a row as "expr = value, …".
func rowEvent(d *probespec.Dist, r *trace.Row, named bool) string {
	var b strings.Builder
	if named {
		b.WriteString(printable(r.Provider + ":" + r.Probe))
		if len(r.Key) > 0 {
			b.WriteString(": ")
		}
	}
	for i := range r.Key {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(printable(r.Key[i].Name))
		b.WriteString(" = ")
		b.WriteString(printable(r.Key[i].String())) // the reason of an error may quote the file
	}
	if len(r.Key) == 0 && d.Clause.Aggregate == trace.Count && !named {
		b.WriteString("total calls") // as bcc says it
	}
	return b.String()
}

// histRanges returns the lines of a histogram: all buckets from the first to the last
// that is not empty.
func histRanges(c *trace.Clause, buckets []trace.Bucket) []btfvalue.Range {
	var all []btfvalue.Range
	var at func(b *trace.Bucket) int
	if c.Aggregate == trace.LinearHist {
		all = linearRanges(c.Linear)
		at = func(b *trace.Bucket) int {
			switch {
			case b.Unsigned || b.Min >= c.Linear.Max:
				return len(all) - 1
			case b.Min < c.Linear.Min:
				return 0
			}
			return 1 + int((uint64(b.Min)-uint64(c.Linear.Min))/uint64(c.Linear.Step))
		}
	} else {
		all = log2Ranges()
		at = func(b *trace.Bucket) int {
			if b.Min < 0 && !b.Unsigned {
				return 0
			}
			return 1 + bits.Len64(uint64(b.Min))
		}
	}
	first, last := len(all), -1
	for i := range buckets {
		k := at(&buckets[i])
		all[k].Count += buckets[i].Count
		first, last = min(first, k), max(last, k)
	}
	if last < 0 {
		return nil
	}
	return all[first : last+1]
}

// log2Ranges returns one range for what is negative, one for 0, and one for the values
// with 1 to 64 bits.
func log2Ranges() []btfvalue.Range {
	all := []btfvalue.Range{{Low: "…", High: "-1"}, {Low: "0", High: "0"}}
	for n := range 64 {
		all = append(all, btfvalue.Range{
			Low:  strconv.FormatUint(1<<n, 10),
			High: strconv.FormatUint(math.MaxUint64>>(63-n), 10),
		})
	}
	return all
}

// linearRanges returns the buckets, with one at each end for all that is beyond.
func linearRanges(l trace.Linear) []btfvalue.Range {
	all := []btfvalue.Range{{Low: "…", High: strconv.FormatInt(l.Min-1, 10)}}
	for n := range (*linearFlag)(&l).buckets() {
		low := int64(uint64(l.Min) + n*uint64(l.Step))
		high := l.Max - 1
		if uint64(high)-uint64(low) >= uint64(l.Step) {
			high = low + l.Step - 1
		}
		all = append(all, btfvalue.Range{Low: strconv.FormatInt(low, 10), High: strconv.FormatInt(high, 10)})
	}
	return append(all, btfvalue.Range{Low: strconv.FormatInt(l.Max, 10), High: "…"})
}

// columnsOf returns the width of a terminal, 0 for what is none.
func columnsOf(w io.Writer) int {
	columns, _ := terminalSize(w)
	return columns
}
