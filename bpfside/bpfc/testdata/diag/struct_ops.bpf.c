// Maps of operations (struct_ops).
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("struct_ops/init")
void init(void *sk) // diag: struct_ops is not supported
{
}

SEC(".struct_ops")
struct tcp_congestion_ops ops = { // diag: struct_ops is not supported
	.init = (void *)init,
	.name = "mine",
};
