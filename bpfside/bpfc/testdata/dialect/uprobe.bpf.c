// A uprobe that is really hit, with a cookie.
// attach: on_call cookie=0x1122334455667788
// want: hits = 1
// want: fourth = 1
// want: fifth = 2
// want: cookie = 0x1122334455667788
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

int hits;
long fourth, fifth, cookie;

SEC("uprobe")
int on_call(struct pt_regs *ctx)
{
	hits++;
#ifdef __TARGET_ARCH_x86
	fourth = PT_REGS_PARM1(ctx); /* rdi: the fourth parameter of a Go function */
	fifth = PT_REGS_PARM2(ctx);
#else
	fourth = PT_REGS_PARM4(ctx);
	fifth = PT_REGS_PARM5(ctx);
#endif
	cookie = bpf_get_attach_cookie(ctx);
	return 0;
}
