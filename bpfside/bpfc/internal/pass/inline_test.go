package pass

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// inlineAll runs the inliner alone on the functions of m.
func inlineAll(m *ir.Module) error {
	order, err := callOrder(m)
	if err != nil {
		return err
	}
	in := newInliner(order)
	for _, f := range order {
		in.inline(f)
		cfg(f)
	}
	if err := in.errs.Err(); err != nil {
		return err
	}
	removeUnused(m)
	for _, f := range m.Funcs {
		f.Renumber()
	}
	return tooManyParams(m)
}

// large is the body of a function that is too large to be inlined twice.
var large = strings.Repeat("\tstore.4 v1, v2\n", 100)

func TestInline(t *testing.T) {
	for _, tt := range []struct{ name, before, after string }{
		{
			"the result, and values of the caller behind the call",
			`func @max i32 static {
b1(v1 i32, v2 i32):
	v3 i32 = cmp.sgt v1, v2
	if v3 b2, b3
b2:
	ret v1
b3:
	ret v2
}
func @f i32 external {
b1(v1 i32, v2 i32):
	v3 i32 = add v1, v2
	v4 i32 = call @max(v1, v3)
	v5 i32 = add v3, v4
	ret v5
}`,
			`func @f i32 external {
b1(v1 i32, v2 i32):
	v3 i32 = add v1, v2
	v4 i32 = cmp.sgt v1, v3
	if v4 b2(v1), b2(v3)
b2(v5 i32):
	v6 i32 = add v3, v5
	ret v6
}`,
		},
		{
			"allocas go to the entry, and their scope begins with the call",
			`func @g i32 static {
b1(v1 ptr):
	v2 ptr = alloca 4 align 4
	v3 i32 = const 1
	store.4 v2, v3
	v4 i64 = helper 1(v1, v2)
	ret v3
}
func @f i32 external {
b1(v1 ptr):
	v2 i32 = load.4 v1
	if v2 b2, b3
b2:
	v3 i32 = call @g(v1)
	v4 i32 = call @g(v1)
	v5 i32 = add v3, v4
	jump b3
b3:
	ret v2
}`,
			`func @f i32 external {
b1(v1 ptr):
	v2 ptr = alloca 4 align 4
	v3 ptr = alloca 4 align 4
	v4 i32 = load.4 v1
	if v4 b2, b3
b2:
	life v2
	v5 i32 = const 1
	store.4 v2, v5
	v6 i64 = helper 1(v1, v2)
	life v3
	v7 i32 = const 1
	store.4 v3, v7
	v8 i64 = helper 1(v1, v3)
	v9 i32 = add v5, v7
	jump b3
b3:
	ret v4
}`,
		},
		{
			"an alloca behind the call stays in the entry",
			`func @g i32 static {
b1(v1 i32):
	if v1 b2, b3
b2:
	ret v1
b3:
	unreachable
}
func @f i32 external {
b1(v1 i32):
	v2 i32 = call @g(v1)
	v3 ptr = alloca 4
	store.4 v3, v2
	v4 i64 = helper 1(v3)
	ret v2
}`,
			`func @f i32 external {
b1(v1 i32):
	v2 ptr = alloca 4
	if v1 b2, b3
b2:
	store.4 v2, v1
	v3 i64 = helper 1(v2)
	ret v1
b3:
	unreachable
}`,
		},
		{
			"a call of a call, and what it asks for its loops",
			`func @inner void static {
b1(v1 ptr):
	jump b2
b2 unroll 8:
	v2 i32 = load.4 v1
	if v2 b2, b3
b3:
	ret
}
func @outer void static inline {
b1(v1 ptr):
	call @inner(v1)
	ret
}
func @f void external {
b1(v1 ptr):
	call @outer(v1)
	ret
}`,
			`func @f void external {
b1(v1 ptr):
	jump b2
b2 unroll 8:
	v2 i32 = load.4 v1
	if v2 b2, b3
b3:
	ret
}`,
		},
		{
			"noinline, weak, and programs stay; callbacks stay beside the copy",
			`func @never i32 static noinline {
b1(v1 i32):
	ret v1
}
func @weak i32 weak {
b1(v1 i32):
	ret v1
}
func @prog i32 section "xdp" static {
b1(v1 i32):
	ret v1
}
func @callback i32 static callback {
b1(v1 i32):
	ret v1
}
func @unused i32 static {
b1(v1 i32):
	ret v1
}
func @f i32 external {
b1(v1 i32):
	v2 i32 = call @never(v1)
	v3 i32 = call @weak(v2)
	v4 i32 = call @prog(v3)
	v5 ptr = func @callback
	v6 i64 = helper 181(v5)
	v7 i32 = call @callback(v4)
	ret v7
}`,
			`func @never i32 static noinline {
b1(v1 i32):
	ret v1
}

func @weak i32 weak {
b1(v1 i32):
	ret v1
}

func @prog i32 section "xdp" static {
b1(v1 i32):
	ret v1
}

func @callback i32 static callback {
b1(v1 i32):
	ret v1
}

func @f i32 external {
b1(v1 i32):
	v2 i32 = call @never(v1)
	v3 i32 = call @weak(v2)
	v4 i32 = call @prog(v3)
	v5 ptr = func @callback
	v6 i64 = helper 181(v5)
	ret v4
}`,
		},
		{
			"more arguments than registers",
			`func @six i32 static {
b1(v1 i32, v2 i32, v3 i32, v4 i32, v5 i32, v6 i32):
	ret v6
}
func @f i32 external {
b1(v1 i32):
	v2 i32 = call @six(v1, v1, v1, v1, v1, v1)
	ret v2
}`,
			`func @f i32 external {
b1(v1 i32):
	ret v1
}`,
		},
		{
			"one that never returns",
			`func @die void static {
b1:
	unreachable
}
func @f i32 external {
b1(v1 i32):
	call @die()
	ret v1
}`,
			`func @f i32 external {
b1(v1 i32):
	unreachable
}`,
		},
		{
			"a large one that is called once",
			"func @large void static {\nb1(v1 ptr, v2 i32):\n" + large + "\tret\n}\n" +
				"func @f void external {\nb1(v1 ptr, v2 i32):\n\tcall @large(v1, v2)\n\tret\n}",
			"func @f void external {\nb1(v1 ptr, v2 i32):\n" + large + "\tret\n}",
		},
		{
			"a large one that is called twice stays",
			"func @large void static {\nb1(v1 ptr, v2 i32):\n" + large + "\tret\n}\n" +
				"func @f void external {\nb1(v1 ptr, v2 i32):\n\tcall @large(v1, v2)\n\tcall @large(v1, v2)\n\tret\n}",
			"func @large void static {\nb1(v1 ptr, v2 i32):\n" + large + "\tret\n}\n\n" +
				"func @f void external {\nb1(v1 ptr, v2 i32):\n\tcall @large(v1, v2)\n\tcall @large(v1, v2)\n\tret\n}",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := ir.Parse(tt.name, tt.before)
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Check(); err != nil {
				t.Fatal(err)
			}
			if err := inlineAll(m); err != nil {
				t.Fatal(err)
			}
			if err := m.Check(); err != nil {
				t.Error(err)
			}
			if got, want := strings.TrimSpace(m.String()), strings.TrimSpace(tt.after); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// What is inlined keeps the places in the source that it had.
func TestInlinePositions(t *testing.T) {
	m, err := ir.Parse("x.c", `func @g i32 static {
b1(v1 i32):
	v2 i32 = add v1, v1
	ret v2
}
func @f i32 external {
b1(v1 i32):
	v2 i32 = call @g(v1)
	ret v2
}`)
	if err != nil {
		t.Fatal(err)
	}
	if err := inlineAll(m); err != nil {
		t.Fatal(err)
	}
	if got := m.Funcs[0].Blocks[0].Values[0].Pos.Line; got != 3 {
		t.Errorf("the addition is on line %d, want 3", got)
	}
}

func TestInlineErrors(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"itself", `func @f i32 external {
b1(v1 i32):
	v2 i32 = call @f(v1)
	ret v2
}`, "x.c:3: recursion is not supported: f calls itself"},
		{"each other", `func @g i32 static {
b1(v1 i32):
	v2 i32 = call @h(v1)
	ret v2
}
func @h i32 static {
b1(v1 i32):
	v2 i32 = call @g(v1)
	ret v2
}
func @f i32 external {
b1(v1 i32):
	v2 i32 = call @g(v1)
	ret v2
}`, "x.c:8: recursion is not supported: g calls h calls g"},
		{"nobody calls it", `func @g i32 static {
b1(v1 i32):
	v2 i32 = call @g(v1)
	ret v2
}`, ""},
		{"a callback that starts its loop anew", `func @g i32 static callback {
b1(v1 i32):
	v2 ptr = func @g
	v3 i64 = helper 181(v2)
	ret v1
}
func @f i32 external {
b1(v1 i32):
	v2 ptr = func @g
	v3 i64 = helper 181(v2)
	ret v1
}`, ""},
		{"six parameters, and not to be inlined", `func @g i32 static noinline {
b1(v1 i32, v2 i32, v3 i32, v4 i32, v5 i32, v6 i32):
	ret v6
}
func @f i32 external {
b1(v1 i32):
	v2 i32 = call @g(v1, v1, v1, v1, v1, v1)
	ret v2
}`, "x.c:1: g has 6 parameters: a function that is not inlined has at most 5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := ir.Parse("x.c", tt.text)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := inlineAll(m); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// Functions of which each calls the next one twice double the size in each line.
func TestInlineTooLarge(t *testing.T) {
	text := "func @f0 void static inline {\nb1(v1 ptr, v2 i32):\n\tstore.4 v1, v2\n\tret\n}\n"
	for i := 1; i <= 30; i++ {
		text += fmt.Sprintf("func @f%d void static inline {\nb1(v1 ptr, v2 i32):\n\tcall @f%d(v1, v2)\n\tcall @f%[2]d(v1, v2)\n\tret\n}\n", i, i-1)
	}
	text += "func @f void external {\nb1(v1 ptr, v2 i32):\n\tcall @f30(v1, v2)\n\tret\n}\n"
	m, err := ir.Parse("x.c", text)
	if err != nil {
		t.Fatal(err)
	}
	err = inlineAll(m)
	if want := "x.c:99: f16 becomes too large with what is inlined in it: f15 is one too many"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestRemoveUnused(t *testing.T) {
	m, err := ir.Parse("x.c", `global @license section "license" size 4 align 1 external data "GPL\x00"
global @map section ".maps" size 8 align 8 static reloc 0 @inmap
global @inmap section ".bss" size 8 align 8 static
global @named section ".bss" size 8 align 8 static
global @used section ".data.x" size 8 align 8 static used
global @seen section ".data" size 8 align 8 external
global @config section ".kconfig" size 8 align 8 external extern
global @.str section ".rodata.str1.1" size 2 align 1 static const data "x\x00"
global @unused section ".bss" size 8 align 8 static
func @callback i32 static callback {
b1:
	v1 ptr = global @named
	v2 i32 = load.4 v1
	ret v2
}
func @unused2 i32 static {
b1:
	v1 ptr = global @.str
	v2 i32 = load.1 v1
	ret v2
}
func @f i64 section "xdp" static {
b1:
	v1 ptr = func @callback
	v2 i64 = helper 181(v1)
	ret v2
}`)
	if err != nil {
		t.Fatal(err)
	}
	removeUnused(m)
	var left []string
	for _, g := range m.Globals {
		left = append(left, g.Name)
	}
	for _, f := range m.Funcs {
		left = append(left, f.Name)
	}
	if got, want := strings.Join(left, " "), "license map inmap named used seen callback f"; got != want {
		t.Errorf("left %s, want %s", got, want)
	}
}
