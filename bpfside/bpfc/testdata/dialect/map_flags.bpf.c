// What a map's definition may say besides: flags, read-only for programs; its members in
// another order; one type for several maps.
// want: sum = 3
// want: ro = 0
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct counters {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 4);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, unsigned char);
	__type(value, unsigned short);
};

struct counters left SEC(".maps"), right SEC(".maps");

struct {
	__type(value, long);
	__type(key, int);
	int (*max_entries)[2];
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_RDONLY_PROG | BPF_F_MMAPABLE);
} readonly SEC(".maps");

int sum;
long ro = 1;

static void put(void *map, int n)
{
	unsigned char key = 1;
	unsigned short value = n;

	bpf_map_update_elem(map, &key, &value, BPF_ANY);
}

SEC("tc")
int prog(struct __sk_buff *skb)
{
	unsigned char key = 1;
	int zero = 0;
	unsigned short *v;
	long *r;

	put(&left, 1);
	put(&right, 2);
	v = bpf_map_lookup_elem(&left, &key);
	if (v)
		sum += *v;
	v = bpf_map_lookup_elem(&right, &key);
	if (v)
		sum += *v;
	r = bpf_map_lookup_elem(&readonly, &zero);
	if (r)
		ro = *r;
	return 0;
}
