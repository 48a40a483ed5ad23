// Signed division and remainder, toward zero: by constants, by powers of two
// and by variables, of 32 and 64 bits.
// clang: none, clang-14 has no signed division for BPF
// want: s = -14 -2 14 -14 2 3
// want: l = -1234567890123 -7 1 9
// want: power = -3 -1 15 -8
// want: narrow = -42 1
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

int s[6], power[4];
long l[4];
signed char narrow[2];
volatile int n = -100, seven = 7, minus = -7;
volatile long big = -12345678901237, ten = 10;
volatile signed char c = -127;

SEC("socket")
int prog(struct __sk_buff *skb)
{
	s[0] = n / seven;
	s[1] = n % seven;
	s[2] = n / minus;
	s[3] = -n / minus;
	s[4] = -n % minus;
	s[5] = n / -30;
	l[0] = big / ten;
	l[1] = big % ten;
	l[2] = big / big;
	l[3] = (unsigned long)-big % 7 + 6;
	power[0] = n / 32;
	power[1] = (n + 1) % 2;
	power[2] = (unsigned int)n % 16 + 3;
	power[3] = (n + 68 - 31) / 8 + -1;
	narrow[0] = c / 3;
	narrow[1] = c % 2 + 2;
	return 0;
}
