package trace

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nopfire/nopfire/bpfside/trace/internal/body"
	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// list returns the type of a list, which refers to itself, made anew by each call.
func list(value string) *usdt.Type {
	node := &usdt.Type{Kind: usdt.Struct, Name: "node", Size: 16}
	next := &usdt.Type{Kind: usdt.Pointer, Size: 8, Elem: node}
	node.Fields = []usdt.Field{{Name: value, Type: &usdt.Type{Kind: usdt.Int, Size: 8}}, {Name: "next", Offset: 8, Type: next}}
	return next
}

// Probes whose arguments look alike share a function, whatever file they are in.
func TestSignature(t *testing.T) {
	in := func(change func(*body.Input)) string {
		i := &body.Input{Where: "arg1 > 1", Values: []string{"arg2"}, Args: []body.Arg{
			{Name: "n", Size: 4, Signed: true}, {Name: "l", Size: 8, Type: list("value")}, {Name: "unused", Size: 8},
		}}
		change(i)
		return signature(i)
	}
	same := in(func(*body.Input) {})
	if other := in(func(*body.Input) {}); other != same {
		t.Errorf("alike: %s and %s", same, other)
	}
	for name, change := range map[string]func(*body.Input){
		"name": func(i *body.Input) { i.Args[2].Name = "m" },
		"type": func(i *body.Input) { i.Args[2].Type = list("value") },
		"size": func(i *body.Input) { i.Args[2].Size = 1 },
	} {
		if in(change) != same {
			t.Errorf("another %s of an argument that is not used makes another function", name)
		}
	}
	used := in(func(i *body.Input) { i.Values[0] = "(struct node *)arg2" })
	if in(func(i *body.Input) { i.Values[0], i.Args[2].Type = "(struct node *)arg2", list("key") }) == used {
		t.Error("the types of structs are not told apart")
	}
	for name, change := range map[string]func(*body.Input){
		"condition":  func(i *body.Input) { i.Where = "arg1 > 2" },
		"value":      func(i *body.Input) { i.Values[0] = "arg1" },
		"values":     func(i *body.Input) { i.Values = []string{"arg2", "arg2"} },
		"both":       func(i *body.Input) { i.Where, i.Values = `arg1 > 1" ["arg2`, nil },
		"name":       func(i *body.Input) { i.Args[0].Name = "m" },
		"size":       func(i *body.Input) { i.Args[0].Size = 8 },
		"sign":       func(i *body.Input) { i.Args[0].Signed = false },
		"float":      func(i *body.Input) { i.Args[0].Float = true },
		"length":     func(i *body.Input) { i.Args[0].Len = 1 },
		"type":       func(i *body.Input) { i.Args[1].Type = nil },
		"field":      func(i *body.Input) { i.Args[1].Type = list("key") },
		"offset":     func(i *body.Input) { i.Args[1].Type.Elem.Fields[1].Offset = 12 },
		"field type": func(i *body.Input) { i.Args[1].Type.Elem.Fields[0].Type.Kind = usdt.Uint },
		"arguments":  func(i *body.Input) { i.Args = i.Args[:2] },
	} {
		if in(change) == same {
			t.Errorf("another %s is not told apart", name)
		}
	}
}

// What is wrong whatever the probe comes before what this one lacks.
func TestMisfit(t *testing.T) {
	in := &body.Input{Where: "w", Values: []string{"v0", "v1"}}
	lacks := &body.Error{Expr: 0, Off: 1, Msg: "no such argument", OtherProbe: true}
	wrong := &body.Error{Expr: -1, Off: 2, Msg: "no expression"}
	for _, tt := range []struct {
		err   error
		want  string
		other bool
	}{
		{lacks, "expression v0: no such argument", true},
		{wrong, "expression w: no expression", false},
		{errors.Join(lacks, wrong), "expression w: no expression", false},
		{fmt.Errorf("compile: %w", errors.Join(lacks, lacks)), "expression v0: no such argument\nexpression v0: no such argument", true},
	} {
		m := newMisfit(in, tt.err)
		if m == nil || m.Error() != tt.want || m.other != tt.other {
			t.Errorf("%v: %v, want %s", tt.err, m, tt.want)
			continue
		}
		one := m.of("a:b")
		var ee *ExprError
		if !errors.As(fmt.Errorf("%w", one), &ee) || ee.Probe != "a:b" || !strings.HasPrefix(one.Error(), "a:b: expression ") || one.other != tt.other {
			t.Errorf("%v of a probe: %v", tt.err, one)
		}
	}
	if m := newMisfit(in, errors.New("disk full")); m != nil {
		t.Errorf("another error is %v", m)
	}
	if m := newMisfit(in, nil); m != nil {
		t.Errorf("no error is %v", m)
	}
}

// Of many probes that an expression does not fit a few are told, and that there are
// more.
func TestMisfitsAreToldOfAFew(t *testing.T) {
	var c clause
	told, last := 0, ""
	for i := range 100 {
		m := (&misfit{errs: []*ExprError{{Expr: "x", Msg: "no x"}}}).of(fmt.Sprint("p:", i))
		if c.isNews(m) {
			told++
			last = m.Error()
		}
	}
	if want := "p:4: expression x: no x (other probes that it does not fit are not told)"; told != maxMisfits || last != want {
		t.Errorf("%d told, the last is %q", told, last)
	}
	if !c.isNews((&misfit{errs: []*ExprError{{Expr: "y"}}}).of("p:1")) || !c.isNews(errors.New("disk full")) {
		t.Error("another expression, or another error, is no news")
	}
}

func TestPlainSource(t *testing.T) {
	args := make([]stapsdt.Arg, 3)
	params := []usdt.Param{{Name: "n"}, {Name: "pid"}, {Name: "comm"}}
	for _, tt := range []struct {
		expr string
		arg  int
		comm bool
		ok   bool
	}{
		{"arg1", 0, false, true},
		{" n ", 0, false, true},
		{"arg2", 1, false, true},
		{"pid", 0, false, false}, // the process
		{"comm", -1, true, true}, // the name of the thread
		{"arg4", 0, false, false},
		{"n+1", 0, false, false},
		{"(n)", 0, false, false}, // left to the compiler
		{"", 0, false, false},
	} {
		src, ok := plainSource(tt.expr, args, params)
		if ok != tt.ok || ok && (src.arg != tt.arg || src.comm != tt.comm) {
			t.Errorf("%q: %+v, %t", tt.expr, src, ok)
		}
	}
}
