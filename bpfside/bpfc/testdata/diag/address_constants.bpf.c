// Pointers in initialized data, which nobody would relocate.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

int target;
int *at = &target; // diag: 
const char *name = "text"; // diag: 

SEC("socket")
int prog(struct __sk_buff *skb)
{
	return *at;
}
