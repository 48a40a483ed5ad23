// Inline assembly that is none of the known forms, and asm goto.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

asm("nop"); // diag: inline assembly is not supported

SEC("socket")
int prog(struct __sk_buff *skb)
{
	long n = 1;

	asm volatile("r0 = *(u32 *)(r1 + 0)"); // diag: this inline assembly is not supported
	asm goto("" : : : : out); // diag: asm goto is not supported
out:
	return n;
}
