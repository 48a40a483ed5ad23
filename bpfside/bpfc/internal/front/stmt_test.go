package front

import (
	"fmt"
	"strings"
	"testing"
)

// Statements and objects: each row is the body of a function with the parameters
// of the expressions, behind what stmtDecls declares.
const stmtDecls = `
struct pair { int a; long b; };
struct in { short s; union { int i; char c[4]; }; struct { char x, y; }; };
struct bits { unsigned a : 3; int b : 5; unsigned c : 10, : 2, d : 12; unsigned long e : 40; _Bool f : 1; };
struct __attribute__((packed)) tight { char c; int i; long l; unsigned b1 : 4; unsigned b2 : 30; unsigned b3 : 6; };
struct shadow { struct { int x; long y; } n; struct { int x; union { char y; short z; }; }; };
enum color { RED, GREEN = 5, BLUE };
enum sign { MINUS = -1, PLUS = 1 };
static inline struct pair make(int a, long b) { struct pair p = { a, b }; return p; }
static inline long sum(struct pair p) { p.a++; return p.a + p.b; }
static long fact(long n) { long r = 1; while (n > 1) r *= n--; return r; }
static inline void bump(long *p) { *p += 1; }
int global = 4;
int table[4] = { 1, 2, 3, 4 };
static const char text[] = "text";
extern struct pair *kfunc(int) __attribute__((section(".ksyms"), weak));
`

