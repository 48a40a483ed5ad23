// Unsigned division and remainder: by constants, by powers of two and by variables, of
// 32 and 64 bits.
// want: u = 14 2 0x19999999 0 15
// want: l = 0x1999999999999999 5 6
// want: narrow = 85 1
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

unsigned int u[5];
unsigned long l[3];
unsigned char narrow[2];
volatile unsigned int a = 100, b = 7, all = 0xffffffff;
volatile unsigned long big = ~0UL, ten = 10;
volatile unsigned char c = 255;

SEC("socket")
int prog(struct __sk_buff *skb)
{
	u[0] = a / b;
	u[1] = a % b;
	u[2] = all / 10;
	u[3] = all % 5;
	u[4] = all % 16;
	l[0] = big / ten;
	l[1] = big % ten;
	l[2] = (big >> 3) % 8 - 1;
	narrow[0] = (unsigned int)c / 3;
	narrow[1] = (unsigned int)c % 2;
	return 0;
}
