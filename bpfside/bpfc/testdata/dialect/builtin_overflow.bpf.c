// __builtin_add_overflow, sub and mul: of equal and of mixed types.
// want: over = 0 1 0 1 1 0 1 0
// want: sum = -2147483648
// want: diff = 0xffffffff
// want: prod = 0x100000000
// want: lprod = 6000000000
// want: small = 44
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

int over[8], sum;
unsigned int diff;
unsigned long prod;
long lprod;
unsigned char small;
volatile int imax = 0x7fffffff, one = 1, i3 = 300;
volatile unsigned int uzero, u64k = 65536;
volatile long big = 3000000000, lmax = 0x7fffffffffffffff;

SEC("socket")
int prog(struct __sk_buff *skb)
{
	int r;
	long l;
	unsigned int u;

	over[0] = __builtin_add_overflow(one, 2, &r);
	over[1] = __builtin_add_overflow(imax, one, &sum);
	over[2] = __builtin_sub_overflow(one, 5, &r);
	over[3] = __builtin_sub_overflow(uzero, 1u, &diff);
	over[4] = __builtin_mul_overflow(u64k, u64k, &u);
	over[5] = __builtin_mul_overflow(u64k, u64k, &prod);
	over[6] = __builtin_add_overflow(i3, 0, &small);
	over[7] = __builtin_mul_overflow(big, 2l, &lprod);
	if (!__builtin_add_overflow(lmax, (long)one, &l))
		over[7] = 9;
	return 0;
}
