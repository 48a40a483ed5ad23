// Shifts: logical and arithmetic, by constants and variables, of every width.
// want: left = 16 0x80000000 0x8000000000000000 0x1f0
// want: logical = 0x0fffffff 1 0x7fffffffffffffff 0xf
// want: arith = -1 -1 -8 -16 -1
// want: var = 0x20 -4 0x100000000
// want: comp = 12 -3 6
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

unsigned long left[4], logical[4];
long arith[5], var[3];
int comp[3];
volatile unsigned int u = 0xffffffff, one = 1;
volatile int neg = -32, n = 5;
volatile unsigned long ul = ~0UL;
volatile long sl = -32;
volatile signed char c = -1;
volatile unsigned char uc = 0xf8;

SEC("socket")
int prog(struct __sk_buff *skb)
{
	int a = 3, b = -23;
	unsigned short s = 0x60;

	left[0] = one << 4;
	left[1] = one << 31;
	left[2] = (unsigned long)one << 63;
	left[3] = uc << 1;
	logical[0] = u >> 4;
	logical[1] = u >> 31;
	logical[2] = ul >> 1;
	logical[3] = uc >> 4;
	arith[0] = neg >> 31;
	arith[1] = c >> 3;
	arith[2] = neg >> 2;
	arith[3] = sl >> 1;
	arith[4] = sl >> 63;
	var[0] = one << n;
	var[1] = neg >> (n - 2);
	var[2] = 1L << (n + 27);
	a <<= 2;
	b >>= 3;
	s >>= 4;
	comp[0] = a;
	comp[1] = b;
	comp[2] = s;
	return 0;
}
