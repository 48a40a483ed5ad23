// BPF_KPROBE, BPF_KRETPROBE, BPF_UPROBE and BPF_KSYSCALL on registers that the program
// has made up, and the macros that read them.
// want: args = 10 20 30 40 50
// want: ret = -7
// want: no_args = 9
// want: user = 10 20
// want: regs = 60 70 80 90
// want: core = 10 60
// want: sys = 10 20 30 44
// want: ret_ip = 0xabcd
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

char LICENSE[] SEC("license") = "GPL";

long args[5], ret, no_args, user[2], regs[4], core[2], sys[4], ret_ip;

/* The real programs have a section; these are called with registers of our own. */
static int BPF_KPROBE(five, int a, unsigned char b, long c, void *d, short e)
{
	args[0] = a;
	args[1] = b;
	args[2] = c;
	args[3] = (long)d;
	args[4] = e;
	return 0;
}

static int BPF_KRETPROBE(result, int value)
{
	ret = value;
	return 0;
}

static int BPF_KPROBE(nothing)
{
	no_args = 9;
	return 0;
}

static int BPF_UPROBE(two, int a, int b)
{
	user[0] = a;
	user[1] = b;
	return 0;
}

static int BPF_URETPROBE(two_ret)
{
	return 0;
}

unsigned long stack[2] = { 0xabcd };

SEC("syscall")
int prog(void *ctx)
{
	struct pt_regs r = {};

#ifdef __TARGET_ARCH_x86
	r.di = 10;
	r.si = 0x100 | 20;
	r.dx = 30;
	r.cx = 40;
	r.r8 = 50;
	r.ax = -7;
	r.sp = 60;
	r.bp = 70;
	r.ip = 80;
	r.r9 = 90;
	r.r10 = 44;
	regs[0] = PT_REGS_SP(&r);
	regs[1] = PT_REGS_FP(&r);
	regs[2] = PT_REGS_IP(&r);
	regs[3] = PT_REGS_PARM6(&r);
#else
	struct user_pt_regs *u = (void *)&r;

	u->regs[0] = 10;
	u->regs[1] = 0x100 | 20;
	u->regs[2] = 30;
	u->regs[3] = 40;
	u->regs[4] = 50;
	u->regs[29] = 70;
	u->sp = 60;
	u->pc = 80;
	u->regs[5] = 90;
	regs[0] = PT_REGS_SP(&r);
	regs[1] = PT_REGS_FP(&r);
	regs[2] = PT_REGS_IP(&r);
	regs[3] = PT_REGS_PARM6(&r);
#endif
	five(&r);
	nothing(&r);
#ifdef __TARGET_ARCH_x86
	r.si = 20;
#else
	u->regs[1] = 20;
#endif
	two(&r);
	two_ret(&r);
	result(&r);
	core[0] = PT_REGS_PARM1_CORE(&r);
	core[1] = PT_REGS_SP_CORE(&r);
	sys[0] = PT_REGS_PARM1_CORE_SYSCALL(&r);
	sys[1] = PT_REGS_PARM2_SYSCALL(&r);
	sys[2] = PT_REGS_PARM3_CORE_SYSCALL(&r);
	sys[3] = PT_REGS_PARM4_SYSCALL(&r);
	r.sp = (unsigned long)stack;
	BPF_KPROBE_READ_RET_IP(ret_ip, &r);
	return 0;
}

SEC("ksyscall/nanosleep")
int BPF_KSYSCALL(on_nanosleep, void *req, void *rem)
{
	return req == rem;
}

SEC("kprobe/do_nanosleep")
int BPF_KPROBE(on_kernel, struct hrtimer_sleeper *t, int mode)
{
	return mode;
}

SEC("kretprobe/do_nanosleep")
int BPF_KRETPROBE(on_return, int r)
{
	return r;
}
