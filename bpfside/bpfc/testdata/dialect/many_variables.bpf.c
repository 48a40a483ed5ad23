// More live values than registers: spilled and reloaded, pointers too, across calls.
// want: sum = 1275
// want: kept = 1
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, int);
	__type(value, long);
} m SEC(".maps");

long sum;
int kept;

SEC("socket")
int prog(struct __sk_buff *skb)
{
	long n = skb->len - 49; /* 1 */
	long a = n, b = n * 2, c = n * 3, d = n * 4, e = n * 5, f = n * 6, g = n * 7, h = n * 8, i = n * 9, j = n * 10;
	int key = 0;
	long *v = bpf_map_lookup_elem(&m, &key);

	if (!v)
		return 1;
	bpf_get_prandom_u32();
	*v = a + b;
	for (int k = 0; k < 5; k++) {
		long t = k * 10;

		bpf_get_prandom_u32();
		sum += (a + t) + (b + t) + (c + t) + (d + t) + (e + t) + (f + t) + (g + t) + (h + t) + (i + t) + (j + t);
	}
	kept = *v == 3 && (void *)skb != (void *)v;
	return 0;
}
