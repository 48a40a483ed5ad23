// A program array that is filled at load time, and tail calls by a constant and by a
// variable.
// run: start
// run: by_number
// want: start() = 103
// want: by_number() = 104
// want: trail = 4
// want: out_of_range = 1
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

int trail, out_of_range;

SEC("socket") int third(struct __sk_buff *skb) { trail++; return 103; }
SEC("socket") int fourth(struct __sk_buff *skb) { trail++; return 104; }

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 6);
	__uint(key_size, sizeof(__u32));
	__array(values, int (struct __sk_buff *));
} jumps SEC(".maps") = {
	.values = {
		[3] = &third,
		[4] = &fourth,
	},
};

SEC("socket")
int start(struct __sk_buff *skb)
{
	trail++;
	bpf_tail_call_static(skb, &jumps, 3);
	return 1;
}

SEC("socket")
int by_number(struct __sk_buff *skb)
{
	trail++;
	bpf_tail_call(skb, &jumps, 100);
	out_of_range = 1;
	bpf_tail_call(skb, &jumps, skb->len - 46);
	return 2;
}
