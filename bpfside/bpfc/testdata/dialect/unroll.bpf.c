// #pragma unroll, with and without a count, #pragma clang loop, and nounroll.
// want: sum = 36
// want: text = "abcdefg"
// want: cl = 10
// want: part = 120
// want: rolled = 190
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

int sum, cl, part, rolled;
char text[8];

SEC("socket")
int prog(struct __sk_buff *skb)
{
	int a[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };

#pragma unroll
	for (int i = 0; i < 8; i++)
		sum += a[i];
#pragma clang loop unroll(full)
	for (int i = 0; i < 7; i++)
		text[i] = 'a' + i;
	_Pragma("unroll") for (int i = 0; i < 5; i++)
		cl += i;
#pragma unroll 4
	for (int i = 0; i < 16; i++)
		part += i;
#pragma nounroll
	for (int i = 0; i < 20; i++)
		rolled += i;
	return 0;
}
