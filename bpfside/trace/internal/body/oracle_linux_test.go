package body

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/nopfire/nopfire/internal/testutils"
)

// oracleProgram is the world of the tests in C. It has the expressions in it as they
// stand in the table, and what they refer to as variables.
const oracleProgram = `
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

typedef uint8_t u8; typedef uint16_t u16; typedef uint32_t u32; typedef unsigned long u64;
typedef int8_t s8; typedef int16_t s16; typedef int32_t s32; typedef long s64;

struct item { u16 sku; int count; };
struct go_string { u8 *ptr; long len; };
struct go_slice { u8 *ptr; long len, cap; };
struct order {
	long id;
	struct order *next;
	struct go_string name;
	struct item items[3];
	char tag[8];
	signed char small;
	bool flag;
	u16 port;
	double price;
	char *text;
	struct item *first;
	u8 matrix[2][3];
	u32 ret;
	void *any;
	struct go_slice body;
	float rates[2];
	long took;
	u8 state;
};

int main(void)
{
	struct order last = { .id = 3 }, next = { .id = -2, .next = &last, .small = -7 };
	struct order first = {
		.id = 1, .next = &next, .name = { (u8 *)"first", 5 }, .items = { { 65000, 0 }, { 65001, -10 }, { 65002, -20 } },
		.tag = "tag", .small = -3, .flag = true, .port = 8080, .first = &first.items[1], .matrix = { { 1, 2, 3 }, { 4, 5, 255 } },
		.took = -1000000000, .state = 200, .ret = 77, .any = &first, .body = { (u8 *)"by\0tes", 6, 6 },
	};
	int n = -5; u32 u = 4000000000; signed char c = -1; u64 big = (1ul << 63) + 1; char *msg = "hello, world"; struct order *o = &first;
	u8 *data = (u8 *)"raw\0data"; u64 data_len = 8; bool ok = true; short arg11 = -300; long arg12 = 999;
	int arg1 = n; struct order *arg6 = o;

%s
	return 0;
}
`

// What the expressions of the table are to gcc: their values, and by their types how
// they are printed.
func TestOracle(t *testing.T) {
	// What is not C, or not known there, or not to be read.
	others := []string{`"`, "comm", "pid", "tid", "uid", "cpu", "ts ", "return", "main", "next->next->next", "*(char *)16", "0b", "18446744073709551615"}
	var rows []valueRow
	var lines strings.Builder
	for _, r := range valueRows(t) {
		known := true
		for _, o := range others {
			known = known && !strings.Contains(r.expr, o)
		}
		if known {
			rows = append(rows, r)
			fmt.Fprintf(&lines, "\tprintf(_Generic((%s), int: \"%%d\\n\", signed char: \"%%d\\n\", short: \"%%d\\n\", unsigned long: \"%%lu\\n\", unsigned int: \"%%u\\n\", unsigned short: \"%%u\\n\", unsigned char: \"%%u\\n\", char: \"%%d\\n\", bool: \"%%d\\n\", default: \"%%ld\\n\"), %[1]s);\n", r.expr)
		}
	}
	if len(rows) < 70 {
		t.Fatalf("only %d rows are left", len(rows))
	}
	out, err := exec.Command(testutils.BuildC(t, fmt.Sprintf(oracleProgram, lines.String()), "-w", "-fsigned-char")).Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(got) != len(rows) {
		t.Fatalf("%d lines for %d rows", len(got), len(rows))
	}
	for i, r := range rows {
		if r.typ == "bool" {
			r.want = map[string]string{"false": "0", "true": "1"}[r.want]
		}
		if got[i] != r.want {
			t.Errorf("%s: %s by gcc, %s here", r.expr, got[i], r.want)
		}
	}
}

// An exprGen makes expressions that mean one thing only in C, with integers that wrap
// around.
type exprGen struct{ *rand.Rand }

// expr returns one that is nested up to depth.
func (g exprGen) expr(depth int) string {
	leaves := []string{
		"n", "u", "c", "big", "data_len", "ok", "arg11", "o->id", "o->next->id", "o->small", "o->port", "o->flag", "o->tag[1]",
		"o->items[1].sku", "o->items[2].count", "o->matrix[1][2]", "o->first->sku", "0", "1", "7u", "-1", "255", "0x80000000", "1ul", "'a'", "0x7fffffffffffffff",
	}
	if depth == 0 || g.IntN(8) == 0 {
		return leaves[g.IntN(len(leaves))]
	}
	x, y := g.expr(depth-1), g.expr(g.IntN(depth))
	switch g.IntN(12) {
	case 0:
		return "(" + []string{"u8", "s8", "u16", "s16", "int", "u32", "long", "u64", "bool"}[g.IntN(9)] + ")(" + x + ")"
	case 1:
		return []string{"-", "~", "!", "+"}[g.IntN(4)] + "(" + x + ")"
	case 2:
		return "(" + x + ") " + []string{"/", "%"}[g.IntN(2)] + " ((u8)(" + y + ") | 1)"
	case 3:
		return "(" + x + ") " + []string{"<<", ">>"}[g.IntN(2)] + " ((" + y + ") & 15)"
	case 4:
		return "(" + x + ") ? " + y + " : " + g.expr(depth-1)
	case 5:
		return "(" + x + ") " + []string{"&&", "||"}[g.IntN(2)] + " (" + y + ")"
	case 6, 7:
		return "(" + x + ") " + []string{"<", ">", "<=", ">=", "==", "!="}[g.IntN(6)] + " (" + y + ")"
	case 8:
		return "o->items[(u8)(" + x + ") % 3].sku"
	}
	return "(" + x + ") " + []string{"+", "-", "*", "&", "|", "^"}[g.IntN(6)] + " (" + y + ")"
}

// Random expressions have the values that they have by gcc, and the types.
func TestOracleRandom(t *testing.T) {
	const functions = 30
	g := exprGen{rand.New(rand.NewPCG(6, 6))}
	var exprs []string
	var lines strings.Builder
	for range functions * MaxValues {
		e := g.expr(5)
		exprs = append(exprs, e)
		fmt.Fprintf(&lines, "\tprintf(\"%%ld %%d%%c\\n\", (long)(%s), (int)sizeof((%[1]s)), (__typeof__((%[1]s)))-1 < (__typeof__((%[1]s)))1 ? 'i' : 'u');\n", e)
	}
	out, err := exec.Command(testutils.BuildC(t, fmt.Sprintf(oracleProgram, lines.String()), "-w", "-O0", "-fwrapv", "-fsigned-char")).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(out)), "\n")
	for i := 0; i < len(exprs); i += MaxValues {
		part := exprs[i : i+MaxValues]
		wanted, values, f := run(t, &Input{Args: worldArgs(), Values: part})
		if !wanted {
			t.Fatal("not wanted")
		}
		args, _ := world()
		for j, e := range part {
			v := f.Values[j]
			if v.Arg >= 0 {
				values[j] = args[v.Arg] // what is left to the caller
			}
			kind := "i"
			if v.Kind == Uint || v.Kind == Bool {
				kind = "u"
			}
			if got := fmt.Sprintf("%d %d%s", int64(values[j]), v.Size, kind); got != want[i+j] {
				t.Errorf("%s: %s, by gcc %s", e, got, want[i+j])
			}
		}
	}
}
