// SPDX-License-Identifier: MIT OR GPL-2.0
// A program on a description of arguments as libbpf has it since 1.7, where four
// bytes hold the kind, an index register and its scale. Debian's header is older:
// this is a reader of our own, which notes all arguments that it can read.
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>

enum __bpf_usdt_arg_type {
	BPF_USDT_ARG_CONST,
	BPF_USDT_ARG_REG,
	BPF_USDT_ARG_REG_DEREF,
	BPF_USDT_ARG_SIB,
};

struct __bpf_usdt_arg_spec {
	__u64 val_off;
	enum __bpf_usdt_arg_type arg_type: 8;
	__u32 idx_reg_off: 12;
	__u32 scale_bitshift: 4;
	__u32 unused: 8;
	short reg_off;
	bool arg_signed;
	char arg_bitshift;
};

#define MAX_ARGS 12
struct __bpf_usdt_spec {
	struct __bpf_usdt_arg_spec args[MAX_ARGS];
	__u64 usdt_cookie;
	short arg_cnt;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 16);
	__type(key, int);
	__type(value, struct __bpf_usdt_spec);
} __bpf_usdt_specs SEC(".maps") __weak;

__u64 hits, cookie, argc;
__s64 args[MAX_ARGS];
__s64 kinds[MAX_ARGS];

static __always_inline __u64 reg(void *ctx, int off)
{
	__u64 v = 0;

	bpf_probe_read_kernel(&v, sizeof(v), ctx + off);
	return v;
}

SEC("usdt")
int on_manual(struct pt_regs *ctx)
{
	int id = bpf_get_attach_cookie(ctx);
	struct __bpf_usdt_spec *spec = bpf_map_lookup_elem(&__bpf_usdt_specs, &id);

	if (!spec)
		return 0;
	__sync_fetch_and_add(&hits, 1);
	cookie = spec->usdt_cookie;
	argc = spec->arg_cnt;
#pragma unroll
	for (int i = 0; i < MAX_ARGS; i++) {
		struct __bpf_usdt_arg_spec *a = &spec->args[i];
		__u64 v = 0, at;

		if (i >= spec->arg_cnt)
			break;
		kinds[i] = a->arg_type;
		switch (a->arg_type) {
		case BPF_USDT_ARG_CONST:
			v = a->val_off;
			break;
		case BPF_USDT_ARG_REG:
			v = reg(ctx, a->reg_off);
			break;
		case BPF_USDT_ARG_REG_DEREF:
		case BPF_USDT_ARG_SIB:
			at = reg(ctx, a->reg_off) + a->val_off;
			if (a->arg_type == BPF_USDT_ARG_SIB)
				at += reg(ctx, a->idx_reg_off) << a->scale_bitshift;
			bpf_probe_read_user(&v, sizeof(v), (void *)at);
			break;
		default:
			continue;
		}
		v <<= a->arg_bitshift & 63;
		v = a->arg_signed ? (__u64)((__s64)v >> (a->arg_bitshift & 63)) : v >> (a->arg_bitshift & 63);
		args[i] = v;
	}
	return 0;
}

char _license[] SEC("license") = "Dual MIT/GPL";
