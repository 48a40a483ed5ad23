package arity

import (
	"strings"
	"testing"
)

func TestArity(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{Arity{0}.TypeParams() + Arity{0}.TypeArgs() + Arity{0}.Params(), ""},
		{Arity{2}.TypeParams(), "[A1, A2 any]"},
		{Arity{2}.TypeArgs(), "[A1, A2]"},
		{Arity{2}.Params(), "a1 A1, a2 A2"},
		{Arity{1}.Results(), "A1"},
		{Arity{3}.Results(), "(A1, A2, A3)"},
		{Arity{1}.Arguments(), "1 argument"},
		{Arity{12}.Arguments(), "12 arguments"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestGenerate(t *testing.T) {
	src, err := Generate("package p\n{{range .}}\nfunc f{{.N}}{{.TypeParams}}({{.Params}}) {}\n{{end}}", 1)
	if want := "package p\n\nfunc f0() {}\n\nfunc f1[A1 any](a1 A1) {}\n"; err != nil || string(src) != want {
		t.Errorf("got %q, %v; want %q", src, err, want)
	}
	for _, bad := range []string{"{{", "{{.Nothing}}", "no Go"} {
		if _, err := Generate(bad, 1); err == nil {
			t.Errorf("%q: no error", bad)
		} else if bad == "no Go" && !strings.Contains(err.Error(), "format: ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
