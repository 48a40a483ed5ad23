// BPF_MAP_TYPE_HASH: look up, insert, replace, delete, flags, and values changed in place.
// want: missing = 1
// want: found = 11
// want: replaced = 22
// want: in_place = 25
// want: exists_err = -17
// want: noexist_err = -2
// want: deleted = 0
// want: delete_again = -2
// want: len(counts) = 1
// want: len(by_pair) = 2
// want: pair_sum = 77
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

struct pair {
	__u16 a;
	__u32 b;
};

struct sum {
	long total;
	char tag[4];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct pair);
	__type(value, struct sum);
} by_pair SEC(".maps");

int missing, found, replaced, in_place, exists_err, noexist_err, deleted, delete_again;
long pair_sum;

SEC("syscall")
int prog(void *ctx)
{
	__u32 key = 3;
	__u64 value = 11, *at;

	missing = bpf_map_lookup_elem(&counts, &key) == NULL;
	bpf_map_update_elem(&counts, &key, &value, BPF_ANY);
	at = bpf_map_lookup_elem(&counts, &key);
	if (at)
		found = *at;
	exists_err = bpf_map_update_elem(&counts, &key, &value, BPF_NOEXIST);
	value = 22;
	bpf_map_update_elem(&counts, &key, &value, BPF_EXIST);
	at = bpf_map_lookup_elem(&counts, &key);
	if (at) {
		replaced = *at;
		*at += 3;
	}
	at = bpf_map_lookup_elem(&counts, &key);
	if (at)
		in_place = *at;
	key = 4;
	noexist_err = bpf_map_update_elem(&counts, &key, &value, BPF_EXIST);
	bpf_map_update_elem(&counts, &key, &value, BPF_ANY);
	deleted = bpf_map_delete_elem(&counts, &key);
	delete_again = bpf_map_delete_elem(&counts, &key);

	struct pair p = { .a = 1, .b = 2 };
	struct sum s = { 70, "abc" }, *sp;

	bpf_map_update_elem(&by_pair, &p, &s, 0);
	p.b = 3;
	s.total = 7;
	bpf_map_update_elem(&by_pair, &p, &s, 0);
	sp = bpf_map_lookup_elem(&by_pair, &p);
	if (sp)
		pair_sum += sp->total;
	p.b = 2;
	sp = bpf_map_lookup_elem(&by_pair, &p);
	if (sp && sp->tag[1] == 'b')
		pair_sum += sp->total;
	return 0;
}
