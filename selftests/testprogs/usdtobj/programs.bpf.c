// SPDX-License-Identifier: MIT OR GPL-2.0
// Programs on libbpf's own usdt.bpf.h, unmodified, for target.c: they note what
// they see in variables that a loader can look at. TARGET is the path of the
// target, given when it is compiled.
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>

extern __u32 LINUX_KERNEL_VERSION __kconfig;
extern bool LINUX_HAS_SYSCALL_WRAPPER __kconfig __weak;
extern int CONFIG_THAT_NO_KERNEL_HAS __kconfig __weak;

// What a program has seen of one probe.
struct seen {
	__u64 hits;
	__u64 sum; // of the first arguments
	__s64 cookie;
	__s64 argc;
	__s64 rc[14];
	__s64 arg[14];
	char text[32];
};

// The places of the probes in it.
enum { SIZES, TEXT, SEM, NONE, SAME, MANY, MANUAL, UPROBE, URETPROBE, MULTI, PROBES };

struct seen seen[PROBES];
__u64 kernel_version, missing_option;
__u64 sys_enters;

// The process whose system calls are counted.
const volatile __u32 pid;

static __always_inline void note(struct pt_regs *ctx, int i)
{
	struct seen *s = &seen[i];
	long v = 0;

	__sync_fetch_and_add(&s->hits, 1);
	s->cookie = bpf_usdt_cookie(ctx);
	s->argc = bpf_usdt_arg_cnt(ctx);
	// Beyond the end as well: these have to fail.
#pragma unroll
	for (int n = 0; n < 14; n++) {
		s->rc[n] = bpf_usdt_arg(ctx, n, &v);
		s->arg[n] = v;
	}
	__sync_fetch_and_add(&s->sum, s->arg[0]);
}

SEC("usdt/" TARGET ":app:sizes")
int on_sizes(struct pt_regs *ctx)
{
	note(ctx, SIZES);
	kernel_version = LINUX_KERNEL_VERSION;
	missing_option = CONFIG_THAT_NO_KERNEL_HAS;
	return 0;
}

// libbpf 1.1 does not know usdt.s.
#ifdef SLEEPABLE
SEC("usdt.s/" TARGET ":app:text")
#else
SEC("usdt/" TARGET ":app:text")
#endif
int BPF_USDT(on_text, long n, const char *text)
{
	note(ctx, TEXT);
#ifdef SLEEPABLE
	bpf_copy_from_user(seen[TEXT].text, 20, text);
#else
	bpf_probe_read_user(seen[TEXT].text, 20, text);
#endif
	return 0;
}

SEC("usdt/" TARGET ":app:sem")
int on_sem(struct pt_regs *ctx)
{
	note(ctx, SEM);
	return 0;
}

SEC("usdt/" TARGET ":app:none")
int on_none(struct pt_regs *ctx)
{
	note(ctx, NONE);
	return 0;
}

#ifdef MANY_PLACES
SEC("usdt/" TARGET ":app:same")
int BPF_USDT(on_same, int n)
{
	__sync_fetch_and_add(&seen[SAME].hits, 1);
	__sync_fetch_and_add(&seen[SAME].sum, n);
	return 0;
}
#endif

// Attached by hand: a test chooses the probe, the pid and the cookie.
SEC("usdt")
int on_manual(struct pt_regs *ctx)
{
	note(ctx, MANUAL);
	return 0;
}

#ifdef MORE_SECTIONS
SEC("uprobe/" TARGET ":plain_one")
int BPF_KPROBE(on_uprobe, int n)
{
	__sync_fetch_and_add(&seen[UPROBE].hits, 1);
	__sync_fetch_and_add(&seen[UPROBE].sum, n);
	return 0;
}

SEC("uretprobe/" TARGET ":plain_two")
int BPF_KRETPROBE(on_uretprobe, int ret)
{
	__sync_fetch_and_add(&seen[URETPROBE].hits, 1);
	__sync_fetch_and_add(&seen[URETPROBE].sum, ret);
	return 0;
}

SEC("uprobe.multi/" TARGET ":plain_*")
int BPF_KPROBE(on_multi, int n)
{
	__sync_fetch_and_add(&seen[MULTI].hits, 1);
	__sync_fetch_and_add(&seen[MULTI].sum, n);
	return 0;
}

SEC("raw_tp/sys_enter")
int on_raw_tp(void *ctx)
{
	if (bpf_get_current_pid_tgid() >> 32 == pid)
		__sync_fetch_and_add(&sys_enters, 1);
	return 0;
}

SEC("tp_btf/sys_enter")
int on_tp_btf(void *ctx)
{
	if (bpf_get_current_pid_tgid() >> 32 == pid)
		__sync_fetch_and_add(&sys_enters, 1000000);
	return 0;
}

SEC("?usdt/" TARGET ":app:many")
int on_optional(struct pt_regs *ctx)
{
	note(ctx, MANY);
	return 0;
}

SEC("socket")
int on_packet(void *ctx)
{
	return 0;
}

SEC("custom/thing")
int on_custom(void *ctx)
{
	return 0;
}
#endif

#ifdef TRACEPOINT
SEC("tp/raw_syscalls/sys_enter")
int on_tracepoint(void *ctx)
{
	if (bpf_get_current_pid_tgid() >> 32 == pid)
		__sync_fetch_and_add(&sys_enters, 1);
	return 0;
}
#endif

char _license[] SEC("license") = "Dual MIT/GPL";
