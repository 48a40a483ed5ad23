// Callbacks: bpf_loop with a context and an early end, bpf_for_each_map_elem over an array
// and a hash; the callback as a variable is a constant.
// want: rounds = 100
// want: sum = 4950
// want: early = 11
// want: array_sum = 60
// want: seen = 4
// want: keys = 10
// want: none = 0
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} arr SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8);
	__type(key, __u32);
	__type(value, __u32);
} hash SEC(".maps");

struct acc {
	long sum;
	int n;
};

long rounds, sum, early, array_sum, seen, keys, none = 1;

static int add(__u32 index, struct acc *a)
{
	a->sum += index;
	a->n++;
	return 0;
}

static long until_ten(__u32 index, void *ctx)
{
	return index >= 10;
}

static long visit(struct bpf_map *map, __u32 *key, __u64 *value, struct acc *a)
{
	a->sum += *value;
	a->n++;
	return 0;
}

static long visit_keys(void *map, const void *key, void *value, void *ctx)
{
	keys += *(__u32 *)key;
	return 0;
}

SEC("socket")
int prog(struct __sk_buff *skb)
{
	struct acc a = {}, b = {};

	rounds = bpf_loop(100, add, &a, 0);
	sum = a.sum;
	early = bpf_loop(1000, until_ten, (void *)0, 0);
	for (int i = 0; i < 4; i++) {
		__u64 v = i * 10;
		__u32 k = i, w = i + 1;

		bpf_map_update_elem(&arr, &k, &v, 0);
		bpf_map_update_elem(&hash, &w, &w, 0);
	}
	bpf_for_each_map_elem(&arr, visit, &b, 0);
	array_sum = b.sum;
	seen = b.n;
	bpf_for_each_map_elem(&hash, visit_keys, 0, 0);
	none = bpf_loop(0, add, &a, 0);
	return 0;
}
