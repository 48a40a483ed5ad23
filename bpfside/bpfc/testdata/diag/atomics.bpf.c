// Atomic operations of sizes that eBPF has not, on packed members, and fences.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct odd {
	char c;
	int i;
} __attribute__((packed)) odd;
short half;

static void add(struct odd *o)
{
	__sync_fetch_and_add(&o->i, 1); // diag: __sync_fetch_and_add of what is not aligned is not supported
}

SEC("socket")
int prog(struct __sk_buff *skb)
{
	add(&odd);
	__sync_fetch_and_add(&half, 1); // diag: __sync_fetch_and_add of 2 bytes is not supported: eBPF has atomic operations of 4 and 8 bytes
	__sync_synchronize(); // diag: __sync_synchronize is not supported: eBPF has no fences
	__atomic_thread_fence(__ATOMIC_SEQ_CST); // diag: __atomic_thread_fence is not supported: eBPF has no fences
	return 0;
}
