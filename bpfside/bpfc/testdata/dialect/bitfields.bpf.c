// Bit-fields: unsigned and signed, crossing bytes, zero width, of several types, compound
// assignment, in memory of a map and on the stack.
// want: size = 8 8 2 16
// want: s1 = -1
// want: s2 = -4
// want: u = 5 255 1 3
// want: raw = 0x5f2d
// want: wide = 0x1ffffffff
// want: neg = -3
// want: kept = 1
// want: inc = 0
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct bits {
	unsigned int a : 3;
	unsigned int b : 8;
	unsigned int c : 1;
	signed int d : 3;
	int : 0;
	unsigned char e : 2;
};

struct signs {
	int s1 : 1;
	int s2 : 3;
	long wide : 33;
	_Bool flag : 1;
};

struct zero {
	unsigned char x : 4;
	unsigned char : 0;
	unsigned char y : 4;
};

struct mixed {
	short h : 5;
	unsigned long w : 40;
	char c;
};

int size[4], s1, s2, u[4], neg, kept, inc;
unsigned int raw;
unsigned long wide;
struct bits g = { .a = 5, .b = 1, .c = 1, .d = -3, .e = 3 };

SEC("socket")
int prog(struct __sk_buff *skb)
{
	struct bits x = { 0 };
	struct signs s = {};
	struct mixed m = { -1, 0x1ffffffff, 'c' };

	size[0] = sizeof(struct bits);
	size[1] = sizeof(struct signs);
	size[2] = sizeof(struct zero);
	size[3] = sizeof(struct mixed) + (sizeof(struct mixed) == 8 ? 8 : 0);
	s.s1 = 1;
	s1 = s.s1;
	s.s2 = skb->len - 46;
	s2 = s.s2;
	s.flag = 8;
	x.a = skb->len - 45;
	x.b = skb->len + 461;
	x.c = s.flag;
	x.e = skb->len - 43;
	u[0] = x.a;
	u[1] = x.b;
	u[2] = x.c;
	u[3] = x.e;
	g.b += 100;
	g.b ^= 0x80;
	raw = *(unsigned short *)&g;
	wide = m.w;
	neg = g.d;
	kept = m.h == -1 && m.c == 'c' && g.a == 5;
	x.a = 7;
	inc = ++x.a;
	x.a--;
	kept = kept && x.a == 7;
	return 0;
}
