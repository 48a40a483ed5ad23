// CO-RE: does a field, a type, an enumerator exist; sizes, offsets, numbers of the kernel's types,
// values of enumerators.
// want: fields = 1 0 1 0
// want: sizes = 4 16 1
// want: offsets = 1 1
// want: types = 1 0 1
// want: enums = 1 0 6 0
// want: id = 1
// want: dead = 0
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

char LICENSE[] SEC("license") = "GPL";

int fields[4], sizes[3], offsets[2], types[3], enums[4], id, dead;

/* Flavours: versions of a type that the kernel may have had. */
struct task_struct___old {
	int pid;
	long state_of_old;
} __attribute__((preserve_access_index));

struct not_in_the_kernel {
	int a;
} __attribute__((preserve_access_index));

enum bpf_map_type___mine {
	BPF_MAP_TYPE_LRU_PERCPU_HASH___mine = 1,
	BPF_MAP_TYPE_NOT_THERE = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY___mine = 3,
};

SEC("socket")
int prog(struct __sk_buff *skb)
{
	struct task_struct *t = (void *)0;
	struct task_struct___old *old = (void *)t;

	fields[0] = bpf_core_field_exists(t->pid);
	fields[1] = bpf_core_field_exists(old->state_of_old);
	fields[2] = bpf_core_field_exists(struct task_struct, comm);
	fields[3] = bpf_core_field_exists(struct not_in_the_kernel, a);
	sizes[0] = bpf_core_field_size(old->pid);
	sizes[1] = bpf_core_field_size(struct task_struct, comm);
	sizes[2] = bpf_core_type_size(struct task_struct) > 1000;
	offsets[0] = bpf_core_field_offset(t->tgid) == __builtin_offsetof(struct task_struct, tgid);
	offsets[1] = bpf_core_field_offset(old->pid) == bpf_core_field_offset(struct task_struct, pid);
	types[0] = bpf_core_type_exists(struct task_struct);
	types[1] = bpf_core_type_exists(struct not_in_the_kernel);
	types[2] = bpf_core_type_exists(struct task_struct___old);
	enums[0] = bpf_core_enum_value_exists(enum bpf_map_type___mine, BPF_MAP_TYPE_LRU_PERCPU_HASH___mine);
	enums[1] = bpf_core_enum_value_exists(enum bpf_map_type___mine, BPF_MAP_TYPE_NOT_THERE);
	enums[2] = bpf_core_enum_value(enum bpf_map_type___mine, BPF_MAP_TYPE_PERCPU_ARRAY___mine);
	enums[3] = bpf_core_enum_value_exists(enum bpf_map_type, BPF_MAP_TYPE_HASH) - 1;
	id = bpf_core_type_id_kernel(struct task_struct) > 0;
	if (bpf_core_field_exists(old->state_of_old))
		/* Code for a field that is not there is gone before the verifier sees it. */
		dead = BPF_CORE_READ(old, state_of_old);
	return 0;
}
