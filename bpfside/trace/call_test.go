package trace

import (
	"testing"

	"github.com/nopfire/nopfire/bpfside/trace/internal/body"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// What the function of the expressions leaves of the stack decides whether a record
// is made there, and how much of a string is part of a key.
func TestStack(t *testing.T) {
	for _, tt := range []struct {
		name      string
		clause    Clause
		stack     int
		maxString int
		cut       bool
	}{
		{"no expression", Clause{}, 0, 256, true},
		{"a condition", Clause{Where: "arg1 > 1"}, 8, 256, true},
		{"a condition that takes more", Clause{Where: "arg1 > 1"}, 120, 256, false},
		{"a long string", Clause{}, 0, 400, false},
		{"two strings", Clause{Capture: []Capture{{Expr: "arg2"}, {Expr: "arg2"}}}, 0, 8, false},
		{"a key", Clause{Aggregate: Count, Capture: []Capture{{Expr: "arg2"}}}, 0, LimitKeyString, false},
		{"a key of two strings beside a condition", Clause{Aggregate: Count, Where: "arg1 > 1", Capture: []Capture{{Expr: "arg2"}, {Expr: "arg2"}}}, body.StackLeft, 112, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := &Options{Strings: []string{"arg2"}}
			if !(&clause{Clause: tt.clause}).counts() {
				o.MaxString = tt.maxString
			}
			opts, err := o.withDefaults()
			if err != nil {
				t.Fatal(err)
			}
			compile := func(*body.Input) (*compiled, error) {
				return &compiled{Function: &body.Function{Stack: tt.stack, WhereArgs: 1}}, nil
			}
			l, fields, err := plan(target(stapsdt.X86_64, "-4@%eax 8@%rbx"), &clause{Clause: tt.clause}, &opts, compile)
			if err != nil {
				t.Fatal(err)
			}
			if l.maxString != tt.maxString || l.count == nil && l.cut() != tt.cut {
				t.Errorf("strings of %d bytes, cut %t; want %d, %t", l.maxString, l.cut(), tt.maxString, tt.cut)
			}
			if l.size > l.room() && (l.count != nil || l.cut()) {
				t.Errorf("%d bytes of %d", l.size, l.room())
			}
			for _, f := range fields {
				if f.area+areaLen(f.max) > l.size {
					t.Errorf("%s ends at %d of %d bytes", f.name, f.area+areaLen(f.max), l.size)
				}
			}
		})
	}
}
