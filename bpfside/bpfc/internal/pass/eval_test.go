package pass

import (
	"fmt"
	"math"
	"testing"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

func TestEvalBinary(t *testing.T) {
	const low32, low64 = math.MinInt32, math.MinInt64
	for _, row := range []struct {
		op      ir.Op
		typ     ir.Type
		x, y, z int64
	}{
		{ir.OpAdd, ir.I32, math.MaxInt32, 1, low32},
		{ir.OpAdd, ir.I64, math.MaxInt64, 1, low64},
		{ir.OpSub, ir.I32, low32, 1, math.MaxInt32},
		{ir.OpMul, ir.I32, 1 << 16, 1 << 16, 0},
		// The machine divides by 0, and the lowest number by -1.
		{ir.OpUDiv, ir.I64, 7, 0, 0},
		{ir.OpSDiv, ir.I64, 7, 0, 0},
		{ir.OpUMod, ir.I32, -7, 0, -7},
		{ir.OpSMod, ir.I32, -7, 0, -7},
		{ir.OpSDiv, ir.I32, low32, -1, low32},
		{ir.OpSDiv, ir.I64, low64, -1, low64},
		{ir.OpSMod, ir.I64, low64, -1, 0},
		// Division rounds towards 0; an I32 without a sign is its low half.
		{ir.OpSDiv, ir.I64, -7, 2, -3},
		{ir.OpSMod, ir.I64, -7, 2, -1},
		{ir.OpUDiv, ir.I32, -2, 2, math.MaxInt32},
		{ir.OpUDiv, ir.I64, -2, 2, math.MaxInt64},
		{ir.OpUMod, ir.I32, -1, 10, 5},
		// Counts are taken modulo the width.
		{ir.OpShl, ir.I32, 1, 31, low32},
		{ir.OpShl, ir.I32, 1, 33, 2},
		{ir.OpShl, ir.I64, 1, 65, 2},
		{ir.OpLShr, ir.I32, -1, 28, 15},
		{ir.OpLShr, ir.I32, -1, -4, 15},
		{ir.OpLShr, ir.I64, -1, 60, 15},
		{ir.OpAShr, ir.I32, -16, 2, -4},
	} {
		name := fmt.Sprintf("%s %s %d, %d", row.typ, row.op, row.x, row.y)
		if z, ok := evalBinary(row.op, row.typ, row.x, row.y); !ok || z != row.z {
			t.Errorf("%s is %d, not %d", name, z, row.z)
		}
	}
	if _, ok := evalBinary(ir.OpCmp, ir.I64, 1, 1); ok {
		t.Error("a comparison is no arithmetic")
	}
}

func TestEvalCmp(t *testing.T) {
	for _, row := range []struct {
		typ      ir.Type
		x, y     int64
		unsigned string // how x and y compare as unsigned numbers: <, = or >
		signed   string
	}{
		{ir.I32, 1, 2, "<", "<"},
		{ir.I32, 2, 2, "=", "="},
		{ir.I32, -1, 1, ">", "<"},
		{ir.I64, -1, 1, ">", "<"},
		{ir.I64, math.MinInt64, math.MaxInt64, ">", "<"},
		{ir.Ptr, 0, 0, "=", "="},
	} {
		for _, c := range []struct {
			cond ir.Cond
			how  string
			of   string
		}{
			{ir.EQ, row.unsigned, "="}, {ir.NE, row.unsigned, "<>"},
			{ir.ULT, row.unsigned, "<"}, {ir.ULE, row.unsigned, "<="},
			{ir.UGT, row.unsigned, ">"}, {ir.UGE, row.unsigned, ">="},
			{ir.SLT, row.signed, "<"}, {ir.SLE, row.signed, "<="},
			{ir.SGT, row.signed, ">"}, {ir.SGE, row.signed, ">="},
		} {
			want := false
			for _, r := range c.of {
				want = want || string(r) == c.how
			}
			if got := evalCmp(c.cond, row.typ, row.x, row.y); got != want {
				t.Errorf("%s %d %s %d is %v", row.typ, row.x, c.cond, row.y, got)
			}
			if got := evalCmp(c.cond.Not(), row.typ, row.x, row.y); got == want {
				t.Errorf("%s %d %s %d is %v as well", row.typ, row.x, c.cond.Not(), row.y, got)
			}
			if got := evalCmp(c.cond.Swap(), row.typ, row.y, row.x); got != want {
				t.Errorf("%s %d %s %d is %v", row.typ, row.y, c.cond.Swap(), row.x, got)
			}
		}
	}
}

func TestZeroBits(t *testing.T) {
	for _, row := range []struct {
		code string // of v9; v1 is an I32, v2 an I64, v3 a pointer
		most uint64 // the bits that may be set
	}{
		{"v9 i32 = const -1", 0xffffffff},
		{"v9 i64 = const -1", ^uint64(0)},
		{"v9 i32 = load.1 v3", 0xff},
		{"v9 i64 = load.4 v3", 0xffffffff},
		{"v9 i64 = sload.4 v3", ^uint64(0)},
		{"v9 i32 = sload.1 v3", 0xffffffff},
		{"v9 i32 = cmp.ult v1, v1", 1},
		{"v9 i64 = zext v1", 0xffffffff},
		{"v9 i64 = sext v1", ^uint64(0)},
		{"v9 i32 = bswap.2 v1", 0xffff},
		{"v4 i32 = const 12\n v9 i32 = and v1, v4", 12},
		{"v4 i32 = load.1 v3\n v5 i32 = load.2 v3\n v9 i32 = or v4, v5", 0xffff},
		{"v4 i32 = load.1 v3\n v9 i32 = add v4, v4", 0x1ff},
		{"v9 i32 = add v1, v1", 0xffffffff},
		{"v9 i64 = add v2, v2", ^uint64(0)},
		{"v4 i32 = load.1 v3\n v5 i32 = const 4\n v9 i32 = shl v4, v5", 0xff0},
		{"v4 i32 = const 28\n v9 i32 = shl v1, v4", 0xf0000000},
		{"v4 i32 = const 28\n v9 i32 = lshr v1, v4", 0xf},
		{"v4 i64 = const 32\n v9 i64 = lshr v2, v4", 0xffffffff},
		{"v4 i64 = const 10\n v9 i64 = umod v2, v4", ^uint64(0)},
		{"v4 i64 = load.2 v3\n v9 i64 = udiv v4, v2", ^uint64(0)},
		{"v9 i32 = umod v1, v1", 0xffffffff},
		{"v4 i32 = trunc v2\n v5 i32 = const 255\n v6 i32 = and v4, v5\n v9 i64 = zext v6", 0xff},
	} {
		m, err := ir.Parse(row.code, "func @f void external {\nb1(v1 i32, v2 i64, v3 ptr):\n"+row.code+"\nret\n}\n")
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Check(); err != nil {
			t.Fatal(err)
		}
		values := m.Funcs[0].Blocks[0].Values
		if got := ^zeroBits(values[len(values)-1], knownDepth); got != row.most {
			t.Errorf("%s: may be %#x, not %#x", row.code, got, row.most)
		}
	}
}
