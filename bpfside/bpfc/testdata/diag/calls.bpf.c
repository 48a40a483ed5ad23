// Calls that eBPF has not: through pointers, of functions that nobody defines or declares.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

static int one(int n) { return n; }
int missing(int n);

SEC("socket")
int prog(struct __sk_buff *skb)
{
	int (*volatile f)(int) = one;
	int n = f(1); // diag: calls through pointers are not supported

	n += missing(2); // diag: missing is defined nowhere in this file
	return n + undeclared(3); // diag: undeclared is not declared
}
