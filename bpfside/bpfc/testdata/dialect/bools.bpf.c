// _Bool: conversion to 0 or 1 from integers, pointers and bit tests; in memory; arithmetic.
// want: b = 1 0 1 1 0 1
// want: size = 1
// want: sum = 3
// want: flip = 0
// want: in_struct = 1
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

_Bool b[6], flip = 1;
int size, sum, in_struct;

struct s { _Bool on : 1; _Bool whole; };

static _Bool has(unsigned int flags, unsigned int bit) { return flags & bit; }

SEC("socket")
int prog(struct __sk_buff *skb)
{
	struct s s = { .on = skb->len, .whole = skb->len & 1 };
	long big = 0x100000000 * skb->len;

	b[0] = skb->len;
	b[1] = skb->len - 50;
	b[2] = big;
	b[3] = &s;
	b[4] = has(0x30, 0x40);
	b[5] = has(0x100, 0x100);
	size = sizeof(_Bool);
	sum = b[0] + b[2] + (_Bool)256;
	flip = !flip;
	in_struct = s.on && !s.whole;
	flip ^= 0;
	return 0;
}
