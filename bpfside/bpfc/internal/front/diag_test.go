package front

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

func mapFS(src string) fstest.MapFS { return fstest.MapFS{"prog.bpf.c": {Data: []byte(src)}} }

// What is wrong with a declaration is said with its place.
func TestDeclarationErrors(t *testing.T) {
	for _, tt := range []struct{ src, want string }{
		{"int x = f();", "prog.bpf.c:1:9: the initializer of x is not a constant"},
		{"int x = ;", "prog.bpf.c:1:9: unexpected ';', expected unary expression"},
		{"#include \"none.h\"\nint x;", "prog.bpf.c:1:10: include file not found: \"none.h\""},
		{"int y;\nint x = y;", "prog.bpf.c:2:9: the initializer of x is not a constant"},
		{"int y;\nint *x = &y;", "prog.bpf.c:2:10: an address in the initializer of x: no loader fills it in outside of map definitions"},
		{"char *x = \"text\";", "prog.bpf.c:1:11: an address in the initializer of x: no loader fills it in outside of map definitions"},
		{"struct s x;", "prog.bpf.c:1:10: the type of x is incomplete"},
		{"char x[100 << 20] = { 1 };", "prog.bpf.c:1:6: x is too large: 104857600 bytes"},
		{"char x[] = { [100 << 20] = 1 };", "prog.bpf.c:1:6: x is too large: 104857601 bytes"},
		{"char x[4] = { [4] = 1 };", "prog.bpf.c:1:15: index 4 out of range for array of 4 elements"},
		{"int f(void) {\n\treturn 0;\n", "prog.bpf.c:2:11: unexpected end of file"},
		{"int x = 5", "prog.bpf.c:1:10: unexpected end of file"},
		{"int f(int *", "prog.bpf.c:1:12: unexpected end of file"},
		{"static", "prog.bpf.c:1:7: unexpected end of file"},
		{"#include \"prog.bpf.c\"\n", "prog.bpf.c: the file includes itself"},
		{"#define M(x) (x ?: 2)\nint x = M(1);", "prog.bpf.c:1:17: x ?: y with a constant x is not supported"},
		{"__attribute__((section(\"struct_ops/f\"))) int f(void) { return 0; }", "prog.bpf.c:1:46: struct_ops is not supported"},
		{"_Thread_local int x;", "prog.bpf.c:1:19: thread-local variables are not supported"},
		{"__auto_type x = 1;", "prog.bpf.c:1:1: __auto_type is not supported outside of functions"},
		{"asm(\"nop\");", "prog.bpf.c:1:1: inline assembly is not supported"},
		{"int x __attribute__((alias(\"y\")));", "prog.bpf.c:1:22: attribute alias is not supported"},
		{"int x __attribute__((aligned(3)));", "prog.bpf.c:1:22: an alignment has to be a power of two up to 65536"},
		{"_Static_assert(sizeof(long) == 4, \"sizes differ\");", "prog.bpf.c:1:1: static assertion failed: \"sizes differ\""},
		{"struct s { int a; _Static_assert(0, \"in a struct\"); };", "prog.bpf.c:1:19: static assertion failed: \"in a struct\""},
		{"int y;\n_Static_assert(y, \"\");", "prog.bpf.c:2:1: the condition of a static assertion is not a constant"},
		{"#define E enum e { A } __attribute__((packed))\nE x;", "prog.bpf.c:2:1: attributes packed and mode of an enumeration are supported only next to its values, which have to be numbers"},
		{"#pragma clang attribute push (__attribute__((unused)), apply_to = any)\nint x;", "prog.bpf.c:1:9: #pragma clang attribute other than push(__attribute__((preserve_access_index)), apply_to = record) and pop is not supported"},
		{"extern int x;\n__attribute__((section(\"xdp\"), used)) int f(void *ctx) { return x; }", "prog.bpf.c:1:12: x is declared extern and defined nowhere in this file, and is neither __kconfig nor __ksym"},
	} {
		_, err := translate(t, tt.src)
		var errs ir.Errors
		if !errors.As(err, &errs) {
			t.Errorf("%s: error %v, want one of the program", tt.src, err)
			continue
		}
		if got := errs[0].Error(); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.src, got, tt.want)
		}
	}
}

