package body

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/nopfire/nopfire/bpfside/usdt"
)

// hostileTypes are types as a file may have them that means no good: in circles, of
// sizes that do not fit one another, and with names that are none.
func hostileTypes(r *rand.Rand) []*usdt.Type {
	names := []string{"a", "b", "c", "", "int", "return", "x y", "} ;", "\x1b[2J", "ptr", "len", "go_string"}
	sizes := []int{0, 1, 2, 3, 4, 8, 8, 8, 16, 24, 1 << 20, 1 << 30, -1}
	types := make([]*usdt.Type, 1+r.IntN(12))
	for i := range types {
		types[i] = new(usdt.Type)
	}
	for _, t := range types {
		*t = usdt.Type{
			Kind: usdt.Kind(r.IntN(int(usdt.Array) + 2)), Size: sizes[r.IntN(len(sizes))],
			Name: names[r.IntN(len(names))], Len: sizes[r.IntN(len(sizes))], Elem: types[r.IntN(len(types))],
		}
		if r.IntN(3) == 0 {
			t.Kind = usdt.Struct
		}
		if r.IntN(4) == 0 {
			t.Elem = nil
		}
		for range r.IntN(5) {
			t.Fields = append(t.Fields, usdt.Field{Name: names[r.IntN(len(names))], Offset: sizes[r.IntN(len(sizes))], Type: types[r.IntN(len(types))]})
		}
	}
	return types
}

// Whatever the types of arguments are, an expression is compiled or refused by name.
func TestHostileTypes(t *testing.T) {
	exprs := []string{"x->a", "x->b.c", "x->a->b->c", "*x", "**x", "x[1]", "x[2].a[3]", "&x->c", `x->a == "t"`, `x == "t"`, "sizeof(struct a)", "((struct b *)x)->a", "x + 1", "x->ptr"}
	r := rand.New(rand.NewPCG(9, 9))
	compiled := 0
	for range 400 {
		types := hostileTypes(r)
		in := &Input{Args: []Arg{{Name: "x", Size: 8, Type: pointerTo(types[0])}, {Name: "y", Size: 8, Type: types[len(types)-1]}}}
		in.Values = []string{exprs[r.IntN(len(exprs))]}
		_, err := Compile(context.Background(), in)
		var e *Error
		switch {
		case err == nil:
			compiled++
		case !errors.As(err, &e):
			t.Fatalf("%q: %v", in.Values, err)
		}
	}
	if compiled == 0 {
		t.Error("nothing was compiled")
	}
}

// Structs without a name in structs without a name are looked at only so often.
func TestHostileMembers(t *testing.T) {
	inner := &usdt.Type{Kind: usdt.Struct, Size: 8}
	for range maxTypeDepth {
		inner = &usdt.Type{Kind: usdt.Struct, Size: 8, Fields: []usdt.Field{{Type: inner}, {Type: inner}, {Type: inner}}}
	}
	if all := members(inner); len(all) != 0 {
		t.Errorf("%d fields", len(all))
	}
	wide := &usdt.Type{Kind: usdt.Struct, Name: "wide", Size: 1 << 20}
	for i := range 1 << 16 {
		wide.Fields = append(wide.Fields, usdt.Field{Name: fmt.Sprintf("field%d", i), Offset: 8 * i, Type: pointerTo(wide)})
	}
	in := &Input{Args: []Arg{{Name: "x", Size: 8, Type: pointerTo(wide)}}, Where: "x->field7->field9 && x->field70000"}
	var e *Error
	if _, err := Compile(context.Background(), in); !errors.As(err, &e) || e.Off != 24 {
		t.Errorf("%v", err)
	}
	in.Where = "x->field7->field9 && x->field8"
	if _, err := Compile(context.Background(), in); err != nil {
		t.Error(err)
	}
}
