package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nopfire/nopfire/bpfside/trace"
)

// A palette turns colours on or off.
type palette bool

// The escape sequences are SGR of ECMA-48, which every terminal knows.
func (p palette) sgr(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p palette) bold(s string) string   { return p.sgr("1", s) }
func (p palette) dim(s string) string    { return p.sgr("2", s) }
func (p palette) red(s string) string    { return p.sgr("31", s) }
func (p palette) green(s string) string  { return p.sgr("32", s) }
func (p palette) yellow(s string) string { return p.sgr("33", s) }
func (p palette) cyan(s string) string   { return p.sgr("36", s) }

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

// eventColumns prints events as aligned text: TIME PID TID COMM PROBE and the
// arguments as name=value.
type eventColumns struct {
	color      palette
	probeWidth int
}

// newEventColumns returns the columns for probes with these names.
func newEventColumns(color palette, names []string) *eventColumns {
	c := &eventColumns{color: color, probeWidth: len("PROBE")}
	for _, n := range names {
		// A long name breaks the alignment of its own lines only.
		c.probeWidth = max(c.probeWidth, min(utf8.RuneCountInString(printable(n)), 40))
	}
	return c
}

// header returns the line above the columns.
func (c *eventColumns) header() string {
	return c.color.dim(fmt.Sprintf("%-15s %-7s %-7s %-15s %-*s %s", "TIME", "PID", "TID", "COMM", c.probeWidth, "PROBE", "ARGUMENTS")) + "\n"
}

// line returns the line of an event.
func (c *eventColumns) line(ev *trace.Event) string {
	return fmt.Sprintf("%s %-7d %-7d %s %s %s\n",
		c.color.dim(clock(ev.Time)), ev.PID, ev.TID, pad(printable(ev.Comm), 15),
		c.color.cyan(pad(printable(ev.Provider+":"+ev.Probe), c.probeWidth)), c.args(ev.Args))
}

// args returns the arguments as name=value, separated by blanks.
func (c *eventColumns) args(args []trace.Value) string {
	var b strings.Builder
	for i := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		v := printable(args[i].String()) // the reason of an error may quote the file
		if args[i].Err != nil {
			v = c.color.red(v)
		}
		b.WriteString(c.color.dim(printable(args[i].Name) + "="))
		b.WriteString(v)
	}
	return b.String()
}