// One run says what is wrong everywhere, up to a bound.
func TestManyErrors(t *testing.T) {
	_, err := translate(t, "int y;\n"+strings.Repeat("int x = y;\n", 3)+"int *z = &y;\n")
	var errs ir.Errors
	if !errors.As(err, &errs) || len(errs) != 2 {
		t.Errorf("error %v, want two of them: x is one variable", err)
	}
	var src strings.Builder
	for range 200 {
		src.WriteString("struct none a")
		src.WriteString(strings.Repeat("a", src.Len()%197))
		src.WriteString(";\n")
	}
	if _, err = translate(t, src.String()); !errors.As(err, &errs) || len(errs) > maxDiags+1 {
		t.Errorf("%d errors, want at most %d", len(errs), maxDiags+1)
	}
}

// Source that is nested so deeply that reading it would use up the stack, which
// ends the process.
func TestDepth(t *testing.T) {
	const n = 200_000
	many := func(s string) string { return strings.Repeat(s, n) }
	doubling := "#define M0(x) ((x))\n"
	for i := 1; i < 16; i++ {
		a, b := string(rune('A'+i)), string(rune('A'+i-1))
		if i == 1 {
			b = "M0"
		}
		doubling += "#define " + a + "(x) " + b + "(" + b + "(x))\n"
	}
	for name, src := range map[string]string{
		"parentheses":  "int x = " + many("(") + "1" + many(")") + ";",
		"braces":       "int f(void) " + many("{") + many("}"),
		"brackets":     "int x" + many("[1]") + ";",
		"initializers": "int x[] = " + many("{") + "1" + many("}") + ";",
		"pointers":     "int " + many("*") + "x;",
		"not":          "int x = " + many("!") + "1;",
		"minus":        "int x = " + many("- ") + "1;",
		"casts":        "int x = " + many("(int)") + "1;",
		"sizeof":       "int x = " + many("sizeof ") + "1;",
		"additions":    "int x = 1" + many("+1") + ";",
		"conditionals": "int x = 1" + many("?1:1") + ";",
		"assignments":  "int f(void) { int x; x" + many("=x") + "; return x; }",
		"structs":      many("struct {") + "int a;" + many("}x;"),
		"ifs":          "int f(int x) { " + many("if (x) ") + "; return 0; }",
		"else ifs":     "int f(int x) { if (x); " + many("else if (x);") + " return 0; }",
		"labels":       "int f(int x) { switch (x) { " + many("case 1:") + "; } return 0; }",
		"macros":       doubling + "int x = P(1);",
		"typedefs":     "typedef int t0;\n" + typedefs(20_000) + "t20000 x;",
		"calls":        "int f(int); int g(void) { return " + many("f(") + "1" + many(")") + "; }",
		"members":      "struct s { struct s *p; } *s; int f(void) { return s" + many("->p") + " != 0; }",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := translate(t, src)
			var errs ir.Errors
			if !errors.As(err, &errs) {
				t.Errorf("error %v, want one of the program", err)
			}
		})
	}
}

func typedefs(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("typedef t" + itoa(i) + " *t" + itoa(i+1) + ";\n")
	}
	return b.String()
}

func itoa(n int) string { return strconv.Itoa(n) }

// Hundreds of nested macros and brackets that a real program has are no matter.
func TestDepthOfPrograms(t *testing.T) {
	src := "#define ONE(x) ((x) + 1)\n#define TWO(x) ONE(ONE(x))\n#define FOUR(x) TWO(TWO(x))\n#define EIGHT(x) FOUR(FOUR(x))\n" +
		"#define ARGS(a, b...) F(a, ##b)\n#define F(a, b) G(a) + G(b)\n#define G(a) (a)\n" +
		"int x = EIGHT(EIGHT(1));\nint y = " + strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200) + ";\n"
	if _, err := translate(t, src); err != nil {
		t.Error(err)
	}
}
