// Counting zeros: clz, ctz and ffs of 32 and 64 bits, and of constants.
// clang: none, clang-14 cannot select them for BPF
// want: lead = 31 0 20 63 40
// want: trail = 0 31 4 40 63
// want: first = 0 1 32 41
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

int lead[5], trail[5], first[4];
volatile unsigned int w1 = 1, wtop = 0x80000000, wmid = 0xff0, wzero;
volatile unsigned long l1 = 1, l40 = 1UL << 40, lmid = 0xffffff, ltop = 1UL << 63;

SEC("socket")
int prog(struct __sk_buff *skb)
{
	lead[0] = __builtin_clz(w1);
	lead[1] = __builtin_clz(wtop);
	lead[2] = __builtin_clz(wmid);
	lead[3] = __builtin_clzl(l1);
	lead[4] = __builtin_clzll(lmid);
	trail[0] = __builtin_ctz(w1);
	trail[1] = __builtin_ctz(wtop);
	trail[2] = __builtin_ctz(wmid);
	trail[3] = __builtin_ctzl(l40);
	trail[4] = __builtin_ctzll(ltop);
	first[0] = __builtin_ffs(wzero);
	first[1] = __builtin_ffs(w1);
	first[2] = __builtin_ffs(wtop);
	first[3] = __builtin_ffsl(l40);
	_Static_assert(__builtin_ctz(8) == 3 && __builtin_clz(1) == 31 && __builtin_ffs(6) == 2, "constants");
	return 0;
}
