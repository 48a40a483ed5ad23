// BPF_USDT: arguments by the description in the map of usdt.bpf.h, of a probe that is
// really hit. The program "describe" stands in for the loader.
// run: describe
// attach: on_probe cookie=3
// want: count = 4
// want: a = -5
// want: b = 1
// want: c = 2
// want: d = 200
// want: cookie = 0x77
// want: missing = -2
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>

char LICENSE[] SEC("license") = "GPL";

int count, a, missing;
unsigned char b;
long c, cookie;
unsigned long d;

SEC("syscall")
int describe(void *ctx)
{
	static struct __bpf_usdt_spec spec;
	int id = 3;

	spec.arg_cnt = 4;
	spec.usdt_cookie = 0x77;
	spec.args[0].arg_type = BPF_USDT_ARG_CONST;
	spec.args[0].val_off = -5;
	spec.args[1].arg_type = BPF_USDT_ARG_REG;
	spec.args[1].arg_bitshift = 56;
	spec.args[2].arg_type = BPF_USDT_ARG_REG;
	spec.args[3].arg_type = BPF_USDT_ARG_CONST;
	spec.args[3].val_off = -56;
	spec.args[3].arg_bitshift = 56;
#ifdef __TARGET_ARCH_x86
	spec.args[1].reg_off = offsetof(struct pt_regs, di);
	spec.args[2].reg_off = offsetof(struct pt_regs, si);
#else
	spec.args[1].reg_off = offsetof(struct user_pt_regs, regs[3]);
	spec.args[2].reg_off = offsetof(struct user_pt_regs, regs[4]);
#endif
	bpf_map_update_elem(&__bpf_usdt_specs, &id, &spec, 0);
	return 0;
}

SEC("uprobe")
int BPF_USDT(on_probe, int x, unsigned char y, long z, unsigned long w)
{
	long none;

	count = bpf_usdt_arg_cnt(ctx);
	a = x;
	b = y;
	c = z;
	d = w;
	cookie = bpf_usdt_cookie(ctx);
	missing = bpf_usdt_arg(ctx, 4, &none);
	return 0;
}
