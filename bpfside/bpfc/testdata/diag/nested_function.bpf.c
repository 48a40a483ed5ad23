// Functions within functions.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("socket")
int prog(struct __sk_buff *skb)
{
	int inner(int n) { return n; } // diag: nested functions are not supported

	return 1;
}
