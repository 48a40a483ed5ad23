package emit

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/nopfire/nopfire/elfgen"
)

// These tests hold on every platform: definitions are checked everywhere.

func TestNames(t *testing.T) {
	long := strings.Repeat("x", elfgen.MaxName+1)
	for _, tt := range []struct{ name, reason string }{
		{"", "empty"},
		{"a\x00b", "NUL"},
		{"a:b", "':'"},
		{"a b", "blank"},
		{"ä", "not printable ASCII"},
		{long, "at most"},
	} {
		p, err := NewProvider(tt.name, nil)
		checkSpecError(t, err, tt.reason)
		if err != nil && len(tt.name) < 10 && !strings.Contains(err.Error(), fmt.Sprintf("%q", tt.name)) {
			t.Errorf("error does not name the provider %q: %v", tt.name, err)
		}
		// The bad provider can be used on: everything is inert.
		h, err := NewProbe1[int](p, "probe", nil)
		if err == nil || h == nil {
			t.Fatalf("probe of a bad provider: %v, %v", h, err)
		}
		h.Fire(1)
		if h.Enabled() {
			t.Error("enabled")
		}
		h.Remove()
		if p.Load() == nil {
			t.Error("bad provider loads")
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}

		good, err := NewProvider("good", nil)
		if err != nil {
			t.Fatal(err)
		}
		h2, err := NewProbe0(good, tt.name, nil)
		checkSpecError(t, err, tt.reason)
		h2.Fire()
	}
}

// checkSpecError checks that an error is an elfgen.SpecError with a reason.
func checkSpecError(t *testing.T, err error, reason string) {
	t.Helper()
	var e *elfgen.SpecError
	if !errors.As(err, &e) || !strings.Contains(err.Error(), reason) {
		t.Errorf("error is %v, want a SpecError with %q", err, reason)
	}
}

func TestBadDefinitions(t *testing.T) {
	p, err := NewProvider("bad", nil)
	if err != nil {
		t.Fatal(err)
	}
	Must(NewProbe0(p, "taken", nil))
	for _, tt := range []struct {
		name   string
		define func() error
		reason string
	}{
		{"duplicate", func() error { _, err := NewProbe0(p, "taken", nil); return err }, "has a probe of this name"},
		{"duplicate of another kind", func() error { _, err := NewProbe(p, "taken", nil, nil); return err }, "has a probe of this name"},
		{"too few names", define2[int, int](p, "a"), "1 names for 2 arguments"},
		{"too many names", define2[int, int](p, "a", "b", "c"), "3 names for 2 arguments"},
		{"name is no identifier", define2[int, int](p, "a", "1b"), "no C identifier"},
		{"one name twice", define2[int, int](p, "a", "a"), "taken by argument"},
		{"any", define2[int, any](p, "a", "it"), `"it": type interface {} is an interface`},
		{"another interface", define2[int, fmt.Stringer](p, "a", "it"), `type fmt.Stringer is an interface`},
		{"struct by value", define2[int, struct{ X int }](p, "a", "it"), "is a struct; a pointer to one can travel"},
		{"array by value", define2[int, [2]int](p, "a", "it"), "is a array; a pointer to one can travel"},
		{"slice", define2[int, []string](p, "a", "it"), "type []string cannot travel"},
		{"map", define2[int, map[string]int](p, "a", "it"), "type map[string]int cannot travel"},
		{"chan", define2[int, chan int](p, "a", "it"), "type chan int cannot travel"},
		{"func", define2[int, func()](p, "a", "it"), "type func() cannot travel"},
		{"complex", define2[int, complex64](p, "a", "it"), "type complex64 cannot travel"},
		{"thirteen places", func() error {
			_, err := NewProbe12[int, int, int, int, int, int, int, int, int, int, int, []byte](p, "p", nil)
			return err
		}, "13 places"},
		{"dynamic: no type", func() error { _, err := NewProbe(p, "p", []Arg{{Name: "a"}}, nil); return err }, "unknown type"},
		{"dynamic: bad type", func() error { _, err := NewProbe(p, "p", []Arg{{Name: "a", Type: 99}}, nil); return err }, "unknown type"},
		{"dynamic: names twice", func() error {
			_, err := NewProbe(p, "p", []Arg{{Name: "a", Type: Int8}}, &ProbeOptions{Args: []string{"b"}})
			return err
		}, "the options name arguments"},
		{"dynamic: too many", func() error {
			args := make([]Arg, 13)
			for i := range args {
				args[i].Type = Int8
			}
			_, err := NewProbe(p, "p", args, nil)
			return err
		}, "13 places"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkSpecError(t, tt.define(), tt.reason)
			if len(p.probes) != 1 || len(p.pending) != 1 {
				t.Errorf("%d probes, %d pending after a bad definition", len(p.probes), len(p.pending))
			}
		})
	}
	if _, err := NewProbe0(nil, "p", nil); err == nil || !strings.Contains(err.Error(), "nil provider") {
		t.Errorf("probe of a nil provider: %v", err)
	}
	for _, o := range []Options{{Backing: BackingUnlinked}, {Backing: 99}, {NopForm: 99}} {
		if _, err := NewProvider("p", &o); err == nil {
			t.Errorf("options %+v are accepted", o)
		}
	}
}

func define2[A, B any](p *Provider, names ...string) func() error {
	return func() error {
		_, err := NewProbe2[A, B](p, "p", &ProbeOptions{Args: names})
		return err
	}
}

