// Errors of C, several at once.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("socket")
int prog(struct __sk_buff *skb)
{
	int n = skb->nothing; // diag: nothing

	n = undefined_name; // diag: undefined_name
	return n + "text" * 2; // diag: 
}
