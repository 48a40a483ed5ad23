// Arrays and hashes of maps, with the inner maps put in when they are loaded.
// want: sum = 31
// want: empty_slot = 1
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u32);
} one SEC(".maps"), two SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 3);
	__type(key, __u32);
	__array(values, struct inner);
} outer SEC(".maps") = {
	.values = { [0] = &one, [2] = &two },
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, struct {
		__uint(type, BPF_MAP_TYPE_HASH);
		__uint(max_entries, 5);
		__type(key, __u32);
		__type(value, __u64);
	});
} by_name SEC(".maps");

int sum, empty_slot;

static void put(void *map, __u32 value)
{
	__u32 key = 1;

	bpf_map_update_elem(map, &key, &value, 0);
}

static int get(__u32 slot)
{
	void *map = bpf_map_lookup_elem(&outer, &slot);
	__u32 key = 1, *v;

	if (!map)
		return -1;
	v = bpf_map_lookup_elem(map, &key);
	return v ? *v : -2;
}

SEC("syscall")
int prog(void *ctx)
{
	__u32 missing = 9;

	put(&one, 10);
	put(&two, 21);
	sum = get(0) + get(2);
	empty_slot = get(1) == -1 && !bpf_map_lookup_elem(&by_name, &missing);
	return 0;
}
