// Storage that belongs to a task, and one that belongs to a socket, load; the first runs.
// attach: on_enter
// set: pid = $PID
// want: same = 1
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, long);
} per_task SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, long);
} per_socket SEC(".maps");

int same;
const volatile int pid;

SEC("tp_btf/sys_enter")
int BPF_PROG(on_enter, struct pt_regs *regs, long id)
{
	if (bpf_get_current_pid_tgid() >> 32 != pid)
		return 0;

	struct task_struct *task = bpf_get_current_task_btf();
	long *v = bpf_task_storage_get(&per_task, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (v) {
		*v = 5;
		v = bpf_task_storage_get(&per_task, task, 0, 0);
		same = v && *v == 5;
		bpf_task_storage_delete(&per_task, task);
	}
	return 0;
}

SEC("cgroup_skb/egress")
int on_packet(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk;
	long *v;

	if (!sk)
		return 1;
	sk = bpf_sk_fullsock(sk);
	if (!sk)
		return 1;
	v = bpf_sk_storage_get(&per_socket, sk, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (v)
		*v += 1;
	return 1;
}
