// Programs of the kinds that the kernel runs by request: each sees its context.
// run: on_sys ctx=7,8
// run: on_sock
// run: on_xdp
// run: on_tc
// run: on_raw ctx=100,200
// want: on_sys() = 15
// want: on_sock() = 64
// want: on_xdp() = 2
// want: on_tc() = 5
// want: on_raw() = 44
// want: seen = 31
// want: first = 13
#include <linux/bpf.h>
#include "bpf_helpers.h"

char LICENSE[] SEC("license") = "GPL";

int seen;
int first;

struct words {
	__u64 a, b;
};

SEC("syscall")
int on_sys(struct words *ctx)
{
	seen |= 1;
	return ctx->a + ctx->b;
}

SEC("socket")
int on_sock(struct __sk_buff *skb)
{
	seen |= 2;
	/* A socket filter sees what is behind the Ethernet header. */
	return skb->len + 14;
}

SEC("xdp")
int on_xdp(struct xdp_md *ctx)
{
	unsigned char *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	seen |= 4;
	if (data + 14 > end)
		return XDP_ABORTED;
	first = data[13];
	return XDP_PASS;
}

SEC("tc")
int on_tc(struct __sk_buff *skb)
{
	seen |= 8;
	skb->cb[1] = 5;
	return skb->cb[1];
}

SEC("raw_tp")
int on_raw(struct bpf_raw_tracepoint_args *ctx)
{
	seen |= 16;
	return ctx->args[0] + ctx->args[1] == 300 ? 44 : 0;
}
