// Timers in map values, with a callback.
// want: err = 0 0 0
// want: cancelled = 1
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct value {
	struct bpf_timer timer;
	int fired;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, int);
	__type(value, struct value);
} m SEC(".maps");

long err[3] = { -1, -1, -1 }, cancelled;

static int on_time(void *map, int *key, struct value *v)
{
	v->fired++;
	return 0;
}

SEC("tc")
int prog(struct __sk_buff *skb)
{
	int key = 0;
	struct value *v = bpf_map_lookup_elem(&m, &key);

	if (!v)
		return 1;
	err[0] = bpf_timer_init(&v->timer, &m, 1);
	err[1] = bpf_timer_set_callback(&v->timer, on_time);
	err[2] = bpf_timer_start(&v->timer, 1000000000, 0);
	cancelled = bpf_timer_cancel(&v->timer);
	return 0;
}
