// Functions: static ones that are inlined, noinline ones that are called, global, weak and
// hidden ones; five arguments, and more where they are inlined; narrow results.
// want: inl = 21
// want: called = 50
// want: glob = 105
// want: weak = 7
// want: hid = 64
// want: deep = 15
// want: noret = 4
// want: five = 12345
// want: many = 78
// want: narrow = -2 254 1
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

int inl, called, glob, weak, hid, deep, noret, five, narrow[3];
long many;

static inline int plus(int a, int b) { return a + b; }
static __always_inline int times(int a, int b) { return a * b; }
static __noinline int apart(struct __sk_buff *skb) { return skb->len; }
static __noinline int level3(int n) { return n + 3; }
static __noinline int level2(int n) { return level3(n) + 2; }
static __noinline int level1(int n) { return level2(n) + 1; }
static __noinline void nothing(int *at, int n) { *at += n; }
static __noinline int all_five(int a, int b, int c, int d, int e) { return a * 10000 + b * 1000 + c * 100 + d * 10 + e; }
static __always_inline long twelve(long a, int b, short c, char d, long e, long f, long g, long h, long i, long j, long k, long l)
{
	return a + b + c + d + e + f + g + h + i + j + k + l;
}
static __noinline signed char small(int n) { return n; }
static __noinline unsigned char usmall(int n) { return n; }
static __noinline _Bool truth(int n) { return n; }

__noinline int global(int n)
{
	return n > 1000 ? 0 : n + 55;
}

__weak __noinline int weakly(int n)
{
	return n + 1;
}

__hidden __noinline int hidden(struct __sk_buff *skb, int *n)
{
	return *n + skb->len;
}

SEC("socket")
int prog(struct __sk_buff *skb)
{
	int n = 14;

	inl = plus(1, times(4, 5));
	called = apart(skb);
	glob = global(skb->len);
	weak = weakly(6);
	hid = hidden(skb, &n);
	deep = level1(9);
	nothing(&noret, 4);
	five = all_five(1, 2, 3, 4, 5);
	many = twelve(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
	narrow[0] = small(skb->len + 204);
	narrow[1] = usmall(skb->len + 204);
	narrow[2] = truth(skb->len << 8);
	return 0;
}
