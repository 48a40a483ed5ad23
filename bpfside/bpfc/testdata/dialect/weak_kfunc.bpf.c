// A weak function of the kernel (kfunc) is one that this kernel lacks, as bpfc has none: the
// program takes the other way.
// clang: none, with clang the function is called
// needs: Linux 6.2, bpf_task_from_pid
// want: way = 2
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

int way;

SEC("syscall")
int prog(void *ctx)
{
	struct task_struct *t;

	if (bpf_ksym_exists(bpf_task_from_pid)) {
		t = bpf_task_from_pid(1);
		if (t)
			bpf_task_release(t);
		way = 1;
	} else {
		way = 2;
	}
	return 0;
}
