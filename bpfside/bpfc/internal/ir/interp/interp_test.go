package interp

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

func parse(t *testing.T, text string) *ir.Module {
	t.Helper()
	m, err := ir.Parse("x.c", text)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	return m
}

// What eBPF makes of numbers, by Documentation/bpf/standardization/
// instruction-set.rst of the kernel.
func TestArithmetic(t *testing.T) {
	const minus1 = 1<<64 - 1
	for _, tt := range []struct {
		op   string
		typ  string
		x, y uint64
		want uint64
	}{
		{"add", "i32", 0xffffffff, 1, 0},
		{"add", "i64", 0xffffffff, 1, 1 << 32},
		{"sub", "i32", 0, 1, 0xffffffff},
		{"mul", "i32", 0x10000, 0x10001, 0x10000},
		{"udiv", "i32", 7, 2, 3},
		{"udiv", "i32", 7, 0, 0},
		{"umod", "i64", 7, 0, 7},
		{"umod", "i32", 7, 4, 3},
		{"sdiv", "i32", 0xfffffff9, 2, 0xfffffffd}, // -7 / 2 = -3
		{"sdiv", "i64", minus1 - 6, 2, minus1 - 2},
		{"sdiv", "i32", 0x80000000, 0xffffffff, 0x80000000},
		{"sdiv", "i64", 1 << 63, minus1, 1 << 63},
		{"sdiv", "i32", 7, 0, 0},
		{"smod", "i32", 0xfffffff9, 2, 0xffffffff}, // -7 % 2 = -1
		{"smod", "i32", 0x80000000, 0xffffffff, 0},
		{"smod", "i64", minus1, 0, minus1},
		{"shl", "i32", 1, 33, 2},
		{"shl", "i64", 1, 65, 2},
		{"lshr", "i32", 0x80000000, 31, 1},
		{"ashr", "i32", 0x80000000, 31, 0xffffffff},
		{"ashr", "i64", 1 << 63, 127, minus1},
		{"and", "i64", 0xff00ff, 0xffff, 0xff},
		{"or", "i64", 0xff0000, 0xff, 0xff00ff},
		{"xor", "i32", 0xffffffff, 1, 0xfffffffe},
	} {
		m := parse(t, fmt.Sprintf("func @f %[2]s external {\nb1(v1 %[2]s, v2 %[2]s):\n\tv3 %[2]s = %[1]s v1, v2\n\tret v3\n}", tt.op, tt.typ))
		got, err := New(m).Call(m.Funcs[0], tt.x, tt.y)
		if err != nil || got != tt.want {
			t.Errorf("%s %s %#x, %#x = %#x, %v, want %#x", tt.typ, tt.op, tt.x, tt.y, got, err, tt.want)
		}
	}
}

func TestUnary(t *testing.T) {
	for _, tt := range []struct {
		op, from, to string
		x, want      uint64
	}{
		{"zext", "i32", "i64", 0x80000000, 0x80000000},
		{"sext", "i32", "i64", 0x80000000, 0xffffffff80000000},
		{"trunc", "i64", "i32", 0x123456789, 0x23456789},
		{"sextin.1", "i32", "i32", 0x180, 0xffffff80},
		{"sextin.2", "i64", "i64", 0x18000, 0xffffffffffff8000},
		{"bswap.2", "i32", "i32", 0xff1234, 0x3412},
		{"bswap.4", "i64", "i64", 0xff12345678, 0x78563412},
		{"bswap.8", "i64", "i64", 0x0102030405060708, 0x0807060504030201},
		{"inttoptr", "i64", "ptr", 5, 5},
		{"barrier", "i32", "i32", 5, 5},
	} {
		m := parse(t, fmt.Sprintf("func @f %[3]s external {\nb1(v1 %[2]s):\n\tv2 %[3]s = %[1]s v1\n\tret v2\n}", tt.op, tt.from, tt.to))
		got, err := New(m).Call(m.Funcs[0], tt.x)
		if err != nil || got != tt.want {
			t.Errorf("%s %#x = %#x, %v, want %#x", tt.op, tt.x, got, err, tt.want)
		}
	}
}

