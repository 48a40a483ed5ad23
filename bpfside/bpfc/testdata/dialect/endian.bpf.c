// bpf_endian.h: of variables and of constants, also in case labels and initializers.
// want: v = 0x3412 0x78563412 0xefcdab8967452301 0x1234
// want: c = 0x0008 0x0100007f 0x0800000000000000
// want: sw = 1
// want: table = 0xbb01
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

char LICENSE[] SEC("license") = "GPL";

unsigned long v[4], c[3];
int sw;
volatile unsigned short s = 0x1234;
volatile unsigned int w = 0x12345678;
volatile unsigned long l = 0x0123456789abcdef;
const unsigned short ports[2] = { __bpf_constant_htons(443), 80 };
unsigned short table;

SEC("socket")
int prog(struct __sk_buff *skb)
{
	v[0] = bpf_htons(s);
	v[1] = bpf_ntohl(w);
	v[2] = bpf_cpu_to_be64(l);
	v[3] = bpf_ntohs(bpf_htons(s));
	c[0] = bpf_htons(0x0800);
	c[1] = bpf_htonl(0x7f000001);
	c[2] = bpf_be64_to_cpu(8);
	switch (skb->protocol) {
	case __bpf_constant_htons(0x0800): sw = 2; break;
	case __bpf_constant_htons(0x0c0d): sw = 1; break;
	}
	table = ports[skb->len & 1];
	return 0;
}
