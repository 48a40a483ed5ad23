// SPDX-License-Identifier: MIT OR GPL-2.0
// Counts what fires, by both hashes, without a loss. User space makes the entries
// that it expects; what has none counts as unknown.
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#define URDT_LEAN
#include "urdt.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u64);
} by_hashes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u64);
} by_cookie SEC(".maps");

__u64 unknown;

// Attached to every site of the arity.
SEC("usdt")
int all(struct pt_regs *ctx)
{
	__u64 key = (__u64)bpf_urdt_hash2(ctx) << 32 | bpf_urdt_hash(ctx);
	__u64 *n = bpf_map_lookup_elem(&by_hashes, &key);

	if (n)
		__sync_fetch_and_add(n, 1);
	else
		__sync_fetch_and_add(&unknown, 1);
	return 0;
}

// Attached to single names; the cookie says where to count.
SEC("urdt")
int BPF_URDT(one, long round)
{
	__u32 i = bpf_urdt_cookie(ctx);
	__u64 *n = bpf_map_lookup_elem(&by_cookie, &i);

	if (n)
		__sync_fetch_and_add(n, 1);
	return 0;
}

char _license[] SEC("license") = "Dual MIT/GPL";
