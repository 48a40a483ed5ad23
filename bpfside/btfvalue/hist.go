package btfvalue

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Slots returns the log2 histogram that an array of counts is, as programs for
// BPF have them: slot i counts the values of 2^i to 2^(i+1)-1, and slot 0 the
// value 0 as well. It reports whether v is one: up to 64 counts.
func Slots(v Value) ([]uint64, bool) {
	a, ok := v.(Array)
	if !ok || len(a) < 2 || len(a) > 64 {
		return nil, false
	}
	slots := make([]uint64, len(a))
	for i, e := range a {
		switch n := e.(type) {
		case uint64:
			slots[i] = n
		case int64:
			if n < 0 {
				return nil, false
			}
			slots[i] = uint64(n)
		default:
			return nil, false
		}
	}
	return slots, true
}

// barWidth is the width of the longest bar.
const barWidth = 40

// maxHead is how wide a head may make its column: with the 54 columns of counts and bars
// behind it a line fits in 80.
const maxHead = 24

// WriteLog2 draws a log2 histogram, a line for each slot up to the last that is
// not empty, in the columns of bcc and bpftrace. unit is the head of the first
// column.
func WriteLog2(w io.Writer, slots []uint64, unit string) error {
	last := -1
	for i, n := range slots {
		if n != 0 {
			last = i
		}
	}
	ranges := make([]Range, last+1)
	for i := range ranges {
		ranges[i] = Range{strconv.FormatUint(low(i), 10), strconv.FormatUint(high(i), 10), slots[i]}
	}
	return WriteRanges(w, ranges, unit)
}

func low(i int) uint64 {
	if i == 0 {
		return 0
	}
	return 1 << i
}

func high(i int) uint64 { return 1<<(i+1) - 1 }

// A Range is a line of a histogram: how many values lay between two bounds.
type Range struct {
	// Low and High are the bounds, both included, as they are to be shown. If they
	// are the same it is shown once.
	Low, High string
	Count     uint64
}

// WriteRanges draws a histogram of any ranges, in the columns of bcc and bpftrace.
// unit is the head of the first column.
func WriteRanges(w io.Writer, ranges []Range, unit string) error {
	// Ranges of small numbers are narrow; those of large ones set the width.
	most, width := uint64(0), 0
	for _, r := range ranges {
		most = max(most, r.Count)
		width = max(width, utf8.RuneCountInString(r.Low), utf8.RuneCountInString(r.High))
	}
	if most == 0 {
		_, err := fmt.Fprintf(w, "(no values)\n")
		return err
	}
	unit = strings.TrimSpace(unit)
	// A head that is wider than the ranges moves them; a very long one sticks out.
	column := 2*width + len(" -> ")
	if n := utf8.RuneCountInString(unit); n <= maxHead {
		column = max(column, n)
	}
	if _, err := fmt.Fprintf(w, "%*s : %-8s distribution\n", column, unit, "count"); err != nil {
		return err
	}
	for _, r := range ranges {
		arrow, high := " -> ", r.High
		if r.Low == r.High {
			arrow, high = "    ", ""
		}
		if _, err := fmt.Fprintf(w, "%*s%s%-*s : %-8d |%-*s|\n",
			column-len(" -> ")-width, r.Low, arrow, width, high, r.Count, barWidth, bar(r.Count, most)); err != nil {
			return err
		}
	}
	return nil
}

// bar is a row of stars in proportion to n; what is not zero has at least one.
func bar(n, most uint64) string {
	if n == 0 {
		return ""
	}
	stars := int(float64(n) / float64(most) * barWidth)
	return strings.Repeat("*", max(stars, 1))
}
