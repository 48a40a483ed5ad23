// CO-RE: BPF_CORE_READ and its kin on the running task, chains of pointers, strings, parts
// of arrays, and a reading of user memory that fails.
// set: pid = $PID
// attach: on_enter
// want: same = 1
// want: parent = 1
// want: self = 1
// want: comm = 1
// want: into = 1
// want: user_err = 1
// want: probe = 1
// want: bits = 1
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

char LICENSE[] SEC("license") = "GPL";

const volatile int pid;
int same, parent, self, comm, into, user_err, probe, bits;

SEC("raw_tp/sys_enter")
int on_enter(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *t = (void *)bpf_get_current_task(), *leader;
	char name[TASK_COMM_LEN], name2[TASK_COMM_LEN];
	int tgid = 0;
	long err;

	if (bpf_get_current_pid_tgid() >> 32 != pid)
		return 0;
	same = BPF_CORE_READ(t, tgid) == pid && BPF_CORE_READ(t, pid) == (__u32)bpf_get_current_pid_tgid();
	parent = BPF_CORE_READ(t, real_parent, real_parent, tgid) >= 0 && BPF_CORE_READ(t, real_parent, tgid) > 0;
	self = BPF_CORE_READ(t, group_leader, group_leader, tgid) == pid;
	bpf_get_current_comm(name, sizeof(name));
	comm = BPF_CORE_READ_STR_INTO(&name2, t, comm) > 0 && name[0] == name2[0] && name[1] == name2[1];
	err = BPF_CORE_READ_INTO(&tgid, t, group_leader, tgid);
	into = err == 0 && tgid == pid;
	err = BPF_CORE_READ_USER_INTO(&tgid, (struct task_struct *)8, tgid);
	user_err = err < 0 && tgid == 0;
	bpf_core_read(&leader, sizeof(leader), &t->group_leader);
	probe = BPF_PROBE_READ(leader, tgid) == pid && BPF_CORE_READ(t, comm[0]) == name[0];
	bits = BPF_CORE_READ_BITFIELD_PROBED(t, in_execve) == 0 && BPF_CORE_READ(t, mm, pgd) != 0;
	return 0;
}
