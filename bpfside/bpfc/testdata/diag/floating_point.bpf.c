// float, double, and constants of them.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("socket")
int prog(struct __sk_buff *skb)
{
	float f = skb->len; // diag: float is not supported

	return skb->len * 1.5; // diag: double is not supported: BPF has no floating point
}
