// Dynptrs, which are plain helpers: over a value of a map, and over a ring buffer.
// want: err = 0 0 0
// want: got = 77
// want: beyond = -7
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, char[32]);
} room SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} events SEC(".maps");

long err[3] = { -1, -1, -1 }, beyond;
int got;

SEC("raw_tp")
int prog(void *ctx)
{
	struct bpf_dynptr mem, ring;
	__u32 key = 0;
	int in = 77;
	char *value = bpf_map_lookup_elem(&room, &key);

	if (!value)
		return 1;
	err[0] = bpf_dynptr_from_mem(value, 32, 0, &mem);
	err[1] = bpf_dynptr_write(&mem, 28, &in, sizeof(in), 0);
	beyond = bpf_dynptr_write(&mem, 29, &in, sizeof(in), 0);
	got = *(int *)(value + 28);
	err[2] = bpf_ringbuf_reserve_dynptr(&events, 8, 0, &ring);
	int *p = bpf_dynptr_data(&ring, 4, 4);

	if (p)
		*p = 5;
	bpf_ringbuf_submit_dynptr(&ring, 0);
	return 0;
}
