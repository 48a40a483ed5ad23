// Comparisons and logic: all operators by sign and width, short circuit, !, !!, ?:, the
// conditional without a middle.
// want: s = 45
// want: us = 26
// want: order = 12
// want: nots = 0 1 1 0
// want: tern = 5 6 -1 0xff
// want: elvis = 9 3
// want: chain = 2
// want: ptr = 11
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

int s, us, order, nots[4], tern[4], elvis[2], chain, ptr;
volatile int m = -1, z = 0, p = 1;
volatile unsigned int um = 0xffffffff;
volatile long lm = -1;

static int note(int n, int result)
{
	order = order * 10 + n;
	return result;
}

SEC("socket")
int prog(struct __sk_buff *skb)
{
	char buf[4], *start = buf, *end = buf + 4, *null = 0;

	s = (m < z) << 0 | (m > z) << 1 | (m <= m) << 2 | (m >= m) << 3 | (m == z) << 4 | (m != z) << 5;
	us = (um < 1u) << 0 | (um > 1u) << 1 | (um <= 1u) << 2 | (um >= 1u) << 3 | ((unsigned long)lm > um) << 4 | (um == (unsigned int)z) << 5;
	if (note(1, 0) && note(3, 1))
		order = -1;
	if (note(2, 1) || note(4, 1))
		order += 0;
	nots[0] = !m;
	nots[1] = !z;
	nots[2] = !!m;
	nots[3] = !start;
	tern[0] = m < 0 ? 5 : 6;
	tern[1] = um < 1 ? 5 : 6;
	tern[2] = z ? 1 : p ? m : 2;
	tern[3] = (p ? (unsigned char)m : m);
	elvis[0] = z ?: 9;
	elvis[1] = (p + 2) ?: 9;
	chain = z == 0 && p == 1 && (m || z) && !(z || 0) ? 2 : 0;
	ptr = (start < end) | (end - start == 4) << 1 | (null != 0) << 2 | (start + 4 == end) << 3;
	return 0;
}
