// More than five arguments in a function that is not inlined.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

static __noinline int six(int a, int b, int c, int d, int e, int f) // diag: six has 6 parameters: a function that is not inlined has at most 5
{
	return a + b + c + d + e + f;
}

SEC("socket")
int prog(struct __sk_buff *skb)
{
	return six(1, 2, 3, 4, 5, skb->len);
}
