// Maps with a value for each CPU: array, hash and LRU hash, and a value of another CPU.
// want: sum = 46
// want: len(pc_hash) = 1
// want: far = 1
// want: nothing = 1
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
} pc_array SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 4);
	__type(key, char[6]);
	__type(value, int[4]);
} pc_hash SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_PERCPU_HASH);
	__uint(max_entries, 16);
	__type(key, __u64);
	__type(value, __u32);
} pc_lru SEC(".maps");

long sum;
int far, nothing;

SEC("syscall")
int prog(void *ctx)
{
	__u32 key = 1, lru_value = 4;
	__u64 *v = bpf_map_lookup_elem(&pc_array, &key), lru_key = 99;
	char name[6] = "five";
	int four[4] = { 1, 2, 3, 4 }, *f;
	__u32 *l;

	if (!v)
		return 1;
	*v = 40;
	*v += 2;
	sum = *v;
	bpf_map_update_elem(&pc_hash, name, four, BPF_ANY);
	f = bpf_map_lookup_elem(&pc_hash, name);
	if (f)
		sum += f[0] * f[1] + f[2] - f[3] - 1;
	bpf_map_update_elem(&pc_lru, &lru_key, &lru_value, 0);
	l = bpf_map_lookup_elem(&pc_lru, &lru_key);
	if (l)
		sum += *l;
	far = bpf_map_lookup_percpu_elem(&pc_array, &key, bpf_get_smp_processor_id()) == v;
	nothing = !bpf_map_lookup_percpu_elem(&pc_array, &key, 100000);
	return 0;
}
