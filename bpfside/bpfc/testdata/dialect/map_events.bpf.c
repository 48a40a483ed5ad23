// Ring buffers: reserve, submit, discard, output, query, a dynptr; perf event and stack
// trace maps, which need an event to be filled.
// want: submitted = 1
// want: output_err = 0
// want: queried = 4096
// want: avail = 56
// want: perf_err = -2
// want: full = 1
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct event {
	__u32 pid;
	char comm[12];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(int));
	__uint(value_size, sizeof(int));
} perf SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 16);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, 20 * sizeof(__u64));
} stacks SEC(".maps");

int submitted, full;
long output_err = -1, queried, avail, perf_err;

SEC("raw_tp")
int prog(void *ctx)
{
	struct event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0), local = { 3, "local" };
	char byte = 1;

	if (!e)
		return 1;
	e->pid = 7;
	__builtin_memcpy(e->comm, "hello", 6);
	submitted = e->pid == 7 && e->comm[4] == 'o';
	bpf_ringbuf_submit(e, 0);
	e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (e)
		bpf_ringbuf_discard(e, BPF_RB_NO_WAKEUP);
	output_err = bpf_ringbuf_output(&events, &byte, sizeof(byte), BPF_RB_FORCE_WAKEUP);
	queried = bpf_ringbuf_query(&events, BPF_RB_RING_SIZE);
	avail = bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) - 8;
	e = bpf_ringbuf_reserve(&events, 4096, 0);
	full = !e;
	if (e)
		bpf_ringbuf_discard(e, 0);
	perf_err = bpf_perf_event_output(ctx, &perf, BPF_F_CURRENT_CPU, &local, sizeof(local));
	bpf_get_stackid(ctx, &stacks, BPF_F_FAST_STACK_CMP);
	return 0;
}
