package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/trace/probespec"
)

// printError prints what has ended a command. An error that knows its place in an
// expression or a specification shows it, each of several.
func printError(errw io.Writer, err error) {
	// Others that are made of several may have more to say than those.
	if isExpression(err) {
		for e := err; e != nil; e = errors.Unwrap(e) {
			if several, ok := e.(interface{ Unwrap() []error }); ok {
				for _, e := range several.Unwrap() {
					printError(errw, e)
				}
				return
			}
		}
	}
	msg, text, off := err.Error(), "", -1
	var expr *trace.ExprError
	var syntax *probespec.SyntaxError
	switch {
	case errors.As(err, &expr):
		msg, text, off = expr.Msg, expr.Expr, expr.Off
		if expr.Probe != "" {
			msg = fmt.Sprintf("%s: %s", printable(expr.Probe), msg)
		}
	case errors.As(err, &syntax):
		msg, text, off = syntax.Msg, syntax.Text, syntax.Off
		if syntax.Want != "" {
			msg += ": want " + syntax.Want
		}
	}
	for line := range strings.Lines(msg) {
		fmt.Fprintf(errw, "nopfire: %s\n", strings.TrimSuffix(line, "\n"))
	}
	if strings.TrimSpace(text) != "" {
		io.WriteString(errw, mark(text, off))
	}
}

// isExpression reports whether a specification or an expression of the command line is
// wrong.
func isExpression(err error) bool {
	var expr *trace.ExprError
	var syntax *probespec.SyntaxError
	return errors.As(err, &expr) || errors.As(err, &syntax)
}

// mark returns a line with a text and, if the place is known, one with a caret under
// it. Of a long text what is around the place is shown.
func mark(text string, off int) string {
	const before, after = 60, 40
	if off < 0 || off > len(text) {
		off = -1
	}
	at := max(off, 0)
	head, tail := text[:at], text[at:]
	if n := utf8.RuneCountInString(head); n > before {
		head = "…" + lastRunes(head, before)
	}
	if utf8.RuneCountInString(tail) > after {
		tail = firstRunes(tail, after) + "…"
	}
	head = printable(head)
	s := "  " + head + printable(tail) + "\n"
	if off >= 0 {
		s += "  " + strings.Repeat(" ", utf8.RuneCountInString(head)) + "^\n"
	}
	return s
}

func firstRunes(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}

func lastRunes(s string, n int) string {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return s[i:]
}
