package ir

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	// Each is the body of a function (v1 ptr, v2 i32, v3 i64) that returns an
	// I32, and what is wrong with it.
	for _, tt := range []struct{ body, want string }{
		{"ret v2", ""},
		{"v4 i32 = add v2, v2\nret v4", ""},
		{"v4 ptr = add v1, v3\nv5 i32 = load.4 v4\nret v5", ""},
		{"unreachable", ""},

		{"ret", "ret: 0 operands and 0 edges in b1"},
		{"ret v3", "ret v3: the function's result is i32"},
		{"v4 i32 = const 1", "b1: has no end"},
		{"if v1 b2, b2\nb2:\nunreachable", "the operand is ptr"},
		{"jump b1", "enters the entry block"},
		{"jump b2\nb2(v5 i32):\nret v5", "b2 has 1 parameters"},
		{"jump b2(v3)\nb2(v5 i32):\nret v5", "parameter 1 of b2 is i32"},
		{"switch v2 b2 [1: b2, 1: b2]\nb2:\nunreachable", "case 1 stands twice"},
		{"switch v2 b2 [4294967295: b2]\nb2:\nunreachable", "case 4294967295 is not a sign-extended I32"},

		{"v4 i32 = add v2, v3\nret v4", "the types do not fit"},
		{"v4 ptr = add v3, v1\nret v2", "the types do not fit"},
		{"v4 i64 = sub v1, v1\nret v2", "the types do not fit"},
		{"v4 ptr = and v1, v3\nret v2", "the types do not fit"},
		{"v4 i64 = cmp.eq v3, v3\nret v2", "the types do not fit"},
		{"v4 i64 = trunc v3\nret v2", "the types do not fit"},
		{"v4 i32 = helper 7()\nret v4", "a helper has no I32 result"},
		{"helper 7(v2, v2, v2, v2, v2, v2)\nret v2", "a helper with 6 arguments"},
		{"v4 i32 = call @g(v2)\nret v4", "parameter 1 of the function is ptr"},
		{"v4 i32 = call @g()\nret v4", "the function has 1 parameters"},
		{"v4 i64 = call @g(v1)\nret v2", "the function's result is i32"},
		{"v4 i32 = const 4294967295\nret v4", "the constant is not a sign-extended I32"},
		{"v4 ptr = alloca 0\nret v2", "the size is 0"},
		{"v4 ptr = alloca 8 align 3\nret v2", "the alignment is 3"},
		{"jump b2\nb2:\nv4 ptr = alloca 8\nret v2", "not in the entry block"},
		{"v4 i32 = load.8 v1\nret v4", "the size is 8"},
		{"v4 i64 = load.3 v1\nret v2", "the size is 3"},
		{"v4 ptr = load.4 v1\nret v2", "a pointer of 4 bytes"},
		{"store.8 v1, v2\nret v2", "the size is 8"},
		{"v4 i32 = bswap.8 v2\nret v4", "the size is 8"},
		{"v4 i32 = sextin.4 v2\nret v4", "the size is 4"},
		{"atomic.xchg.4 v1, v2\nret v2", "atomic xchg has a result"},
		{"v4 i32 = atomic.add.4 v1, v2, v2\nret v2", "atomic add has 3 operands"},
		{"atomic.add.4 v1, v3\nret v2", "the size is 4"},
		{"life v1\nret v2", "the operand is no alloca"},

		{"v4 i32 = add v5, v2\nv5 i32 = add v2, v2\nret v4", "v5 is not made on every way to b1"},
		{"if v2 b2, b3\nb2:\nv4 i32 = const 1\njump b3\nb3:\nret v4", "v4 is not made on every way to b3"},
		{"if v2 b2, b3(v2)\nb2:\nv4 i32 = const 1\njump b3(v4)\nb3(v5 i32):\nret v5", ""},
		{"jump b2(v2)\nb2(v4 i32):\nv5 i32 = add v4, v4\nif v5 b2(v5), b3\nb3:\nret v5", ""},
		{"jump b2(v4)\nb2(v5 i32):\nv4 i32 = const 1\nret v4", "v4 is not made on every way to b1"},
	} {
		m, err := Parse("x", "func @g i32 static {\nb1(v1 ptr):\nunreachable\n}\n"+
			"func @f i32 external {\nb1(v1 ptr, v2 i32, v3 i64):\n"+tt.body+"\n}")
		if err != nil {
			t.Error(err)
			continue
		}
		switch err := m.Check(); {
		case err == nil && tt.want != "":
			t.Errorf("Check of %q: nil, want %s", tt.body, tt.want)
		case err != nil && (tt.want == "" || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("Check of %q: %v, want %q", tt.body, err, tt.want)
		}
	}
}

// What no text can say.
func TestCheckStructure(t *testing.T) {
	for _, tt := range []struct {
		name string
		harm func(*Func)
		want string
	}{
		{"operand of no block", func(f *Func) { f.Blocks[0].Values[0].Args[0] = f.NewValue(OpConst, I32) }, "in no block"},
		{"nil operand", func(f *Func) { f.Blocks[0].Values[0].Args[0] = nil }, "in no block"},
		{"twice in its block", func(f *Func) { f.Blocks[0].Append(f.Blocks[0].Values[0]) }, "another value has this number"},
		{"wrong block", func(f *Func) { f.Blocks[0].Values[0].Block = f.Blocks[1] }, "Block is not the one"},
		{"wrong func", func(f *Func) { f.Blocks[1].Func = nil }, "Func is not this function"},
		{"removed block", func(f *Func) { f.Blocks = f.Blocks[:1] }, "enters no block"},
		{"nil value", func(f *Func) { f.Blocks[0].Values[0] = nil }, "a value is nil"},
	} {
		f := parseFunc(t, `b1(v1 i32):
	v2 i32 = add v1, v1
	jump b2
b2:
	ret v1
`)
		tt.harm(f)
		if err := f.Check(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestCheckModule(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"global @g size 4 align 4 static", ""},
		{"global @g size 4 align 3 static", "alignment 3"},
		{"global @g size 4 align 4 static data \"abc\"", "3 bytes of data and the size 4"},
		{"global @g size 3 align 1 static extern data \"abc\"", "extern g has data"},
	} {
		m, err := Parse("x", tt.text)
		if err != nil {
			t.Error(err)
			continue
		}
		if err := m.Check(); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Check of %q: %v, want %q", tt.text, err, tt.want)
		}
	}
	stray := &Module{Funcs: []*Func{{Name: "f"}, {Name: "f"}}}
	if err := stray.Check(); err == nil || !strings.Contains(err.Error(), "two symbols have the name f") {
		t.Errorf("two of a name: %v", err)
	}
}