func TestCompare(t *testing.T) {
	// The conditions that hold.
	for _, tt := range []struct {
		typ  string
		x, y uint64
		want string
	}{
		{"i32", 1, 1, "eq ule uge sle sge"},
		{"i32", 1, 0xffffffff, "ne ult ule sgt sge"},
		{"i64", 1, 0xffffffff, "ne ult ule slt sle"},
		{"i64", 2, 1, "ne ugt uge sgt sge"},
		{"i64", 1 << 63, 1, "ne ugt uge slt sle"},
	} {
		var got []string
		for c := ir.EQ; c <= ir.SGE; c++ {
			m := parse(t, fmt.Sprintf("func @f i32 external {\nb1(v1 %[1]s, v2 %[1]s):\n\tv3 i32 = cmp.%[2]s v1, v2\n\tret v3\n}", tt.typ, c))
			x, err := New(m).Call(m.Funcs[0], tt.x, tt.y)
			if err != nil {
				t.Fatal(err)
			}
			if x == 1 {
				got = append(got, c.String())
			}
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s %#x, %#x: %s, want %s", tt.typ, tt.x, tt.y, s, tt.want)
		}
	}
}

func TestRun(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		args       []uint64
		want       uint64
	}{
		{"a loop, whose parameters take each other's place", `b1(v1 i32):
	v2 i32 = const 0
	v3 i32 = const 1
	jump b2(v1, v2, v3)
b2(v4 i32, v5 i32, v6 i32):
	v7 i32 = add v5, v6
	v8 i32 = sub v4, v3
	if v8 b2(v8, v6, v7), b3
b3:
	ret v6`, []uint64{10}, 55},
		{"a switch", `b1(v1 i32):
	v2 i32 = const 20
	switch v1 b2(v1) [-1: b2(v2), 5: b3]
b2(v3 i32):
	ret v3
b3:
	v4 i32 = const 30
	ret v4`, []uint64{0xffffffff}, 20},
		{"no case", `b1(v1 i32):
	v2 i32 = const 20
	switch v1 b2(v1) [-1: b2(v2)]
b2(v3 i32):
	ret v3`, []uint64{7}, 7},
		{"memory, sign and offset", `b1(v1 i32):
	v2 ptr = alloca 8
	store.4 v2+4, v1
	v3 i32 = sload.2 v2+5 align 1
	ret v3`, []uint64{0x12f45678}, 0xfffff456},
		{"set, copy, and what they leave", `b1(v1 i32):
	v4 i32 = const 0
	v2 ptr = alloca 8
	v3 ptr = alloca 8
	set.8 v2, v1
	set.8 v3, v4
	copy.2 v2, v3
	v5 i32 = load.4 v2
	ret v5`, []uint64{0x1234}, 0x34340000},
		{"a global, and its data", `b1(v1 i32):
	v2 ptr = global @g+4
	v3 i32 = load.4 v2
	v4 i32 = add v3, v1
	store.4 v2-4, v4
	v5 i32 = load.4 v2-4
	ret v5`, []uint64{1}, 8},
		{"atomics return what was", `b1(v1 i32):
	v2 ptr = global @g+4
	v3 i32 = atomic.add.4 v2, v1
	v4 i32 = const 10
	v5 i32 = atomic.xchg.4 v2, v4
	v6 i32 = atomic.cmpxchg.4 v2, v4, v1
	v7 i32 = atomic.cmpxchg.4 v2, v4, v6
	v8 i32 = mul v3, v5
	v9 i32 = mul v6, v7
	v10 i32 = mul v8, v9
	ret v10`, []uint64{3}, 7 * 10 * 10 * 3},
		{"a call, whose allocas are its own", `b1(v1 i32):
	v2 ptr = alloca 4
	store.4 v2, v1
	v3 i32 = call @double(v1)
	v4 i32 = load.4 v2
	v5 i32 = add v3, v4
	ret v5`, []uint64{3}, 9},
		{"a helper that calls back", `b1(v1 i32):
	v2 ptr = func @double
	v3 i64 = zext v1
	v4 i64 = helper 181(v3, v2)
	v5 i32 = trunc v4
	ret v5`, []uint64{3}, 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := parse(t, `global @g section ".data" size 8 align 8 static data "\x00\x00\x00\x00\x07\x00\x00\x00"
func @double i32 static {
b1(v1 i32):
	v2 ptr = alloca 4
	v3 i32 = add v1, v1
	store.4 v2, v3
	v4 i32 = load.4 v2
	ret v4
}
func @f i32 external {
`+tt.body+"\n}")
			mc := New(m)
			mc.Helper = func(call *ir.Value, args []uint64) (uint64, error) {
				if call.Imm != 181 {
					return 0, fmt.Errorf("helper %d", call.Imm)
				}
				return mc.Call(mc.Func(args[1]), args[0])
			}
			got, err := mc.Call(m.Funcs[1], tt.args...)
			if err != nil || got != tt.want {
				t.Errorf("got %#x, %v, want %#x", got, err, tt.want)
			}
		})
	}
}

