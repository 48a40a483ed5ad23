// __builtin_memcmp of any constant size, for order as well as for equality.
// clang: none, clang-14 calls a function memcmp for these
// want: order = 0 -1 1 0 -1
// want: first = 1
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

int order[5], first;
char left[13] = "same as thet", right[13] = "same as thee", high[2] = { (char)0x80, 0 }, low[2] = { 1, 0 };

static int sign(int n) { return n < 0 ? -1 : n > 0; }

SEC("socket")
int prog(struct __sk_buff *skb)
{
	order[0] = sign(__builtin_memcmp(left, right, 11));
	order[1] = sign(__builtin_memcmp(right, left, 12));
	order[2] = sign(__builtin_memcmp(left + 5, right + 5, 7));
	order[3] = sign(__builtin_memcmp(left, right, 0));
	/* The bytes are compared without their signs. */
	order[4] = sign(__builtin_memcmp(low, high, 2));
	first = __builtin_memcmp(high, low, 1) > 0;
	return 0;
}
