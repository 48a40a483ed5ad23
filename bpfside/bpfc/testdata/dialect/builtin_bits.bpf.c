// Counting ones, and byte order: popcount, parity and bswap, of 32 and 64 bits.
// want: pop = 0 32 8 33 64
// want: odd = 1 0 1
// want: swap16 = 0x3412
// want: swap32 = 0x78563412
// want: swap64 = 0xefcdab8967452301
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

int pop[5], odd[3];
unsigned short swap16;
unsigned int swap32;
unsigned long swap64;
volatile unsigned int w1 = 1, wmid = 0xff0, wzero, wall = 0xffffffff;
volatile unsigned long ltop = 1UL << 63, lall = ~0UL;
volatile unsigned short s = 0x1234;

SEC("socket")
int prog(struct __sk_buff *skb)
{
	pop[0] = __builtin_popcount(wzero);
	pop[1] = __builtin_popcount(wall);
	pop[2] = __builtin_popcount(wmid);
	pop[3] = __builtin_popcountl(lall >> 31);
	pop[4] = __builtin_popcountll(lall);
	odd[0] = __builtin_parity(w1);
	odd[1] = __builtin_parity(wmid);
	odd[2] = __builtin_parityl(ltop);
	swap16 = __builtin_bswap16(s);
	swap32 = __builtin_bswap32(s << 16 | 0x5678);
	swap64 = __builtin_bswap64(0x0123456789abcdefUL + wzero);
	_Static_assert(__builtin_popcount(0xff) == 8 && __builtin_bswap16(1) == 256, "constants");
	return 0;
}
