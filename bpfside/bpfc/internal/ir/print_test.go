package ir

import (
	"strings"
	"testing"
)

// everything has each operation, end of a block, and flag in the form in which
// it is printed.
const everything = `global @hits section ".bss" size 8 align 8 external used hidden
global @.str section ".rodata.str1.1" size 3 align 1 static const data "h\x00\xff"
global @counts section ".maps" size 32 align 8 weak data "\x01" reloc 24 @prog reloc 16 @"odd name"
global @"odd name" section ".kconfig" size 4 align 4 static extern

func @extern void external

func @sum i64 weak used hidden noinline {
b1(v1 i64 "a", v2 i64):
	v3 i64 = add v1, v2
	ret v3
}

func @callback i64 static inline callback {
b1:
	unreachable
}

func @prog i32 section "xdp" external {
b1(v1 ptr "ctx"):
	v2 ptr = alloca 16 "key"
	v3 ptr = alloca 3 align 1
	life v2
	v4 i32 = const -7
	v5 i64 = const 9223372036854775807
	v6 ptr = const 0
	v7 i32 = undef
	v8 ptr = global @hits+4
	v9 ptr = global @.str
	v10 ptr = func @callback
	v11 i32 = load.4 v1+4
	v12 i32 = sload.1 v1-1
	v13 i64 = load.8 v1+8 align 4 volatile
	store.2 v2+2, v11
	store.8 v8, v13 align 1 volatile
	copy.16 v2, v1 align 4
	move.3 v3, v1
	set.16 v2, v4
	v14 i32 = cmp.ult v11, v12
	v15 i64 = zext v11
	v16 i64 = sext v11
	v17 i32 = trunc v15
	v18 i32 = sextin.2 v11
	v19 i64 = ptrtoint v1
	v20 ptr = inttoptr v19
	v21 i64 = bswap.8 v19
	atomic.add.8 v8, v21
	v22 i32 = atomic.cmpxchg.4 v8+4, v11, v12
	v23 i64 = call @sum(v21, v19)
	call @extern()
	v24 ptr = helper 1(v8, v2)
	helper 6()
	barrier
	v25 i64 = barrier v21 "kept"
	jump b2(v11, v21)
b2(v26 i32 "i", v27 i64) unroll 4:
	if v26 b3, b4(v11) likely
b3:
	if v27 b2(v11, v21), b4(v11) unlikely
b4(v28 i32):
	switch v28 b5 [-1: b5, 7: b2(v11, v21)]
b5:
	switch v5 b6
b6:
	ret v28
}
`

func TestParsePrint(t *testing.T) {
	m, err := Parse("everything.c", everything)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.String(); got != everything {
		t.Errorf("got\n%s\nwant\n%s", got, everything)
	}
	for _, f := range m.Funcs {
		seen := map[int]bool{}
		for _, b := range f.Blocks {
			for _, v := range append(b.Params, b.Values...) {
				if seen[v.ID] || v.ID < 1 || v.ID >= f.NumIDs() {
					t.Errorf("@%s: %v has the number %d of %d", f.Name, v, v.ID, f.NumIDs())
				}
				seen[v.ID] = true
			}
		}
	}
}

// Values that have no result take no number away from those that have one.
func TestParseComments(t *testing.T) {
	const text = `
// a comment
func @f void external { // another
b1(v2 ptr): // here too
	store.4 v2, v3
	store.4 v2, v3

	v3 i32 = const 0xffffffff // -1
	v4 i64 = const 0xffffffffffffffff
	ret
}`
	m, err := Parse("x", text)
	if err != nil {
		t.Fatal(err)
	}
	const want = `func @f void external {
b1(v2 ptr):
	store.4 v2, v3
	store.4 v2, v3
	v3 i32 = const 4294967295
	v4 i64 = const -1
	ret
}
`
	if got := m.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if ids := m.Funcs[0].Blocks[0].Values[0].ID; ids <= 4 {
		t.Errorf("the first store has the number %d", ids)
	}
}

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"int f;", `x:1: "int f;" where a global or a func is wanted`},
		{"func @f i32 {", `x:1: func @f has no end`},
		{"func @f i33", `x:1: "i33" where a type is wanted`},
		{"func @f i32 {\n}", `x:2: func @f has no block`},
		{"func @f i32 {\n\tret v1\n}", `x:2: "ret v1" stands in no block`},
		{"func @f i32 {\nb1:\n\tret v1\n}", `x:4: func @f has no v1`},
		{"func @f i32 {\nb1:\n\tjump b2\n}", `x:4: func @f has no b2`},
		{"func @f i32 {\nb1:\nb1:\n}", `x:3: b1 is defined twice`},
		{"func @f i32 {\nb1:\n\tv1 i32 = const 1\n\tv1 i32 = const 1\n}", `x:4: v1 is defined twice`},
		{"func @f i32 {\nb1:\n\tret\n\tret\n}", `x:4: "ret" stands behind the end of b1`},
		{"func @f i32 {\nb1:\n\tv1 i32 = cmp.lt v2, v3\n}", `x:3: cmp has no condition`},
		{"func @f i32 {\nb1:\n\tv1 i32 = load v2\n}", `x:3: load has no size`},
		{"func @f i32 {\nb1:\n\tv1 i32 = lood v2\n}", `x:3: "lood" is no operation`},
		{"func @f i32 {\nb1:\n\tv1 i32 = param\n}", `x:3: "param" is no operation`},
		{"func @f i32 {\nb1:\n\tv1 i32 = const 1 2\n}", `x:3: "2" is left over`},
		{"func @f i32 {\nb1:\n\tv1 i32 = call @g()\n}", `x:3: the module has no @g`},
		{"func @f i32 {\nb1:\n\tv0 i32 = const 1\n}", `x:3: "v0" where v and a number is wanted`},
		{"func @f i32 {\nb1:\n\tv9999999 i32 = const 1\n}", `x:3: v9999999 has too high a number`},
		{"global @f size x", `x:1: "x" is no number`},
		{"global @f size -1", `x:1: -1 is no size`},
		{"global @f data 5", `x:1: "5" where a quoted string is wanted`},
		{"global @f\nfunc @f i32", `x:2: @f is defined twice`},
		{"global f", `x:1: "f" where "@" is wanted`},
	} {
		_, err := Parse("x", tt.text)
		if err == nil || err.Error() != tt.want {
			t.Errorf("Parse(%q) = %v, want %s", tt.text, err, tt.want)
		}
	}
}

// What is printed is read back, and printed alike.
func FuzzParse(f *testing.F) {
	f.Add(everything)
	f.Add("func @f i32 {\nb1(v1 ptr, v2 i32):\n\tret v1\n}")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Parse("x", text)
		if err != nil {
			return
		}
		once := m.String()
		again, err := Parse("x", once)
		if err != nil {
			t.Fatalf("%v\n%s", err, once)
		}
		if twice := again.String(); twice != once {
			t.Errorf("printed\n%s\nand then\n%s", once, twice)
		}
		if strings.Contains(once, "?") && !strings.Contains(text, "?") {
			t.Errorf("something has no name in\n%s", once)
		}
	})
}
