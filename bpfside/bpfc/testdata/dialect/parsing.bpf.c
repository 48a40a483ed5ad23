// What programs do: parse a packet with checks of its end, hash, format, compare names, and
// count in a map by a key that is a structure.
// run: on_xdp
// run: on_xdp
// want: ports = 0x2223 0x2425
// want: hash = 1385979454
// want: hex = "00 0f 1e 2d"
// want: same = 1 0
// want: len(flows) = 1
// want: seen = 2
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

#include <bpf/bpf_endian.h>

struct eth {
	__u8 dst[6], src[6];
	__be16 proto;
} __attribute__((packed));

struct ip {
	__u8 ihl : 4, version : 4;
	__u8 tos;
	__be16 len;
	__be16 id, frag;
	__u8 ttl, proto;
	__u16 check;
	__be32 saddr, daddr;
};

struct flow {
	__be32 addr[2];
	__be16 port[2];
	__u8 proto;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16);
	__type(key, struct flow);
	__type(value, __u64);
} flows SEC(".maps");

unsigned int hash;
unsigned short ports[2];
char hex[16];
int same[2];
long seen;

static __always_inline int digit(int n) { return n < 10 ? '0' + n : 'a' + n - 10; }

static int equal(const char *a, const char *b, int n)
{
	for (int i = 0; i < n; i++) {
		if (a[i] != b[i])
			return 0;
		if (!a[i])
			break;
	}
	return 1;
}

static __noinline unsigned int fnv(const struct flow *f)
{
	const __u8 *p = (const void *)f;
	unsigned int h = 0x811c9dc5;

	for (int i = 0; i < 13; i++) {
		h ^= p[i];
		h *= 0x01000193;
	}
	return h;
}

SEC("xdp")
int on_xdp(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct eth *e = data;
	struct ip *ip = (void *)(e + 1);
	struct flow f = {};
	__be16 *port;
	__u64 one = 1, *count;
	char a[8] = "nopfire", b[8] = "nopfir", c[8] = "nopfire";

	if ((void *)(ip + 1) > end)
		return XDP_ABORTED;
	port = (void *)(ip + 1);
	if ((void *)(port + 2) > end)
		return XDP_ABORTED;
	f.addr[0] = ip->saddr;
	f.addr[1] = ip->daddr;
	f.port[0] = port[0];
	f.port[1] = port[1];
	f.proto = ip->ihl == 14 && ip->version == 0 ? ip->proto : 0;
	ports[0] = bpf_ntohs(f.port[0]);
	ports[1] = bpf_ntohs(f.port[1]);
	hash = fnv(&f);
	count = bpf_map_lookup_elem(&flows, &f);
	if (count)
		seen = ++*count;
	else
		bpf_map_update_elem(&flows, &f, &one, BPF_ANY);
	for (int i = 0; i < 4; i++) {
		int n = i * 15;

		hex[i * 3] = digit(n >> 4);
		hex[i * 3 + 1] = digit(n & 15);
		if (i < 3)
			hex[i * 3 + 2] = ' ';
	}
	same[0] = equal(a, c, 8);
	same[1] = equal(a, b, 8);
	return XDP_PASS;
}
