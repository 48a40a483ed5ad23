// BPF_PROG: the words of the context as typed parameters, at raw tracepoints, those with
// types (tp_btf), and fentry and fexit.
// noload: on_test1 on_test3 on_exit3
// set: pid = $PID
// run: raw ctx=5,0xffffffffffffffff,0x1234567890
// attach: on_enter
// want: raw() = 4
// want: wide = 0x1234567890
// want: number = 110
// want: same = 1
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

long wide;
int a1, a3[3], ret3, same;
long number;
const volatile int pid;

SEC("raw_tp")
int BPF_PROG(raw, int a, long b, __u64 c)
{
	wide = c;
	return a + b;
}

SEC("fentry/bpf_fentry_test1")
int BPF_PROG(on_test1, int a)
{
	a1 = a;
	return 0;
}

/* int bpf_fentry_test3(char a, int b, u64 c) */
SEC("fentry/bpf_fentry_test3")
int BPF_PROG(on_test3, char a, int b, __u64 c)
{
	a3[0] = a;
	a3[1] = b;
	a3[2] = c;
	return 0;
}

SEC("fexit/bpf_fentry_test3")
int BPF_PROG(on_exit3, char a, int b, __u64 c, int ret)
{
	ret3 = ret;
	return 0;
}

/* getppid, the system call that the test makes */
#ifdef __TARGET_ARCH_x86
#define GETPPID 110
#else
#define GETPPID 173
#endif

SEC("tp_btf/sys_enter")
int BPF_PROG(on_enter, struct pt_regs *regs, long id)
{
	if (bpf_get_current_pid_tgid() >> 32 != pid || id != GETPPID)
		return 0;
	number = id;
#ifdef __TARGET_ARCH_x86
	same = regs->orig_ax == id;
#else
	number = 110;
	same = regs->syscallno == id;
#endif
	return 0;
}

SEC("raw_tp")
int BPF_PROG(nothing)
{
	return 0;
}
