package btfvalue

import (
	"fmt"
	"io"
	"strings"
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

// WriteLog2 draws a log2 histogram, a line for each slot up to the last that is
// not empty, in the columns of bcc and bpftrace. unit is the head of the first
// column.
func WriteLog2(w io.Writer, slots []uint64, unit string) error {
	last, most := -1, uint64(0)
	for i, n := range slots {
		if n != 0 {
			last, most = i, max(most, n)
		}
	}
	if last < 0 {
		_, err := fmt.Fprintf(w, "(no values)\n")
		return err
	}
	// Ranges of small numbers are narrow; those of large ones set the width.
	width := len(fmt.Sprint(high(last)))
	unit = strings.TrimSpace(unit)
	if _, err := fmt.Fprintf(w, "%*s : %-8s distribution\n", 2*width+4, unit, "count"); err != nil {
		return err
	}
	for i := range last + 1 {
		if _, err := fmt.Fprintf(w, "%*d -> %-*d : %-8d |%-*s|\n",
			width, low(i), width, high(i), slots[i], barWidth, bar(slots[i], most)); err != nil {
			return err
		}
	}
	return nil
}

func low(i int) uint64 {
	if i == 0 {
		return 0
	}
	return 1 << i
}

func high(i int) uint64 { return 1<<(i+1) - 1 }

// bar is a row of stars in proportion to n; what is not zero has at least one.
func bar(n, most uint64) string {
	if n == 0 {
		return ""
	}
	stars := int(float64(n) / float64(most) * barWidth)
	return strings.Repeat("*", max(stars, 1))
}
