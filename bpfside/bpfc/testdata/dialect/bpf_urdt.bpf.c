// BPF_URDT: the hash of the name is the last argument, and another name's hits end before
// the body.
// run: describe
// attach: on_name cookie=5
// attach: on_other cookie=5
// want: count = 2
// want: first = 1
// want: second = 2
// want: hash = 0x1234
// want: hash2 = 0x5678
// want: cookie = 9
// want: other = 0
// want: raw = 1
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>
#include "urdt.bpf.h"

char LICENSE[] SEC("license") = "GPL";

int count, other, raw;
long first, second;
unsigned int hash, hash2, cookie;
const volatile int wrong = 0;

SEC("syscall")
int describe(void *ctx)
{
	static struct __bpf_usdt_spec spec;
	int id = 5;

	spec.arg_cnt = 3;
	spec.usdt_cookie = 0x123400000009;
	spec.args[0].arg_type = BPF_USDT_ARG_REG;
	spec.args[1].arg_type = BPF_USDT_ARG_REG;
	spec.args[2].arg_type = BPF_USDT_ARG_CONST;
	spec.args[2].val_off = 0x567800001234;
#ifdef __TARGET_ARCH_x86
	spec.args[0].reg_off = offsetof(struct pt_regs, di);
	spec.args[1].reg_off = offsetof(struct pt_regs, si);
#else
	spec.args[0].reg_off = offsetof(struct user_pt_regs, regs[3]);
	spec.args[1].reg_off = offsetof(struct user_pt_regs, regs[4]);
#endif
	bpf_map_update_elem(&__bpf_usdt_specs, &id, &spec, 0);
	return 0;
}

SEC("uprobe")
int BPF_URDT(on_name, int a, long b)
{
	count = bpf_urdt_arg_cnt(ctx);
	first = a;
	second = b;
	hash = bpf_urdt_hash(ctx);
	hash2 = bpf_urdt_hash2(ctx);
	cookie = bpf_urdt_cookie(ctx);
	return 0;
}

SEC("uprobe")
int on_other(struct pt_regs *ctx)
{
	raw = bpf_urdt_match(ctx);
	if (bpf_urdt_hash(ctx) != 0x1234)
		other = 1;
	return 0;
}
