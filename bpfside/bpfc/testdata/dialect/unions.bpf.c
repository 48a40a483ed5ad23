// Unions: members over one another, anonymous ones, in structures and as initializers.
// want: word = 0x04030201
// want: half = 0x0302
// want: first = 7
// want: anon = 10 11 5
// want: low = 0x11223344
// want: high = 0xaabbccdd
// want: size = 8 24
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

union bytes {
	unsigned char b[4];
	unsigned int w;
	struct { unsigned char x; unsigned short h; } __attribute__((packed)) p;
};

struct tagged {
	int kind;
	union {
		long number;
		char text[8];
		struct { int a, b; };
	};
	union { short s; int i; } named;
};

unsigned int word, half, low, high;
int first, anon[3], size[2];
union { int i; long l; } init = { .i = 7 };
struct tagged table[2] = { { 1, { .a = 10, .b = 11 } }, { 2, { 5 }, { .i = 9 } } };

SEC("socket")
int prog(struct __sk_buff *skb)
{
	union bytes u = { { 1, 2, 3, 4 } };
	struct tagged t = { .kind = 3, .number = 0x1122334455667788 };
	union { unsigned long l; struct { unsigned int lo, hi; }; } split = { 0xaabbccdd11223344 };

	word = u.w;
	half = u.p.h;
	first = init.i;
	for (int i = 0; i < 2; i++)
		anon[i] = i ? table[0].b : table[0].a;
	anon[2] = table[skb->len == 50].number;
	low = split.lo;
	high = split.hi;
	size[0] = sizeof(split);
	size[1] = sizeof(struct tagged);
	t.a++;
	if (t.text[0] != (char)0x89)
		size[1] = 0;
	return 0;
}
