// Recursion.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

static __noinline int fac(int n)
{
	return n < 2 ? 1 : n * fac(n - 1); // diag: recursion is not supported: fac calls itself
}

SEC("socket")
int prog(struct __sk_buff *skb)
{
	return fac(4);
}
