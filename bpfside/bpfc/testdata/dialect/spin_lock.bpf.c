// Spin locks in map values.
// want: n = 2
// want: err = 0
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct value {
	struct bpf_spin_lock lock;
	long n;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, int);
	__type(value, struct value);
} m SEC(".maps");

long n, err;

SEC("tc")
int prog(struct __sk_buff *skb)
{
	int key = 0;
	struct value *v = bpf_map_lookup_elem(&m, &key), local = { .n = 1 };

	if (!v)
		return 1;
	err = bpf_map_update_elem(&m, &key, &local, BPF_F_LOCK);
	bpf_spin_lock(&v->lock);
	v->n++;
	bpf_spin_unlock(&v->lock);
	n = v->n;
	return 0;
}
