// Members that do not lie at multiples of their size: in globals, in map values and on the
// stack.
// want: sum = 0x11223344
// want: stack = 0x55667788
// want: l = 0x1122334455667788
// want: neg = -2
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
	return 0;
}
