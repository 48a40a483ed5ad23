// Arithmetic of __int128.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

unsigned long hi;

SEC("socket")
int prog(struct __sk_buff *skb)
{
	unsigned __int128 n = skb->len;

	n *= n; // diag: __int128 is not supported
	hi = 1;
	return 0;
}
