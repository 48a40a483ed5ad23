// CO-RE: a structure of the program's own, with another layout than the kernel's: fields
// move to where the kernel has them, through nested, unnamed and array members; with the
// attribute, and with the builtin.
// set: pid = $PID
// attach: on_enter
// want: tgid = 1
// want: pid_same = 1
// want: via_builtin = 1
// want: letter = 1
// want: ptr = 1
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

char LICENSE[] SEC("license") = "GPL";

const volatile int pid;
int tgid, pid_same, via_builtin, letter, ptr;

struct task_struct {
	char comm[16];
	int tgid;
	struct task_struct *group_leader;
	int pid;
} __attribute__((preserve_access_index));

#pragma clang attribute push (__attribute__((preserve_access_index)), apply_to = record)
struct task_struct___v2 {
	struct task_struct___v2 *group_leader;
	int tgid;
};
#pragma clang attribute pop

struct task_struct___plain {
	int tgid;
};

SEC("tp_btf/sys_enter")
int BPF_PROG(on_enter, struct pt_regs *regs, long id)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct task_struct___v2 *u = (void *)t;
	struct task_struct___plain *p = (void *)t;
	char name[16];
	int v;

	if (bpf_get_current_pid_tgid() >> 32 != pid)
		return 0;
	/* Direct loads: the verifier knows what t points to. */
	tgid = t->tgid == pid && t->group_leader->tgid == pid;
	pid_same = t->pid == (__u32)bpf_get_current_pid_tgid();
	ptr = u->group_leader->tgid == pid;
	bpf_probe_read_kernel(&v, sizeof(v), __builtin_preserve_access_index(&p->tgid));
	via_builtin = v == pid;
	bpf_get_current_comm(name, sizeof(name));
	letter = t->comm[1] == name[1];
	return 0;
}
