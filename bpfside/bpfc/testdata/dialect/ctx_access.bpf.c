// Contexts: fields of every width at constant offsets, arrays in them, pointers to packets
// checked against their end, and writes.
// want: len = 50
// want: cb = 7 11
// want: proto = 0x0d0c
// want: bytes = 14 0x100f 0x15141312
// want: copied = 0x1110
// want: tail = 63
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

int len, cb[2], proto, copied, tail;
unsigned int bytes[3];

static __always_inline void *at(struct xdp_md *ctx, int off) { return (void *)(long)ctx->data + off; }

struct head {
	unsigned char a;
	unsigned short b;
	unsigned char c;
	unsigned int d;
} __attribute__((packed));

SEC("socket")
int on_socket(struct __sk_buff *skb)
{
	unsigned char buf[2];

	len = skb->len;
	proto = skb->protocol;
	skb->cb[2] = 7;
	skb->cb[3] = skb->cb[2] + 4;
	for (int i = 0; i < 2; i++)
		cb[i] = i ? skb->cb[3] : skb->cb[2];
	if (bpf_skb_load_bytes(skb, 2, buf, sizeof(buf)) == 0)
		copied = buf[0] | buf[1] << 8;
	return 0;
}

SEC("xdp")
int on_xdp(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	struct head *h = at(ctx, 14);
	unsigned char *p;

	if ((void *)(h + 1) > end)
		return 1;
	bytes[0] = h->a;
	bytes[1] = h->b;
	bytes[2] = h->d;
	p = at(ctx, 63);
	if ((void *)p + 1 <= end)
		tail = *p;
	return 2;
}
