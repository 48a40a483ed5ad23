package bpfc

import (
	"errors"
	"testing"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

func TestDiagnosticText(t *testing.T) {
	for _, tc := range []struct {
		name string
		d    Diagnostic
		want string
	}{
		{"whole", Diagnostic{"a.bpf.c", 3, 5, "no", "int x;"}, "a.bpf.c:3:5: no\nint x;\n    ^"},
		{"tabs stay", Diagnostic{"a.bpf.c", 3, 3, "no", "\t\treturn;"}, "a.bpf.c:3:3: no\n\t\treturn;\n\t\t^"},
		{"wide characters", Diagnostic{"a.bpf.c", 3, 6, "no", "/*ü*/x"}, "a.bpf.c:3:6: no\n/*ü*/x\n    ^"},
		{"at the end", Diagnostic{"a.bpf.c", 3, 7, "no", "int x "}, "a.bpf.c:3:7: no\nint x"},
		{"no column", Diagnostic{File: "a.bpf.c", Line: 3, Msg: "no", Text: "int x;"}, "a.bpf.c:3: no\nint x;"},
		{"column outside", Diagnostic{"a.bpf.c", 3, 99, "no", "int x;"}, "a.bpf.c:3:99: no\nint x;"},
		{"no text", Diagnostic{File: "a.bpf.c", Line: 3, Col: 5, Msg: "no"}, "a.bpf.c:3:5: no"},
		{"no line", Diagnostic{File: "a.bpf.c", Msg: "no"}, "a.bpf.c: no"},
		{"no place", Diagnostic{Msg: "no"}, "no"},
	} {
		if got := tc.d.String(); got != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", tc.name, got, tc.want)
		}
	}
}

func TestAsDiagnostics(t *testing.T) {
	file := &ir.File{Name: "b.bpf.c", Lines: []string{"int x;", "int y;"}}
	err := asDiagnostics("b.bpf.c", ir.Errors{
		{Pos: ir.Pos{File: file, Line: 2, Col: 5}, Msg: "y is bad"},
		{Msg: "x is bad"},
	})
	var first *Diagnostic
	if !errors.As(err, &first) || first.Line != 2 || first.Text != "int y;" {
		t.Errorf("first %+v", first)
	}
	const want = "b.bpf.c:2:5: y is bad\nint y;\n    ^\nb.bpf.c: x is bad"
	if err.Error() != want {
		t.Errorf("error\n%v\nwant\n%s", err, want)
	}
	// One error of a stage that has no list.
	if err := asDiagnostics("b.bpf.c", ir.Errorf(ir.Pos{File: file, Line: 1}, "too deep")); err.Error() != "b.bpf.c:1: too deep\nint x;" {
		t.Errorf("error %q", err)
	}
	// An error that is not of the program is none of these.
	cause := errors.New("disk on fire")
	err = asDiagnostics("b.bpf.c", cause)
	if errors.As(err, &first) && first == nil || !errors.Is(err, cause) || err.Error() != "compile b.bpf.c: disk on fire" {
		t.Errorf("error %v", err)
	}
}
