// LRU hash, LPM trie, queue, stack and Bloom filter.
// needs: Linux 6.7, loops whose counter is in the frame (commit 2793a8b015f7)
// want: len(lru) = 1
// want: longest = 24
// want: shorter = 8
// want: none = 1
// want: popped = 1 2 9 8
// want: empty = -2
// want: peeked = 7
// want: maybe = 0
// want: surely_not = -2
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4);
	__type(key, __u8);
	__type(value, __u8);
} lru SEC(".maps");

struct net {
	__u32 prefixlen;
	__u8 addr[4];
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 8);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct net);
	__type(value, int);
} nets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 4);
	__type(value, int);
} queue SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 4);
	__type(value, int);
} stack SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_BLOOM_FILTER);
	__uint(max_entries, 100);
	__uint(map_extra, 3);
	__type(value, __u64);
} bloom SEC(".maps");

int longest, shorter, none, popped[4], empty, peeked, maybe = 1, surely_not;

SEC("raw_tp")
int prog(void *ctx)
{
	__u8 k = 5, v = 6;
	struct net wide = { 8, { 10, 0, 0, 0 } }, narrow = { 24, { 10, 1, 2, 0 } }, host = { 32, { 10, 1, 2, 3 } };
	int len, n, *p;
	__u64 x = 1234567, y = 7654321;

	bpf_map_update_elem(&lru, &k, &v, 0);

	len = 8;
	bpf_map_update_elem(&nets, &wide, &len, 0);
	len = 24;
	bpf_map_update_elem(&nets, &narrow, &len, 0);
	p = bpf_map_lookup_elem(&nets, &host);
	if (p)
		longest = *p;
	host.addr[1] = 7;
	p = bpf_map_lookup_elem(&nets, &host);
	if (p)
		shorter = *p;
	host.addr[0] = 11;
	none = !bpf_map_lookup_elem(&nets, &host);

	for (n = 1; n <= 2; n++)
		bpf_map_push_elem(&queue, &n, 0);
	bpf_map_pop_elem(&queue, &popped[0]);
	bpf_map_pop_elem(&queue, &popped[1]);
	empty = bpf_map_pop_elem(&queue, &n);
	for (n = 7; n <= 9; n++)
		bpf_map_push_elem(&stack, &n, BPF_ANY);
	bpf_map_pop_elem(&stack, &popped[2]);
	bpf_map_pop_elem(&stack, &popped[3]);
	bpf_map_peek_elem(&stack, &peeked);

	bpf_map_push_elem(&bloom, &x, 0);
	maybe = bpf_map_peek_elem(&bloom, &x);
	surely_not = bpf_map_peek_elem(&bloom, &y);
	return 0;
}
