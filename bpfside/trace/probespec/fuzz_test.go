package probespec

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nopfire/nopfire/bpfside/trace"
)

// seeds are texts of the tables in one form or another.
var seeds = []string{
	`myapp:*`, `/usr/bin/app:myapp:re?uest`, `urdt:job:step/2`, `u:"/a b:c":x`, `u:/a\ b\:c\(1\):x`,
	`a:b ((a == 1) && f(b, c)) f(b, c[1]), a ? b : c`, `u:pthread:pthread_start (arg1 != 0) "i=%d msg=%s", arg1, arg2`,
	`u:x:y ($pid == 7) "%-5.3s|%#010lx", arg1@user, $task->comm`, `a:b (strcmp(arg1, ")") == 0) 'x'`,
	`u:/usr/lib/libfoo.so:probe():char*,int:arg1,arg2 ? 1 : 2:arg2 > 3#label`, `a:b x,y#l`, `p:c:malloc`, "\xff:\x00 (\xff)",
}

// A wrong text gives a SyntaxError with a place in it, and a right one a probe whose
// pattern package trace can read and whose expressions stand in parentheses as one.
func checkParsed(t *testing.T, text string, c *trace.Clause, err error) {
	t.Helper()
	if err != nil {
		var se *SyntaxError
		if !errors.As(err, &se) || se.Off < 0 || se.Off > len(text) || se.Text != text || se.Msg == "" {
			t.Fatalf("%q: %#v", text, err)
		}
		se.Column()
		return
	}
	if !strings.Contains(c.Pattern, ":") || len(c.Capture) > trace.MaxCaptures {
		t.Fatalf("%q: pattern %q, %d captures", text, c.Pattern, len(c.Capture))
	}
	exprs := []string{c.Where, c.Value}
	for _, k := range c.Capture {
		exprs = append(exprs, k.Expr)
	}
	for _, e := range exprs {
		s := &scanner{text: "(" + e + ")"}
		if sp, err := s.parenthesized(); err != nil || s.pos != len(s.text) || strings.TrimSpace(s.text[sp.from:sp.to]) != strings.TrimSpace(e) {
			t.Fatalf("%q: expression %q is not one: %v", text, e, err)
		}
	}
}

func FuzzParseTrace(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseTrace(text)
		if err != nil {
			checkParsed(t, text, nil, err)
			return
		}
		checkParsed(t, text, &p.Clause, nil)
		if p.Format != nil && p.Format.Directives() != len(p.Clause.Capture) {
			t.Fatalf("%q: %d directives, %d captures", text, p.Format.Directives(), len(p.Clause.Capture))
		}
	})
}

func FuzzParseDist(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, uint8(trace.Count))
		f.Add(s, uint8(trace.Log2Hist))
	}
	f.Fuzz(func(t *testing.T, text string, kind uint8) {
		d, err := ParseDist(text, trace.Aggregate(kind%3)+trace.Count)
		if err != nil {
			checkParsed(t, text, nil, err)
			return
		}
		checkParsed(t, text, &d.Clause, nil)
		if (d.Clause.Aggregate == trace.Count) != (d.Clause.Value == "") {
			t.Fatalf("%q: value %q of %v", text, d.Clause.Value, d.Clause.Aggregate)
		}
	})
}

func FuzzFormat(f *testing.F) {
	for _, s := range []string{`%d %s %5.2f%% \x1b`, `%-08.3lx|%+i`, `%c%p%E%#o`, `\777`, `%4096d`} {
		f.Add(s, int64(-7), 1.5, "te\x1bxt\xff")
	}
	f.Fuzz(func(t *testing.T, format string, n int64, x float64, s string) {
		p, err := ParseFormat(format)
		if err != nil {
			checkParsed(t, format, nil, err)
			return
		}
		all := []trace.Value{value(int(n)), value(x), value(s), value([]byte(s)), value(nil), value(errors.New(s)), value(trace.Pointer(n)), value(n > 0), value(uint64(n))}
		for i := range all {
			var values []trace.Value
			for range p.Directives() {
				values = append(values, all[i])
			}
			p.Append(nil, values)
			got := string(p.AppendPrintable(nil, values))
			if isPlain(format) && !strings.Contains(format, `\`) && !isPlain(got) {
				t.Fatalf("%q of %v: %q", format, all[i], got)
			}
		}
	})
}

// isPlain tells whether a text has no control characters.
func isPlain(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 })
}
