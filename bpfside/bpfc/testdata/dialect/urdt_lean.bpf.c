// BPF_URDT in the lean style: the arguments stand in registers, and no map is looked at.
// attach: on_name cookie=0x0000000100000009
// want: hits = 1
// want: count = 2
// want: args = 2 12
// want: hash = 1
// want: cookie = 9
#define URDT_LEAN
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "urdt.bpf.h"

char LICENSE[] SEC("license") = "GPL";

int hits, count;
long args[2];
unsigned int hash, cookie;

SEC("uprobe")
int BPF_URDT(on_name, long a, long b)
{
	long second;

	hits++;
	count = bpf_urdt_arg_cnt(ctx);
	args[0] = a;
	/* rdx is Go's own: what stands there is chance, and only that it can be read counts. */
	args[1] = bpf_urdt_arg(ctx, 1, &second) == 0 && second == b ? 12 : 0;
	hash = bpf_urdt_hash(ctx);
	cookie = bpf_urdt_cookie(ctx);
	return 0;
}