func TestRunErrors(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       string
	}{
		{"behind an object", "v2 ptr = alloca 8\n\tv3 i32 = load.4 v2+5\n\tret v3", "x.c:4: access of 4 bytes at 0x200000005 is in no object"},
		{"before an object", "v2 ptr = alloca 8\n\tv3 i32 = load.4 v2-1\n\tret v3", "x.c:4: access of 4 bytes at 0x1ffffffff is in no object"},
		{"null", "v2 ptr = const 0\n\tv3 i32 = load.4 v2\n\tret v3", "x.c:4: access of 4 bytes at 0x0 is in no object"},
		{"endless", "jump b2\nb2:\n\tjump b2", "interp: too many steps"},
		{"never here", "unreachable", "interp: unreachable code was reached"},
		{"recursion", "v2 i32 = call @f()\n\tret v2", "interp: f is called at depth 64"},
	} {
		m := parse(t, "func @f i32 external {\nb1:\n\t"+tt.body+"\n}")
		if _, err := New(m).Call(m.Funcs[0]); err == nil || err.Error() != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
}

// A function that reads what nobody wrote gives itself away.
func TestUndefined(t *testing.T) {
	m := parse(t, `func @f i32 external {
b1:
	v1 ptr = alloca 4
	v2 i32 = const 7
	store.4 v1, v2
	life v1
	v3 i32 = load.4 v1
	v4 i32 = undef
	v5 i32 = add v3, v4
	ret v5
}`)
	for _, fill := range []byte{0, 0x11} {
		mc := New(m)
		mc.Undefined = fill
		got, err := mc.Call(m.Funcs[0])
		if want := uint64(fill) * 0x02020202; err != nil || got != want {
			t.Errorf("Undefined %#x: %#x, %v, want %#x", fill, got, err, want)
		}
	}
}

// The memory of a context is the caller's.
func TestObject(t *testing.T) {
	m := parse(t, "func @f void external {\nb1(v1 ptr):\n\tv2 i32 = load.4 v1\n\tstore.4 v1+4, v2\n\tret\n}")
	mc := New(m)
	ctx := []byte{1, 2, 3, 4, 0, 0, 0, 0}
	if _, err := mc.Call(m.Funcs[0], mc.Object(ctx)); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(ctx), "[1 2 3 4 1 2 3 4]"; got != want {
		t.Errorf("the context is %s, want %s", got, want)
	}
	var access *AccessError
	if _, err := mc.Call(m.Funcs[0], mc.Object(ctx[:7])); !errors.As(err, &access) || access.Size != 4 {
		t.Errorf("a context that is too short: %v", err)
	}
	if _, err := mc.Call(m.Funcs[0]); err == nil {
		t.Error("no argument: no error")
	}
}
