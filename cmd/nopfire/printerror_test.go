package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/trace/probespec"
)

func TestPrintError(t *testing.T) {
	long := strings.Repeat("a", 100) + "+" + strings.Repeat("b", 100)
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"plain", errors.New("no such process"), "nopfire: no such process\n"},
		{"several lines", errors.New("one\ntwo"), "nopfire: one\nnopfire: two\n"},
		{"several errors", errors.Join(errors.New("one"), errors.New("two")), "nopfire: one\nnopfire: two\n"},
		{
			"expression", fmt.Errorf("trace: %w", &trace.ExprError{Expr: "arg1 >< 3", Off: 6, Msg: "unexpected '<'"}),
			"nopfire: unexpected '<'\n  arg1 >< 3\n        ^\n",
		},
		{
			"several expressions", fmt.Errorf("trace: %w", errors.Join(
				&trace.ExprError{Expr: "a", Off: 0, Msg: "one"}, &trace.ExprError{Expr: "b", Off: 1, Msg: "two"}, errors.New("three"))),
			"nopfire: one\n  a\n  ^\nnopfire: two\n  b\n   ^\nnopfire: three\n",
		},
		{
			"expression of a probe", &trace.ExprError{Expr: "a+b", Off: 0, Msg: `no argument "a"`, Probe: "app:x"},
			"nopfire: app:x: no argument \"a\"\n  a+b\n  ^\n",
		},
		{
			"place not known", &trace.ExprError{Expr: "a+b", Off: -1, Msg: "too long"},
			"nopfire: too long\n  a+b\n",
		},
		{
			"end of the text", &probespec.SyntaxError{Text: "a:b (x", Off: 6, Msg: "parenthesis not closed", Want: "')'"},
			"nopfire: parenthesis not closed: want ')'\n  a:b (x\n        ^\n",
		},
		{
			"characters, not bytes", &trace.ExprError{Expr: `s == "寿司" x`, Off: 14, Msg: "m"},
			"nopfire: m\n  s == \"寿司\" x\n            ^\n",
		},
		{
			"escaped", &trace.ExprError{Expr: "a\x1b+b", Off: 2, Msg: "m"},
			"nopfire: m\n  a\\x1b+b\n       ^\n",
		},
		{
			"long", &trace.ExprError{Expr: long, Off: 100, Msg: "m"},
			"nopfire: m\n  …" + strings.Repeat("a", 60) + "+" + strings.Repeat("b", 39) + "…\n" + strings.Repeat(" ", 63) + "^\n",
		},
		{"nothing to show", &trace.ExprError{Expr: " ", Off: 1, Msg: "m"}, "nopfire: m\n"},
		{"place beyond the text", &trace.ExprError{Expr: "a", Off: 7, Msg: "m"}, "nopfire: m\n  a\n"},
	} {
		var b strings.Builder
		printError(&b, tt.err)
		if b.String() != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, &b, tt.want)
		}
	}
}

// Whatever an expression is, and wherever a place in it: the mark is of one or two
// lines, and nothing in it moves the cursor.
func FuzzMark(f *testing.F) {
	f.Add("arg1 >< 3", 6)
	f.Add("寿司\x1b[2J\xff", 3)
	f.Add(strings.Repeat("é", 300), 299)
	f.Fuzz(func(t *testing.T, text string, off int) {
		s := mark(text, off)
		lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
		inside := off >= 0 && off <= len(text)
		if inside && (len(lines) != 2 || strings.TrimLeft(lines[1], " ") != "^") || !inside && len(lines) != 1 {
			t.Fatalf("%q at %d: %q", text, off, s)
		}
		for _, line := range lines {
			if line != printable(line) && strings.IndexFunc(line, acts) >= 0 {
				t.Fatalf("%q at %d: %q", text, off, s)
			}
		}
	})
}
