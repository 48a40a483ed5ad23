// Arrays whose length is not constant, and alloca.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("socket")
int prog(struct __sk_buff *skb)
{
	int n = skb->len & 7, a[n]; // diag: arrays of variable length are not supported

	a[0] = 1;
	return *(char *)__builtin_alloca(8); // diag: __builtin_alloca is not supported
}
