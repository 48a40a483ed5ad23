// Variables of threads, aliases.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

_Thread_local int mine; // diag: thread-local variables are not supported

SEC("socket")
int prog(struct __sk_buff *skb)
{
	return 0;
}
