// What the compiler answers: constant_p, choose_expr, types_compatible_p, offsetof,
// object_size, expect, unreachable, _Generic, _Alignof, _Static_assert.
// want: isconst = 1 0
// want: chosen = 5
// want: compat = 1 0 1 0
// want: off = 8 20 14
// want: likely = 3
// want: generic = 1 2 3 4
// want: reach = 7
// want: known = 1
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

int isconst[2], chosen, compat[4], off[3], likely, generic[4], reach, known;

struct outer {
	long a;
	struct {
		int b[3];
		union {
			char c;
			short d[4];
		} u;
	} in;
};

#define kind(x) _Generic((x), int: 1, unsigned long: 2, char *: 3, default: 4)

static int unreached(int n)
{
	switch (n & 1) {
	case 0: return 7;
	case 1: return 8;
	}
	__builtin_unreachable();
}

SEC("socket")
int prog(struct __sk_buff *skb)
{
	int n = skb->len, x = 0;
	char text[4] = "abc";

	isconst[0] = __builtin_constant_p(3 * 4);
	isconst[1] = __builtin_constant_p(n);
	chosen = __builtin_choose_expr(sizeof(long) == 8, 5, (void)0);
	compat[0] = __builtin_types_compatible_p(int, typeof(n));
	compat[1] = __builtin_types_compatible_p(int, long);
	compat[2] = __builtin_types_compatible_p(const int, int);
	compat[3] = __builtin_types_compatible_p(int *, char *);
	off[0] = __builtin_offsetof(struct outer, in);
	off[1] = __builtin_offsetof(struct outer, in.u);
	off[2] = __builtin_offsetof(struct outer, in.b[1]) + __builtin_offsetof(struct outer, in.u.c) - 18;
	if (likely(n == 50))
		known++;
	if (__builtin_expect(n == 50, 1))
		likely += 1;
	if (unlikely(n > 1))
		likely += 2;
	generic[0] = kind(n);
	generic[1] = kind(sizeof(n));
	generic[2] = kind(text + 0);
	generic[3] = kind((short *)0);
	reach = unreached(n);
	if (n == 51)
		__builtin_unreachable();
	known = __builtin_object_size(text, 0) == 4 || __builtin_object_size(text, 0) == -1UL; /* not known */
	_Static_assert(sizeof(struct outer) == 32 && _Alignof(struct outer) == 8, "layout");
	_Static_assert(__builtin_offsetof(struct outer, in.u.d[2]) == 24, "offsetof");
	return x;
}
