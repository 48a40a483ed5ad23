// Maps of devices, CPUs, sockets and cgroups, of user space's ring buffer and of storages:
// they are made, and the programs that use them load.
// needs: Linux 6.2, storage of cgroups
// run: prog
// run: on_tc
// want: missing = 1
// want: drained = 0
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

#define PLAIN(kind, name, size) struct { \
	__uint(type, kind); \
	__uint(max_entries, 4); \
	__uint(key_size, 4); \
	__uint(value_size, size); \
} name SEC(".maps")

PLAIN(BPF_MAP_TYPE_DEVMAP, devmap, 4);
PLAIN(BPF_MAP_TYPE_DEVMAP_HASH, devmap_hash, 8);
PLAIN(BPF_MAP_TYPE_CPUMAP, cpumap, 4);
PLAIN(BPF_MAP_TYPE_SOCKMAP, sockmap, 8);
PLAIN(BPF_MAP_TYPE_SOCKHASH, sockhash, 8);
PLAIN(BPF_MAP_TYPE_CGROUP_ARRAY, cgroups, 4);
PLAIN(BPF_MAP_TYPE_REUSEPORT_SOCKARRAY, reuseport, 8);

struct {
	__uint(type, BPF_MAP_TYPE_USER_RINGBUF);
	__uint(max_entries, 4096);
} user_ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_CGRP_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, long);
} per_cgroup SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_STORAGE);
	__type(key, struct bpf_cgroup_storage_key);
	__type(value, long);
} storage SEC(".maps");

int missing;
long drained = -1;

SEC("xdp")
int prog(struct xdp_md *ctx)
{
	int key = 2;

	missing = !bpf_map_lookup_elem(&devmap, &key);
	if (ctx->rx_queue_index > 1000)
		return bpf_redirect_map(&cpumap, key, 0) + bpf_redirect_map(&devmap_hash, key, XDP_DROP);
	return XDP_PASS;
}

static long sample(struct bpf_dynptr *data, void *ctx)
{
	return 0;
}

SEC("tc")
int on_tc(struct __sk_buff *skb)
{
	drained = bpf_user_ringbuf_drain(&user_ring, sample, 0, 0);
	return bpf_skb_under_cgroup(skb, &cgroups, 3) == 1;
}

SEC("cgroup_skb/egress")
int on_cgroup(struct __sk_buff *skb)
{
	long *n = bpf_get_local_storage(&storage, 0);

	__sync_fetch_and_add(n, 1);
	return 1;
}

SEC("sk_msg")
int on_msg(struct sk_msg_md *msg)
{
	int key = 1;

	return bpf_msg_redirect_map(msg, &sockmap, key, 0) + bpf_msg_redirect_hash(msg, &sockhash, &key, 0);
}

SEC("sk_reuseport")
int on_reuseport(struct sk_reuseport_md *ctx)
{
	int key = 0;

	return bpf_sk_select_reuseport(ctx, &reuseport, &key, 0) == 0 ? SK_PASS : SK_DROP;
}
