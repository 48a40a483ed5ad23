package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/nopfire/nopfire/bpfside/trace"
)

// A palette turns colours on or off.
type palette bool

// The parameters of SGR (ECMA-48), which every terminal knows.
const (
	sgrBold   = "1"
	sgrDim    = "2"
	sgrRed    = "31"
	sgrGreen  = "32"
	sgrYellow = "33"
	sgrCyan   = "36"
)

func (p palette) sgr(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p palette) bold(s string) string   { return p.sgr(sgrBold, s) }
func (p palette) dim(s string) string    { return p.sgr(sgrDim, s) }
func (p palette) red(s string) string    { return p.sgr(sgrRed, s) }
func (p palette) green(s string) string  { return p.sgr(sgrGreen, s) }
func (p palette) yellow(s string) string { return p.sgr(sgrYellow, s) }
func (p palette) cyan(s string) string   { return p.sgr(sgrCyan, s) }

// begin and end put a colour around what is appended between them.
func (p palette) begin(b []byte, code string) []byte {
	if !p {
		return b
	}
	return append(append(append(b, "\x1b["...), code...), 'm')
}

func (p palette) end(b []byte) []byte {
	if !p {
		return b
	}
	return append(b, "\x1b[0m"...)
}

// isTerminal reports whether w (or r) is a terminal, as near as the standard
// library tells: /dev/null counts as one, where nobody sees the colours.
func isTerminal(v any) bool {
	f, ok := v.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}

// paletteFor returns the colours for w: those of a terminal, unless the user
// wants none (no-color.org) or the terminal has none.
func paletteFor(w io.Writer) palette {
	return palette(isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
}

// printable returns a name from the traced side with everything escaped that
// could move the cursor or break the line.
func printable(s string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return s
	}
	q := strconv.Quote(s)
	return q[1 : len(q)-1]
}

// pad returns s followed by blanks up to n columns, one byte a column; colours
// are put on afterwards.
func pad(s string, n int) string {
	if missing := n - utf8.RuneCountInString(s); missing > 0 {
		return s + strings.Repeat(" ", missing)
	}
	return s
}

// appendPrintable appends what printable returns.
func appendPrintable(b []byte, s string) []byte {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return append(b, printable(s)...)
		}
	}
	return append(b, s...)
}

// appendQuoted appends what strconv.Quote returns, faster for text that needs no
// escapes.
func appendQuoted(b []byte, s string) []byte {
	if !isPlain(s) {
		return strconv.AppendQuote(b, s)
	}
	return append(append(append(b, '"'), s...), '"')
}

// isPlain reports whether a text stands between quotes as it is, in Go and in JSON.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// appendPadded appends what printable returns, followed by blanks up to n columns.
func appendPadded(b []byte, s string, n int) []byte {
	from := len(b)
	return padFrom(appendPrintable(b, s), from, n)
}

// padFrom appends blanks until what has been appended since is n columns wide.
func padFrom(b []byte, from, n int) []byte {
	for range n - utf8.RuneCount(b[from:]) {
		b = append(b, ' ')
	}
	return b
}

// appendNumber appends a number, followed by blanks up to n columns.
func appendNumber(b []byte, x, n int) []byte {
	from := len(b)
	b = strconv.AppendInt(b, int64(x), 10)
	for len(b)-from < n {
		b = append(b, ' ')
	}
	return b
}

// eventColumns prints events as aligned text: TIME PID TID COMM PROBE and the
// arguments as name=value. It appends rather than formats, as the lines of trace are
// its hot path.
type eventColumns struct {
	color      palette
	probeWidth int
	time       timeColumn
	cpu        bool // with a column CPU
}

// newEventColumns returns the columns for probes with these names.
func newEventColumns(color palette, names []string) *eventColumns {
	c := &eventColumns{color: color, probeWidth: len("PROBE")}
	for _, n := range names {
		c.widen(n)
	}
	return c
}

// widen makes room for a probe.
func (c *eventColumns) widen(name string) {
	// A long name breaks the alignment of its own lines only.
	c.probeWidth = max(c.probeWidth, min(utf8.RuneCountInString(printable(name)), 40))
}

// header returns the line above the columns.
func (c *eventColumns) header() string {
	return c.color.dim(leadHeader(&c.time, c.cpu)+fmt.Sprintf("%-*s %s", c.probeWidth, "PROBE", "ARGUMENTS")) + "\n"
}

// line returns the line of an event.
func (c *eventColumns) line(ev *trace.Event) string { return string(c.append(nil, ev)) }

// args returns the arguments as name=value, separated by blanks.
func (c *eventColumns) args(args []trace.Value) string { return string(appendArgs(nil, args, c.color)) }

// append appends the line of an event.
func (c *eventColumns) append(b []byte, ev *trace.Event) []byte {
	b = appendLead(b, ev, &c.time, c.cpu, c.color)
	b = c.color.begin(b, sgrCyan)
	from := len(b)
	b = appendPrintable(b, ev.Provider)
	b = append(b, ':')
	b = appendPrintable(b, ev.Probe)
	if len(ev.Args) == 0 { // no blanks at the end of a line
		return append(c.color.end(b), '\n')
	}
	b = padFrom(b, from, c.probeWidth)
	b = c.color.end(b)
	b = append(b, ' ')
	b = appendArgs(b, ev.Args, c.color)
	return append(b, '\n')
}

// leadHeader returns the head of the columns that all events have.
func leadHeader(at *timeColumn, cpu bool) string {
	s := at.header()
	if cpu {
		s += "CPU "
	}
	return s + fmt.Sprintf("%-7s %-7s %-15s ", "PID", "TID", "COMM")
}

// appendLead appends the columns that all events have: TIME, CPU if it is wanted,
// PID, TID and COMM, as wide as those of bcc's trace.
func appendLead(b []byte, ev *trace.Event, at *timeColumn, cpu bool, color palette) []byte {
	b = color.begin(b, sgrDim)
	b = at.append(b, ev.Time)
	b = append(color.end(b), ' ')
	if cpu {
		b = append(appendNumber(b, ev.CPU, 3), ' ')
	}
	b = append(appendNumber(b, ev.PID, 7), ' ')
	b = append(appendNumber(b, ev.TID, 7), ' ')
	return append(appendPadded(b, ev.Comm, 15), ' ')
}

// appendArgs appends the arguments as name=value, separated by blanks.
func appendArgs(b []byte, args []trace.Value, color palette) []byte {
	for i := range args {
		if i > 0 {
			b = append(b, ' ')
		}
		b = color.begin(b, sgrDim)
		b = appendPrintable(b, args[i].Name)
		b = append(b, '=')
		b = color.end(b)
		b = appendValueText(b, &args[i], color)
	}
	return b
}

// appendValueText appends a value as trace.Value.String writes it.
func appendValueText(b []byte, v *trace.Value, color palette) []byte {
	switch x := v.Value.(type) {
	case int64:
		if v.Type != "time.Duration" {
			return strconv.AppendInt(b, x, 10)
		}
	case uint64:
		return strconv.AppendUint(b, x, 10)
	case string:
		b = appendQuoted(b, x)
		if v.Truncated {
			b = append(b, "…"...)
		}
		return b
	}
	if v.Err == nil {
		return appendPrintable(b, v.String())
	}
	b = color.begin(b, sgrRed)
	b = appendPrintable(b, v.String()) // the reason of an error may quote the file
	return color.end(b)
}

// clockFormat is the TIME column.
const clockFormat = "15:04:05.000000"

// clock returns the time of day in local time.
func clock(t time.Time) string { return t.Format(clockFormat) }
