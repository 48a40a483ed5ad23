// Attributes: packed, aligned, unused, always_inline, noinline.
// want: sizes = 7 8 32 5 16 3
// want: offsets = 1 3 16 4
// want: value = 99
// want: inl = 6
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct packed {
	char c;
	short s;
	int i;
} __attribute__((packed));

struct plain {
	char c;
	short s;
	int i;
};

struct over {
	char c;
	char d __attribute__((aligned(16)));
} __attribute__((aligned(16)));

struct member {
	char c;
	int i __attribute__((packed));
};

struct __attribute__((packed, aligned(4))) both {
	long l;
	char c;
	short t;
	int u;
};

enum __attribute__((packed)) tiny { T0, T1 };

int sizes[6], offsets[4], value, inl;

static __always_inline int in(int x) { return x + 1; }
static __noinline int out(int x) { return x + 2; }
__attribute__((unused)) static int never(void) { return 1; }

SEC("socket")
int prog(struct __sk_buff *skb)
{
	struct packed p = { 1, 2, 3 }, *pp = &p;
	struct over o __attribute__((unused));
	int unused __attribute__((__unused__));
	int aligned __attribute__((aligned(64))) = 1;

	sizes[0] = sizeof(struct packed);
	sizes[1] = sizeof(struct plain);
	sizes[2] = sizeof(struct over);
	sizes[3] = sizeof(struct member);
	sizes[4] = sizeof(struct both);
	sizes[5] = sizeof(enum tiny) * 3;
	offsets[0] = __builtin_offsetof(struct packed, s);
	offsets[1] = __builtin_offsetof(struct packed, i);
	offsets[2] = __builtin_offsetof(struct over, d);
	offsets[3] = __alignof__(struct both);
	pp->i += skb->len;
	value = p.i + p.s + p.c + 43 + aligned - 1;
	inl = in(1) + out(2);
	return 0;
}