var stmtRows = []cRow{
	// Loops.
	{"long s = 0; for (int i = 0; i < 10; i++) s += i; return s;", 45},
	{"long s = 0; int i = 0; for (;;) { if (i++ == 5) break; if (i & 1) continue; s += i; } return s;", 6},
	{"long s = 0; while (s < seven) s += two; return s;", 8},
	{"long s = 0; do s++; while (s < 0); return s;", 1},
	{"long s = 0; do { if (s == 3) continue; } while (s++ < 5); return s;", 6},
	{"long s = 0; for (int i = 0; i < 3; i++) for (int j = 0; j < 3; j++) { if (j == i) break; s += 10 * i + j; } return s;", 10 + 20 + 21},

	// A variable of a scope begins anew each time.
	{"long s = 0; for (int i = 0; i < 3; i++) { int x = 1; x += i; s += x; } return s;", 6},

	// Jumps.
	{"long s = 0; again: s++; if (s < 4) goto again; return s;", 4},
	{"goto in; { int x; in: x = 3; return x; }", 3},
	{"long s = 1; if (one) goto out; s = 2; out: return s;", 1},

	// Switches.
	{"switch (seven) { case 1: return 1; case 7: return 2; } return 3;", 2},
	{"switch (big) { case 1: return 1; default: return 5; case 7: return 2; }", 5},
	{"long s = 0; switch (two) { case 1: s += 1; case 2: s += 2; case 3: s += 4; break; case 4: s += 8; } return s;", 6},
	{"switch (seven) { case 0 ... 5: return 1; case 6 ... 9: return 2; } return 3;", 2},
	{"switch ((int)m1) { case -100 ... -1: return 1; case 0 ... 1000: return 2; } return 3;", 1},
	{"switch (big) { case 0 ... 0x7fffffffffffffff: return 2; } return 3;", 2},
	{"switch ((unsigned char)m1) { case -1: return 1; case 255: return 2; } return 3;", 2},
	{"switch ((unsigned)m1) { case -1: return 1; } return 3;", 1},
	{"switch (one) { int x; case 1: x = 5; return x; } return 3;", 5},
	{"long s = 0, n = 5; switch (n % 4) { case 0: do { s++; case 3: s++; case 2: s++; case 1: s++; } while ((n -= 4) > 0); } return s;", 5},
	{"enum color c = one * 5; switch (c) { case RED: return 1; case GREEN: return 2; case BLUE: return 3; } return 4;", 2},

	{"long s = 0; switch (two) { case 2: s = 1; __attribute__((fallthrough)); case 3: s += 2; } return s;", 3},
	{"switch (seven) { default: ; } return 4;", 4},
	{"switch (one) ; return 4;", 4},
	{"for (int i = 0; ; i++) switch (i) { case 3: return i; default: continue; }", 3},
	{"long s = 0; while (0) s = 5; do s++; while (0); if (1) s++; else s = 9; return s;", 2},

	// Structs and unions.
	{"struct pair p = { 3, 4 }; return p.a * 10 + p.b;", 34},
	{"struct pair p = { .b = 4 }; return p.a * 10 + p.b;", 4},
	{"struct pair p = { 3, 4 }, q; q = p; q.a++; return q.a * 10 + q.b - p.a;", 41},
	{"struct pair p = make(seven, two); return p.a * 10 + p.b;", 72},
	{"return make(seven, two).b;", 2},
	{"struct pair p = { 3, 4 }; return sum(p) * 10 + p.a;", 83},
	{"struct pair p = { 3, 4 }, q = { 5, 6 }; return (one ? p : q).b + (m1 > 0 ? p : q).a;", 9},
	{"struct pair p, q; return (p = q = (struct pair){ 8, 9 }).b;", 9},
	{"struct pair p = ({ struct pair r = { one, two }; r; }); return p.b;", 2},
	{"struct pair *p = &(struct pair){ .a = seven }; return p->a + p->b;", 7},
	{"struct in v = { 1, { .i = 0x01020304 }, { 5, 6 } }; return v.c[0] * 100 + v.x * 10 + v.y;", 456},
	{"struct in v = {}; v.c[3] = 1; return v.i >> 24;", 1},
	{"struct { int n; struct pair p[2]; } v = { 1, { { 2, 3 }, { 4, 5 } } }; return v.p[one].b;", 5},
	{"union { long l; int i[2]; } v; v.l = big; return v.i[1] == big >> 32;", 1},
	{"struct pair p[3] = { [1] = { .b = 5 } }; return p[one].b + p[0].a + p[two].b;", 5},

	{"return *&(int){ seven } + (int){ 1 } + ((struct pair){}).b + sizeof (int[]){ 1, 2, 3 };", 20},
	{"int *p = (int[]){ 1, two, 3 }; return p[1];", 2},
	{"struct pair v[2] = { make(1, 2), { 3, 4 } }; return v[0].b * 10 + v[1].a;", 23},
	{"struct { struct pair p; int z; } v = { .p = make(1, 2), .p.a = 5, .z = 9 }; return v.p.a + v.p.b + v.z;", 16},
	{"const char *s = one ? \"yes\" : \"no\"; return s[0];", 'y'},
	{"struct { enum color c : 3; enum sign s : 2; _Bool b : 1; } v = { GREEN, MINUS, 2 }; return v.c * 100 + v.s * 10 + v.b;", 500 - 10 + 1},
	{"union { struct { unsigned a : 4, b : 4; }; unsigned char c; } v = { .c = 0x5a }; return v.a * 100 + v.b;", 1005},
	{"struct pair a[2] = {}, *p = a; p++->b = 3; return a[0].b * 10 + (p - a);", 31},
	{"struct pair p = { 1, 2 }; long *q = &p.b; *q++ = 7; q[-1]++; return p.b;", 8},
	{"int x = 1; { int x = 2; x++; } return x;", 1},
	{"int x = 1; { extern int global; x = global; } return x;", 4},

	// Bit-fields.
	{"struct bits v = {}; v.a = 9; return v.a;", 1},
	{"struct bits v = {}; v.b = 17; return v.b;", -15},
	{"struct bits v = { 1, -1, 1023, 4095, 0xffffffffffUL, 1 }; return v.a + v.b + v.c + v.d + v.f;", 0 + 1023 + 4095 + 1},
	{"struct bits v = { 1, -1, 1023, 4095, 0xffffffffffUL, 1 }; return v.e;", 0xffffffffff},
	{"struct bits v = {}; v.c = seven; v.d = m1; v.e = big; return v.a + v.b + v.c;", 7},
	{"struct bits v = {}; v.e = big; v.f = two; return v.e * 2 + v.f;", 2*0x789abcdef0 + 1},
	{"struct bits v = {}; return (v.a = 10) + (v.b = 31);", 2 - 1},
	{"struct bits v = { .a = 7 }; v.a++; return v.a;", 0},
	{"struct bits v = { .b = 15 }; return ++v.b;", -16},
	{"struct bits v = { .a = 7 }; return v.a - 8 < 0;", 1},
	{"struct bits v = { .c = 1000 }; v.c += 100; return v.c;", 76},
	{"struct tight v = {}; v.b1 = 5; v.b2 = m1; v.b3 = 9; return (long)v.b2 * 100 + v.b1 * 10 + v.b3;", 0x3fffffff*100 + 59},
	{"struct tight v = { 1, 2, 3 }; v.i += seven; v.l = big; return v.c + v.i + v.l;", 10 + 0x123456789abcdef0},

	// Arrays and pointers.
	{"int a[4] = { 1, 2, 3 }; return a[0] + a[one] * 10 + a[two] * 100 + a[3];", 321},
	{"int a[] = { 1, 2, 3 }; return sizeof a / sizeof a[0];", 3},
	{"int a[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } }; return a[one][two];", 6},
	{"int a[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } }; int (*p)[3] = a; return p[1][0] + **(p + 1);", 8},
	{"int a[4] = { 1, 2, 3, 4 }, *p = a + 1; return *p++ * 100 + *++p * 10 + (p - a);", 243},
	{"int a[4] = { 1, 2, 3, 4 }, *p = &a[3]; p -= 2; return p[-1] * 10 + p[1];", 13},
	{"int a[4], *p = a, *q = &a[two]; return q - p;", 2},
	{"struct { char c[12]; } a[5], *p = a, *q = &a[4]; return q - p;", 4},
	{"int a[4], *p = a, *q = a + one; return (p < q) * 10 + (p == q - 1);", 11},
	{"char s[8] = \"abc\"; return s[0] + s[3] + s[7] + sizeof s;", 'a' + 8},
	{"char s[] = \"abc\"; s[1] = 'x'; return s[one];", 'x'},
	{"const char *s = \"hello\"; return s[one];", 'e'},
	{"return text[one] + sizeof text;", 'e' + 5},
	{"return 1[table] * 10 + *(one + table);", 22},
	{"long x = 3, *p = &x, **pp = &p; **pp = 4; bump(*pp); return x;", 5},
	{"void *p = table; return *(int *)(p + 4);", 2},
	{"return ((int *)((long)table + 8))[0];", 3},
	{"int *p = 0; return !p + (p == 0) + (p ? 1 : 0);", 2},
	{"return (long)&((struct pair *)0)->b + __builtin_offsetof(struct in, y);", 8 + 9},
	{"struct pair v; struct pair *p = (void *)((char *)&v.b - __builtin_offsetof(struct pair, b)); return p == &v;", 1},
	{"typeof(global) x = global; return x;", 4},
	{"__auto_type x = (char)big; return sizeof x;", 1},

	// A member is the one of its struct, not one of a struct within.
	{"struct shadow v = { .y = 5 }; v.x = 2; return v.x * 10 + v.y + v.n.x;", 25},
	{"typeof(((struct shadow *)0)->y) v = 300; return v;", 44},
	{"return (typeof(((struct shadow *)0)->y))300 + sizeof ((struct shadow *)0)->y;", 45},

	// Static and global objects.
	{"global += 3; return global;", 7},
	{"static int n = 5; n++; return n;", 6},
	{"static int n; return ++n + ++n;", 3},
	{"table[two] = 9; return table[2];", 9},

	// Functions.
	{"return fact(5);", 120},
	{"long x = 1; bump(&x); bump(&x); return x;", 3},
	{"const char *f = __func__; return f[0];", 'f'},

	// A function of the kernel that may be absent is.
	{"if (kfunc) return kfunc(5)->b; return !kfunc;", 1},

	// Enumerations: unsigned unless a value is negative.
	{"enum color c = m1; return c > 0;", 1},
	{"enum sign c = m1; return c > 0;", 0},
	{"return sizeof(enum color) * 10 + (RED - 1 < 0);", 41},

	// memcpy and its like.
	{"int a[4]; __builtin_memcpy(a, table, sizeof a); return a[3];", 4},
	{"int a[4]; __builtin_memset(a, 1, sizeof a); return a[3];", 0x01010101},
	{"int a[4] = { 1, 2, 3, 4 }; __builtin_memmove(a + 1, a, 12); return a[3] * 10 + a[1];", 31},
	{"char a[7] = \"abcdef\", b[7] = \"abcxef\"; return __builtin_memcmp(a, b, 7) < 0;", 1},
	{"char a[7] = \"abcdef\", b[7] = \"abcdef\"; return __builtin_memcmp(a, b, 7);", 0},
	{"unsigned char a[9] = { [8] = 200 }, b[9] = { [8] = 100 }; return __builtin_memcmp(a, b, 9) > 0;", 1},

	// Atomic operations.
	{"long x = 5; return __sync_fetch_and_add(&x, 2) * 10 + x;", 57},
	{"int x = 5; return __sync_add_and_fetch(&x, 2) * 10 + x;", 77},
	{"int x = 5; return __sync_sub_and_fetch(&x, 2);", 3},
	{"unsigned x = 5; __sync_fetch_and_or(&x, 8); __sync_fetch_and_xor(&x, 1); __sync_fetch_and_and(&x, 12); return x;", 12},
	{"long x = 5; return __sync_val_compare_and_swap(&x, 5, 6) * 10 + x;", 56},
	{"long x = 5; return __sync_bool_compare_and_swap(&x, 4, 6) * 10 + x;", 5},
	{"int x = 5; return __sync_lock_test_and_set(&x, -1) + x;", 4},
	{"long x = 5; return __atomic_fetch_sub(&x, 1, 5) * 10 + __atomic_load_n(&x, 0);", 54},
	{"int x = 5, y = 4; return __atomic_compare_exchange_n(&x, &y, 9, 0, 5, 5) * 100 + y * 10 + x;", 55},
	{"int x = 5, y; __atomic_store_n(&x, 7, 5); __atomic_load(&x, &y, 2); return y;", 7},
	{"int x = 5, y = 6, z; __atomic_exchange(&x, &y, &z, 5); return x * 10 + z;", 65},

	{"int a[2], *p = a; int *q = __sync_val_compare_and_swap(&p, a, a + 1); return (q - a) * 10 + (p - a);", 1},
	{"int a[2], *p = a, *q = a; return __atomic_compare_exchange_n(&p, &q, a + 1, 0, 5, 5) * 10 + (p - a);", 11},

	// Barriers are no code.
	{"int x = seven; asm volatile(\"\" : \"+r\"(x)); asm volatile(\"\" ::: \"memory\"); return x;", 7},
	{"int x = seven, y; asm volatile(\"\" : \"=r\"(y) : \"0\"(x)); return y;", 7},
	{"unsigned x = seven; asm volatile(\"if %0 <= %[max] goto +1\\n%0 = %[max]\" : \"+r\"(x) : [max]\"i\"(5)); return x;", 5},
	{"unsigned x = two; asm volatile(\"if %0 <= %1 goto +1\\n%0 = %1;%0 <<= 4\" : \"+r\"(x) : \"r\"(seven)); return x;", 32},

	// __int128 is copied and compared.
	{"unsigned __int128 a = 5, b; b = a; return (a == b) * 10 + (a != 0) + !b;", 11},
	{"struct { __int128 v; } a = { -1 }, b = a; return (a.v == b.v) * 10 + (a.v == 0) + (long)a.v;", 9},

	// Volatile, const and casts between pointers.
	{"volatile int x = 3; x += 1; return *(volatile int *)&x;", 4},
	{"long x = big; return *(unsigned char *)&x;", 0xf0},

	// What cannot be reached is not looked at.
	{"if (0) { double d = 1.5; asm(\"whatever\"); } return 1;", 1},
}

func TestStatements(t *testing.T) {
	var src strings.Builder
	src.WriteString(stmtDecls)
	for i, r := range stmtRows {
		fmt.Fprintf(&src, "long f%d(%s) { %s }\n", i, exprParams, r.c)
	}
	runRows(t, src.String(), exprArgs(), stmtRows)
}
