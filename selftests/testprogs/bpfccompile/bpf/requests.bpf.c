#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/usdt.bpf.h>
#include "urdt.bpf.h"

/* What user space gets of a request. */
struct event {
	__u32 pid;
	__s32 status;
	__u64 count;
	char path[24];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 * 1024);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __s32);
	__type(value, __u64);
} by_status SEC(".maps");

const volatile __s32 min_status = 0;
__u64 seen;

static __u64 count(__s32 status)
{
	__u64 one = 1, *n = bpf_map_lookup_elem(&by_status, &status);

	if (n)
		return __sync_fetch_and_add(n, 1) + 1;
	bpf_map_update_elem(&by_status, &status, &one, BPF_NOEXIST);
	return 1;
}

SEC("urdt/*:2:app:request")
int BPF_URDT(on_request, long status, const char *path)
{
	struct event *e;

	seen++;
	if (status < min_status)
		return 0;
	e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e)
		return 0;
	e->pid = bpf_get_current_pid_tgid() >> 32;
	e->status = status;
	e->count = count(status);
	if (bpf_probe_read_user_str(e->path, sizeof(e->path), path) < 0)
		e->path[0] = '\0';
	bpf_ringbuf_submit(e, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
