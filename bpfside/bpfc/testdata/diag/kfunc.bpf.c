// Functions of the kernel (kfuncs).
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

extern struct task_struct *bpf_task_from_pid(__s32 pid) __ksym;
extern void bpf_task_release(struct task_struct *p) __ksym;

SEC("syscall")
int prog(void *ctx)
{
	struct task_struct *t = bpf_task_from_pid(1); // diag: bpf_task_from_pid: functions of the kernel (kfuncs) are not supported

	return t != NULL;
}
