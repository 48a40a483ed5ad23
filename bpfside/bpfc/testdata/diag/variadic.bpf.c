// Functions with a variable number of arguments.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

static int sum(int n, ...) // diag: sum: definitions of variadic functions are not supported
{
	return n;
}

SEC("socket")
int prog(struct __sk_buff *skb)
{
	return sum(2, 3, 4);
}
