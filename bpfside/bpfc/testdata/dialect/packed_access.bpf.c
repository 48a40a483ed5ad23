// Members that do not lie at multiples of their size: in globals, in map values and on the
// stack.
// want: sum = 0x11223344
// want: stack = 0x55667788
// want: l = 0x1122334455667788
// want: neg = -2
// want: total = 0x123456799
// want: halves = 5 0
// want: third = 0x10000
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct odd {
	unsigned char pad;
	unsigned int w;
	unsigned long l;
	short s;
} __attribute__((packed));

struct odd g = { 1, 0x11223344, 2, -2 };
unsigned int sum, stack;
unsigned long l;
int neg;

/* An array that lies beside its own alignment, used as a whole and in parts. */
struct row {
	_Bool a, b;
	long v[3];
} __attribute__((packed));

struct bits {
	int low : 12;
	int half[2];
} __attribute__((packed));

struct mixed {
	unsigned int f0;
	long f1 : 23;
	unsigned char f2 : 6;
	unsigned int f3;
	unsigned char f4;
} __attribute__((packed));

long total;
unsigned int third;
unsigned short halves[2];

static __noinline long number(long x) { return x + 0x123456789; }
static __noinline int take(struct bits *b) { return b->half[0]; }

static __noinline void fill(struct odd *o, unsigned long v) { o->l = v; }

SEC("socket")
int prog(struct __sk_buff *skb)
{
	struct odd local = { .w = 0x55667788 };

	sum = g.w;
	neg = g.s;
	local.w += skb->len - 50;
	stack = local.w;
	fill(&local, 0x1122334455667788);
	l = local.l;

	struct row r = { skb->len > 1, skb->len > 2, { number(5), 5, 6 } };

	total = r.v[skb->len & 1 ? 0 : 1] + r.v[1] + r.v[2] + (r.v[0] - 0x123456789) - r.a - r.b;
	if (!(skb->len & 1))
		total += 0x123456789 - 5 + 2;

	struct bits b = { 1, { 5, 0 } }, copy = b;

	halves[0] = *(unsigned short *)copy.half;
	halves[1] = ((unsigned short *)copy.half)[1];
	take(&b);

	unsigned char zero = skb->len == 1;
	struct mixed m[2] = { {}, { zero, 0, 0, 0x10000 } };

	third = m[1].f3;
	return 0;
}