// Zero values and handles before Load do nothing, and no harm.
func TestInertHandles(t *testing.T) {
	var (
		p0 Probe0
		p2 Probe2[int, string]
		d  Probe
	)
	p0.Fire()
	p2.Fire(1, "x")
	p2.FireFunc(func() (int, string) { t.Error("called"); return 0, "" })
	if err := d.Fire(1, 2, 3); err != nil {
		t.Error(err)
	}
	if err := d.FireFunc(func() []any { t.Error("called"); return nil }); err != nil {
		t.Error(err)
	}
	if p0.Enabled() || p2.Enabled() || d.Enabled() {
		t.Error("a zero value is enabled")
	}
	p0.Remove()
	p2.Remove()
	d.Remove()
	if err := (&Provider{}).Close(); err != nil {
		t.Error(err)
	}
}

func TestArgErrors(t *testing.T) {
	p, err := NewProvider("args", nil)
	if err != nil {
		t.Fatal(err)
	}
	type level int
	for i, tt := range []struct {
		types  []Type
		args   []any
		index  int
		reason string // "" for a good call
	}{
		{nil, nil, 0, ""},
		{nil, []any{1}, -1, "1 values for 0 arguments"},
		{[]Type{Int64}, nil, -1, "0 values for 1 arguments"},
		{[]Type{Int64, String}, []any{1, 2}, 1, "int does not fit String"},
		{[]Type{Int8}, []any{127}, 0, ""},
		{[]Type{Int8}, []any{128}, 0, "128 overflows Int8"},
		{[]Type{Int8}, []any{-128}, 0, ""},
		{[]Type{Int8}, []any{-129}, 0, "-129 overflows Int8"},
		{[]Type{Int16}, []any{uint16(40000)}, 0, "40000 overflows Int16"},
		{[]Type{Int32}, []any{int64(math.MinInt32) - 1}, 0, "-2147483649 overflows Int32"},
		{[]Type{Int64}, []any{uint64(math.MaxUint64)}, 0, "18446744073709551615 overflows Int64"},
		{[]Type{Int64}, []any{level(-3)}, 0, ""},
		{[]Type{Uint8}, []any{255}, 0, ""},
		{[]Type{Uint8}, []any{256}, 0, "256 overflows Uint8"},
		{[]Type{Uint16}, []any{-1}, 0, "-1 overflows Uint16"},
		{[]Type{Uint32}, []any{int64(1) << 32}, 0, "4294967296 overflows Uint32"},
		{[]Type{Uint64}, []any{int8(-1)}, 0, "-1 overflows Uint64"},
		{[]Type{Uint64}, []any{uint64(math.MaxUint64)}, 0, ""},
		{[]Type{Int64}, []any{nil}, 0, "nil does not fit Int64"},
		{[]Type{Int64}, []any{1.5}, 0, "float64 does not fit Int64"},
		{[]Type{Bool}, []any{1}, 0, "int does not fit Bool"},
		{[]Type{Float32}, []any{1.5}, 0, "float64 does not fit Float32"},
		{[]Type{Float32}, []any{nil}, 0, "nil does not fit Float32"},
		{[]Type{Float64}, []any{1}, 0, "int does not fit Float64"},
		{[]Type{String}, []any{[]byte("x")}, 0, "[]uint8 does not fit String"},
		{[]Type{String}, []any{nil}, 0, "nil does not fit String"},
		{[]Type{Bytes}, []any{"x"}, 0, "string does not fit Bytes"},
		{[]Type{Bytes}, []any{[]int{1}}, 0, "[]int does not fit Bytes"},
		{[]Type{Error}, []any{nil}, 0, ""},
		{[]Type{Error}, []any{errors.New("x")}, 0, ""},
		{[]Type{Error}, []any{"x"}, 0, "string does not fit Error"},
		{[]Type{Pointer}, []any{nil}, 0, ""},
		{[]Type{Pointer}, []any{new(int)}, 0, ""},
		{[]Type{Pointer}, []any{unsafe.Pointer(t)}, 0, ""},
		{[]Type{Pointer}, []any{5}, 0, "int does not fit Pointer"},
		{[]Type{Pointer}, []any{make(chan int)}, 0, "chan int does not fit Pointer"},
	} {
		var args []Arg
		for j, typ := range tt.types {
			args = append(args, Arg{Name: fmt.Sprintf("a%d", j), Type: typ})
		}
		h, err := NewProbe(p, fmt.Sprintf("p%d", i), args, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = h.Fire(tt.args...)
		var e *ArgError
		switch {
		case tt.reason == "":
			if err != nil {
				t.Errorf("%v with %v: %v", tt.types, tt.args, err)
			}
		case !errors.As(err, &e):
			t.Errorf("%v with %v: error %v, want an ArgError", tt.types, tt.args, err)
		case e.Reason != tt.reason || e.Index != tt.index || e.Provider != "args" || !strings.Contains(err.Error(), "fire args:p"):
			t.Errorf("%v with %v: error %q of argument %d, want %q of %d", tt.types, tt.args, err, e.Index, tt.reason, tt.index)
		}
	}
}

func TestMust(t *testing.T) {
	p, err := NewProvider("must", nil)
	if err != nil {
		t.Fatal(err)
	}
	if h := Must(NewProbe0(p, "p", nil)); h == nil {
		t.Error("nil handle")
	}
	defer func() {
		if r := fmt.Sprint(recover()); !strings.Contains(r, "emit: ") || !strings.Contains(r, "has a probe of this name") {
			t.Errorf("panics with %s", r)
		}
	}()
	Must(NewProbe0(p, "p", nil))
}
