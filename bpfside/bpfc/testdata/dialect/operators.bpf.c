// Compound assignment, increments, the comma, sizeof without evaluation, and the order of
// operators.
// want: ops = 15 5 50 25 4 20 10 2 6 7
// want: incs = 5 7 7 5
// want: comma = 9
// want: side = 0
// want: prec = 14 7 1 -2 6
// want: mixed = 44 -56
// want: lv = 8
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

int ops[10], incs[4], comma, side, prec[5], mixed[2], lv;
signed char sc = 100;
unsigned char uc = 200;

SEC("socket")
int prog(struct __sk_buff *skb)
{
	int x = skb->len - 40, y = 5, a[2] = { 1, 2 }; /* 10 */

	x += 5; ops[0] = x;
	x -= 10; ops[1] = x;
	x *= 10; ops[2] = x;
	x /= 2u; ops[3] = x;
	x %= 7u; ops[4] = x;
	x = 5; x <<= 2; ops[5] = x;
	x >>= 1; ops[6] = x;
	x &= 3; ops[7] = x;
	x |= 4; ops[8] = x;
	x ^= 1; ops[9] = x;
	incs[0] = y++;
	incs[1] = ++y;
	incs[2] = y--;
	incs[3] = --y;
	comma = (y++, y += 1, y + 2);
	(void)sizeof(side++);
	prec[0] = 2 + 3 * 4;
	prec[1] = 1 | 2 ^ 4 & 7;
	prec[2] = 5 & 6 == 6;
	prec[3] = -1 << 1;
	prec[4] = ~0 + 7;
	uc += 100;
	mixed[0] = uc;
	sc += 100;
	mixed[1] = sc;
	a[y - 7] += 6;
	*(a + 1) += a[0];
	lv = a[0] + a[1] - 8;
	return 0;
}
