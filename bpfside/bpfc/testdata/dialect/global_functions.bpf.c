// Global functions, which the verifier looks at by themselves: integers, the context and
// pointers to memory of a known size as arguments, a pointer that may be null.
// want: total = 57
// want: filled = 9 10
// want: null = -1
// want: chain = 101
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct pair { int a, b; };

int total, filled[2], null, chain;

__noinline int of_context(struct __sk_buff *skb, int n)
{
	return skb->len + n;
}

__noinline int of_memory(struct pair *p)
{
	if (!p)
		return -1;
	p->a = 9;
	p->b++;
	return 0;
}

__noinline int last(int n) { return n < 50 ? n : 100; }
__noinline int middle(int n) { return last(n) + 1; }
__noinline void no_result(void) { }

SEC("tc")
int prog(struct __sk_buff *skb)
{
	struct pair p = { 1, 9 };

	total = of_context(skb, 7) - 14;
	if (of_memory(&p) == 0) {
		filled[0] = p.a;
		filled[1] = p.b;
	}
	null = of_memory(0);
	chain = middle(skb->len);
	return 0;
}
