package front

import (
	"errors"
	"testing"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

const readOnly = "memory of the traced process can only be read, by ->, * and []"

// What is C and is not supported, or is no C and gets past cc, is said at its
// place. The place is marked by the column of the word that $ stands before.
var refusals = []struct{ name, c, want string }{
	{"float", `int f(double $d) { return 0; }`, "double is not supported: BPF has no floating point"},
	{"float constant", `int f(int a) { return $a + 1.5; }`, "double is not supported: BPF has no floating point"},
	{"int128", `__int128 f(__int128 a) { return $a * a; }`, "__int128 is not supported but to copy and to compare for equality"},
	{"int128 assigned", `void f(__int128 a) { $a *= 2; }`, "__int128 is not supported but to copy and to compare for equality"},
	{"int128 counted", `void f(__int128 a) { $a++; }`, "__int128 is not supported but to copy and to compare for equality"},
	{"const in a generic selection", `int f(char *p) { return _Generic(p, $const char *: 1, char *: 2); }`, "const behind a pointer in _Generic is not supported"},
	{"static assertion", `int f(void) { $_Static_assert(sizeof(int) == 5, "size"); return 0; }`, "static assertion failed: \"size\""},
	{"vla", `int f(int n) { int $a[n]; return 0; }`, "arrays of variable length are not supported"},
	{"variadic", `int $f(int n, ...) { return 0; }`, "f: definitions of variadic functions are not supported"},
	{"indirect call", `int f(int (*g)(int)) { return $g(1); }`, "calls through pointers are not supported"},
	{"undefined function", `int g(int); int f(void) { return $g(1); }`, "g is defined nowhere in this file"},
	{"kfunc", `extern int g(int) __attribute__((section(".ksyms"))); int f(void) { return $g(1); }`, "g: functions of the kernel (kfuncs) are not supported"},
	{"six arguments of a helper", `static long (*h)(int, ...) = (void *)6; long f(void) { return $h(1, 2, 3, 4, 5, 6); }`, "helpers take at most 5 arguments"},
	{"struct to a helper", `struct s { long a, b; }; static long (*h)(struct s) = (void *)6; long f(struct s v) { return h($v); }`, "helpers take no structs"},
	{"inline assembly", `int f(void) { $asm volatile("r0 = *(u32 *)(r1 + 0)"); return 0; }`, "this inline assembly is not supported"},
	{"asm goto", `int f(void) { $asm goto("" : : : : out); out: return 0; }`, "asm goto is not supported"},
	{"computed goto", `int f(void *p) { $goto *p; }`, "computed goto is not supported"},
	{"label address", `void *f(void) { out: return $&&out; }`, "the address of a label is not supported"},
	{"nested function", `int f(void) { int $g(void) { return 1; } return 0; }`, "nested functions are not supported"},
	{"atomic of a byte", `int f(char *p) { return $__sync_fetch_and_add(p, 1); }`, "__sync_fetch_and_add of 1 bytes is not supported: eBPF has atomic operations of 4 and 8 bytes"},
	{"atomic of a packed member", `struct __attribute__((packed)) s { char c; int i; }; int f(struct s *p) { return $__sync_fetch_and_add(&p->i, 1); }`, "__sync_fetch_and_add of what is not aligned is not supported"},
	{"fence", `int f(void) { $__sync_synchronize(); return 0; }`, "__sync_synchronize is not supported: eBPF has no fences; use an atomic operation"},
	{"memcpy of unknown size", `void f(char *a, char *b, int n) { __builtin_memcpy(a, b, $n); }`, "memcpy of a size that is not constant is not supported"},
	{"strlen", `long f(char *a) { return $__builtin_strlen(a); }`, "strlen of what is no string literal is not supported"},
	{"alloca", `void *f(void) { return $__builtin_alloca(8); }`, "__builtin_alloca is not supported"},
	{"return address", `void *f(void) { return $__builtin_return_address(0); }`, "__builtin_return_address is not supported"},
	{"case twice", `int f(int a) { switch (a) { case 1: return 1; $case 1: return 2; } return 0; }`, "duplicate case 1"},
	{"case range twice", `int f(int a) { switch (a) { case 1 ... 3: return 1; $case 2: return 2; } return 0; }`, "duplicate case 2"},
	{"few arguments", `static int g(int a, int b) { return a; } int f(void) { return $g(1); }`, "too few arguments in a call: 1, expected 2"},
	{"many arguments", `static int g(int a) { return a; } int f(void) { return $g(1, 2); }`, "too many arguments in a call: 2, expected 1"},
	{"memory of a process, assigned", `void f(int *p) { $__builtin_read_user(*p = 1); }`, readOnly},
	{"memory of a process, counted", `void f(int *p) { $__builtin_read_user(p[1]++); }`, readOnly},
	{"memory of a process, a struct assigned", `struct s { long a[3]; }; void f(struct s *p, struct s *q) { $__builtin_read_user(*p = *q); }`, readOnly},
	{"memory of a process, copied as bytes", `struct s { char a[3]; }; void f(struct s *p, char *to) { $__builtin_read_user(__builtin_memcpy(to, p->a, 3)); }`, readOnly},
	{"address of a bit-field", `struct s { int a : 3; }; void *f(struct s *p) { return $&p->a; }`, "a bit-field has no address"},
	{"struct as a number", `struct s { int a; }; int f(struct s v) { return $v; }`, "a value of type struct s {a int} cannot be used here"},
	{"overflow of mixed types", `_Bool f(long a, unsigned long b, long *r) { return $__builtin_add_overflow(a, b, r); }`, "an overflow check of long and unsigned long into long is not supported: convert them first"},
}

func TestRefusals(t *testing.T) {
	for _, r := range refusals {
		t.Run(r.name, func(t *testing.T) {
			src, col := marked(r.c)
			_, err := translateC(src)
			var first *ir.Error
			if !errors.As(err, &first) {
				t.Fatalf("got %v, want a diagnostic", err)
			}
			if first.Msg != r.want || first.Pos.Line != 1 || first.Pos.Col != col {
				t.Errorf("got  %v\nwant t.c:1:%d: %s", first, col, r.want)
			}
		})
	}
}

// marked takes the mark out of a line and returns its column.
func marked(s string) (string, int) {
	for i := range s {
		if s[i] == '$' {
			return s[:i] + s[i+1:], i + 1
		}
	}
	return s, 0
}
