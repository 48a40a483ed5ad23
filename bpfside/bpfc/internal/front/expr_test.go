package front

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir/interp"
)

// translateC translates a file that has nothing around it.
func translateC(src string) (*ir.Module, error) {
	return Translate(context.Background(), Input{
		FS:   fstest.MapFS{"t.c": {Data: []byte(src)}},
		File: "t.c",
		Arch: "amd64",
	})
}

// mustTranslate is translateC of what is right, and stays so in the checker of
// the intermediate representation.
func mustTranslate(t *testing.T, src string) *ir.Module {
	t.Helper()
	m, err := translateC(src)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Check(); err != nil {
		t.Fatalf("%v\n%s", err, m)
	}
	return m
}

func funcOf(t *testing.T, m *ir.Module, name string) *ir.Func {
	t.Helper()
	for _, f := range m.Funcs {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no function %s", name)
	return nil
}

// runRows runs the functions f0, f1, … of src with the arguments that params
// gives and compares the results.
func runRows(t *testing.T, src string, params []uint64, rows []cRow) {
	t.Helper()
	m := mustTranslate(t, src)
	for i, r := range rows {
		machine := interp.New(m)
		machine.Helper = func(*ir.Value, []uint64) (uint64, error) { return 0, nil }
		got, err := machine.Call(funcOf(t, m, fmt.Sprintf("f%d", i)), params...)
		if err != nil {
			t.Errorf("%s: %v", r.c, err)
		} else if int64(got) != r.want {
			t.Errorf("%s\n got %d (%#x)\nwant %d", r.c, int64(got), got, r.want)
		}
	}
}

// A cRow is an expression, or the statements of a function, and what it gives.
type cRow struct {
	c    string
	want int64
}

// The variables that the expressions below are made of. They are parameters, so
// that nothing is known when the program is translated.
const (
	exprParams = `long m1, long one, long two, long seven, long big, long min`
	exprLocals = `
	_Bool b1 = one; char cm1 = m1; unsigned char uc = m1; short sm1 = m1; unsigned short us = m1;
	int im1 = m1, i7 = seven, imin = min >> 32; unsigned um1 = m1, u2 = two; unsigned long ul = m1; long l;
	(void)b1; (void)cm1; (void)uc; (void)sm1; (void)us; (void)im1; (void)i7; (void)imin; (void)um1; (void)u2; (void)ul; (void)l;
`
)

func exprArgs() []uint64 {
	return []uint64{^uint64(0), 1, 2, 7, 0x123456789abcdef0, 1 << 63}
}

// What an expression is in C11, and in GNU C as clang has it, with the types of a
// machine of 64 bits whose char is signed.
var exprRows = []cRow{
	// Integer promotions and usual arithmetic conversions.
	{"uc", 255},
	{"cm1", -1},
	{"us", 65535},
	{"uc + 1", 256},
	{"(unsigned char)(uc + 1)", 0},
	{"~uc", -256},
	{"-uc", -255},
	{"-um1", 1},
	{"um1 + 1", 0},
	{"um1 + 1L", 1 << 32},
	{"im1 < u2", 0},
	{"im1 < (long)u2", 1},
	{"cm1 == uc", 0},
	{"(unsigned char)cm1 == uc", 1},
	{"sm1 == us", 0},
	{"us == 65535", 1},
	{"im1 == um1", 1},
	{"im1 == ul", 1},
	{"um1 == ul", 0},
	{"(long)um1", 4294967295},
	{"(long)im1", -1},
	{"(unsigned)m1 + (long)0", 4294967295},
	{"(int)big", int64(int32(-0x65432110))},
	{"(short)big", -0x2110},
	{"(unsigned short)big", 0xdef0},
	{"(signed char)big", -16},
	{"big * 2 / 2 == big", 1},
	{"1 ? im1 : u2", 4294967295},
	{"one ? im1 : seven", -1},
	{"sizeof(one ? cm1 : cm1)", 4},
	{"sizeof cm1", 1},
	{"sizeof(+cm1)", 4},
	{"sizeof(cm1 + 0L)", 8},

	// Multiplication, division and remainder.
	{"i7 / im1", -7},
	{"-i7 / 2", -3},
	{"-i7 % 2", -1},
	{"i7 % -2", 1},
	{"um1 / u2", 0x7fffffff},
	{"um1 % 10", 5},
	{"ul / 10", 1844674407370955161},
	{"m1 / 2", 0},
	{"i7 * im1", -7},
	{"(long)i7 * big", 7 * 0x123456789abcdef0},

	// Shifts: the type is that of the left operand.
	{"im1 >> 1", -1},
	{"um1 >> 1", 0x7fffffff},
	{"uc << 8", 65280},
	{"im1 << 31 < 0", 1},
	{"1L << 40", 1 << 40},
	{"one << 40", 1 << 40},
	{"min >> 63", -1},
	{"(unsigned long)min >> 63", 1},
	{"i7 >> one", 3},
	{"i7 << (unsigned char)two", 28},

	// Bits.
	{"big & 0xff", 0xf0},
	{"um1 ^ im1", 0},
	{"i7 | 8", 15},
	{"ul ^ um1", -4294967296},

	// Truth.
	{"!seven", 0},
	{"!!seven", 1},
	{"!(one - 1)", 1},
	{"seven && big", 1},
	{"seven && !big", 0},
	{"!seven || big", 1},
	{"(one && (l = 5)) + (l == 5)", 2},
	{"l = 3, one || (l = 5), l", 3},
	{"(_Bool)256", 1},
	{"(_Bool)big", 1},
	{"(_Bool)(big & 0)", 0},
	{"b1 + b1", 2},
	{"(_Bool)(void *)big", 1},
	{"min == 1 << 31", 0},
	{"one == 1 && two == 2 || 0", 1},

	// Comparisons.
	{"m1 < one", 1},
	{"ul < one", 0},
	{"ul > (unsigned long)one", 1},
	{"um1 >= u2", 1},
	{"cm1 <= im1", 1},
	{"imin < 0", 1},
	{"(unsigned)imin > 1", 1},

	// Assignments have the value of the left operand.
	{"l = uc = 300", 44},
	{"(cm1 = 200)", -56},
	{"(b1 = 8)", 1},
	{"uc += 1", 0},
	{"uc -= 256", 255},
	{"uc <<= 1", 254},
	{"cm1 >>= 4", -1},
	{"us *= us", 1},
	{"im1 /= 2u", 0x7fffffff},
	{"i7 %= 4", 3},
	{"i7 ^= 5, i7", 2},
	{"i7 |= 8L", 15},
	{"i7 &= ~1", 6},
	{"b1 += 1", 1},
	{"b1 -= 1", 0},
	{"uc++", 255},
	{"uc++, uc", 0},
	{"++uc", 0},
	{"--cm1", -2},
	{"i7-- - --i7", 2},
	{"b1++, b1++, b1", 1},
	{"b1--, b1", 0},

	// Comma, conditional.
	{"(one, two)", 2},
	{"seven ?: two", 7},
	{"(1 ?: 0) * 10 + (0 ? : 3)", 13},
	{"sizeof(0 ?: big)", 8},
	{"(seven - 7) ?: two", 2},
	{"one ? two ? 3 : 4 : 5", 3},
	{"m1 > 0 ? 1 : -1", -1},

	// GNU C.
	{"({ int x = seven; x * 2; })", 14},
	{"({ if (one) l = 9; else l = 8; l; })", 9},
	{"({ __label__ out; l = 1; if (one) goto out; l = 2; out: l; })", 1},
	{"__builtin_choose_expr(1, one, big)", 1},
	{"_Generic(one, int: 1, long: 2, default: 3)", 2},
	{"_Generic(uc, int: 1, unsigned char: 2, default: 3)", 2},
	{"_Generic(&uc, void *: 1, unsigned char *: 2, default: 3)", 2},
	{"_Generic(+uc, int: 1, unsigned char: 2, default: 3)", 1},
	{"_Generic(\"s\", char *: 1, default: 3)", 1},
	{"({ enum { FEW }; _Generic(FEW << 1, int: 1, unsigned: 2, default: 3); })", 1},
	{"({ enum { FEW }; _Generic(FEW, int: 0x80000000, unsigned: 2, default: 3) == 2147483648; })", 1},
	{"_Generic((i7 ?: ul) - i7, int: 1, unsigned: 2, long: 3, unsigned long: 4, default: 5)", 4},
	{"_Generic((ul ?: 0ll) << 1, char: 1, short: 2, int: 3, long long int: 4, unsigned long long: 5, long unsigned: 6, default: 7)", 5},
	{"({ struct { unsigned long b : 3; } v = {}; _Generic(v.b << 1, int: 4L, long: 5, default: 6); })", 4},
	{"sizeof(\"abc\")", 4},
	{"__builtin_types_compatible_p(typeof(uc), unsigned char)", 1},
	{"({ enum { FEW }; __builtin_types_compatible_p(typeof(FEW), int); })", 1},
	{"({ enum { FEW }; __builtin_types_compatible_p(typeof(FEW + 0), typeof(0 + 0)); })", 1},
	{"({ enum { FEW }; (typeof(typeof(FEW)))-1 < 0; })", 1},

	// Builtins.
	{"__builtin_expect(seven, 1)", 7},
	{"__builtin_bswap16(0x1234 + one - 1)", 0x3412},
	{"__builtin_bswap32(big)", 0xf0debc9a},
	{"__builtin_bswap64(big)", -0x0f21436587a9cbee},
	{"__builtin_popcount(big)", 19},
	{"__builtin_popcountl(big)", 32},
	{"__builtin_clz(one)", 31},
	{"__builtin_clzll(big)", 3},
	{"__builtin_ctz(8 * one)", 3},
	{"__builtin_ctzll(big)", 4},
	{"__builtin_ffs(one - 1)", 0},
	{"__builtin_ffsll(min)", 64},
	{"__builtin_parity(seven)", 1},
	{"__builtin_abs(im1)", 1},
	{"__builtin_labs(min + 1)", 1<<63 - 1},
	{"__builtin_constant_p(seven)", 0},
	{"__builtin_constant_p(7)", 1},
	{"__builtin_strlen(\"four\")", 4},
	{"__builtin_add_overflow(im1, im1, &i7)", 0},
	{"__builtin_add_overflow(imin, im1, &i7) + (i7 == 0x7fffffff)", 2},
	{"__builtin_add_overflow(um1, u2, &u2) + u2", 2},
	{"__builtin_sub_overflow(u2, um1, &u2)", 1},
	{"__builtin_sub_overflow(min, 1L, &l)", 1},
	{"__builtin_add_overflow(ul, 1UL, &ul) + ul", 1},
	{"__builtin_mul_overflow(big, 16L, &l)", 1},
	{"__builtin_mul_overflow(big, -7L, &l)", 0},
	{"__builtin_mul_overflow(min, m1, &l)", 1},
	{"__builtin_mul_overflow(min, one, &l)", 0},
	{"__builtin_mul_overflow(ul, 2UL, &ul)", 1},
	{"__builtin_mul_overflow(ul, (unsigned long)(one - 1), &ul)", 0},
	{"__builtin_mul_overflow(um1, um1, &u2)", 1},
	{"__builtin_add_overflow(i7, 250, &uc) + uc", 2},
	{"__builtin_sub_overflow(0, i7, &ul)", 1},
	{"__builtin_sub_overflow(0, i7, &l) + l", -7},
	{"__builtin_sub_overflow(u2, um1, &l) + l", 2 - 4294967295},
	{"__builtin_mul_overflow(um1, um1, &l)", 1},
	{"__builtin_mul_overflow(um1, um1, &ul) + (ul == 0xfffffffe00000001)", 1},
	{"__builtin_mul_overflow(im1, um1, &ul)", 1},
	{"__builtin_mul_overflow(im1, um1, &l) + l", -4294967295},
}

func TestExpressions(t *testing.T) {
	var src strings.Builder
	for i, r := range exprRows {
		fmt.Fprintf(&src, "long f%d(%s) {%s return %s; }\n", i, exprParams, exprLocals, r.c)
	}
	runRows(t, src.String(), exprArgs(), exprRows)
}

// Conditions are branches: what decides in an if decides as a value, too.
func TestConditions(t *testing.T) {
	var src strings.Builder
	var rows []cRow
	for i, r := range exprRows {
		want := int64(20)
		if r.want != 0 {
			want = 10
		}
		rows = append(rows, cRow{"if (" + r.c + ")", want})
		fmt.Fprintf(&src, "long f%d(%s) {%s if (%s) return 10; return 20; }\n", i, exprParams, exprLocals, r.c)
	}
	runRows(t, src.String(), exprArgs(), rows)
}
