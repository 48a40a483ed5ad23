// Addresses of labels, and jumps to them.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("socket")
int prog(struct __sk_buff *skb)
{
	void *at = &&out; // diag: the address of a label is not supported

	goto *at; // diag: computed goto is not supported
out:
	return 0;
}
