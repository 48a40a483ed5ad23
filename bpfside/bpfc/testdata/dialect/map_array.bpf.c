// BPF_MAP_TYPE_ARRAY: elements exist from the start; key and value given by size.
// want: zero = 0
// want: outside = 1
// want: third = 30
// want: big = 12345
// want: arr_err = -7
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, int);
	__type(value, long);
} numbers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, 16);
} raw SEC(".maps");

long zero = -1;
int outside, arr_err;
long third, big;

SEC("socket")
int prog(struct __sk_buff *skb)
{
	int key = 0;
	long *v = bpf_map_lookup_elem(&numbers, &key);

	if (v)
		zero = *v;
	for (int i = 0; i < 6; i++) {
		key = i;
		v = bpf_map_lookup_elem(&numbers, &key);
		if (v)
			*v = i * 15;
		else if (i == 4)
			outside++;
	}
	key = 2;
	v = bpf_map_lookup_elem(&numbers, &key);
	if (v)
		third = *v;
	key = 9;
	long x = 1;

	arr_err = bpf_map_update_elem(&numbers, &key, &x, 0);

	__u32 k0 = 0;
	__u64 *w = bpf_map_lookup_elem(&raw, &k0);

	if (w) {
		w[1] = 12345;
		big = w[1] + w[0];
	}
	return 0;
}
