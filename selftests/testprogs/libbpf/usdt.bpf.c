// SPDX-License-Identifier: MIT OR GPL-2.0
// A BPF program on libbpf's own usdt.bpf.h: for each hit it sends the number of
// arguments, the cookie and all twelve arguments, with their return codes.
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>

struct event {
	__u64 cookie;
	__s32 argc;
	__s32 rc[12];
	__s64 arg[12];
	char str[64];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

// Which argument to read as a string, -1 for none.
const volatile int string_arg = -1;

SEC("usdt")
int on_probe(struct pt_regs *ctx)
{
	struct event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);

	if (!e)
		return 0;
	e->cookie = bpf_usdt_cookie(ctx);
	e->argc = bpf_usdt_arg_cnt(ctx);
	e->str[0] = 0;
#pragma unroll
	for (int i = 0; i < 12; i++) {
		long v = 0;

		e->rc[i] = bpf_usdt_arg(ctx, i, &v);
		e->arg[i] = v;
		if (i == string_arg)
			bpf_probe_read_user_str(e->str, sizeof(e->str), (void *)v);
	}
	bpf_ringbuf_submit(e, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
