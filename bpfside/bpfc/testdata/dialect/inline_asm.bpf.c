// Inline assembly of the forms that libbpf programs use: barriers, and a few instructions
// on operands.
// want: kept = 50
// want: bounded = 50
// want: added = 51
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

int kept, bounded;
long added;
char text[64];

SEC("socket")
int prog(struct __sk_buff *skb)
{
	unsigned long len = skb->len;
	long n = len;

	barrier();
	barrier_var(len);
	asm volatile("" : "=r"(len) : "0"(len));
	kept = len;
	asm volatile("%[len] &= 63" : [len] "+r"(len));
	text[len] = 1;
	bounded = len;
	asm volatile("%0 += 1" : "+r"(n));
	added = n;
	return 0;
}
