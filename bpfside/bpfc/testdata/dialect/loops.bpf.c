// Loops: for, while, do, nested, with break and continue, several variables, an empty body,
// counting down, and bounds that are known when the program runs.
// want: up = 45
// want: down = 55
// want: dw = 3
// want: w = 64
// want: skip = 25
// want: nest = 9
// want: two = 30
// want: run = 1225
// want: stop = 7
// want: long_loop = 499500
// want: edge = 1
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

int up, down, dw, w, skip, nest, two, run, stop, long_loop, edge;

SEC("socket")
int prog(struct __sk_buff *skb)
{
	int i, j;
	unsigned int n = skb->len;

	for (i = 0; i < 10; i++)
		up += i;
	for (i = 10; i > 0; i--)
		down += i;
	i = 0;
	do
		i++;
	while (i < 3);
	dw = i;
	i = 1;
	while (i < 50)
		i *= 2;
	w = i;
	for (i = 0; ; i++) {
		if (i >= 10)
			break;
		if (!(i & 1))
			continue;
		skip += i;
	}
	for (i = 0; i < 3; i++)
		for (j = 0; j < 10; j++) {
			if (j == 3)
				break;
			nest++;
		}
	for (i = 0, j = 10; i < j; i++, j--)
		two += j - i;
	if (n > 100)
		return 1;
	for (i = 0; i < n; i++)
		run += i;
	for (j = 0; j < 100 && j * j < n - 1; j++)
		;
	stop = j;
	for (i = 0; i < 1000; i++)
		long_loop += i;
	for (unsigned char c = 250; c; c++)
		edge = c == 255;
	for (i = 5; i < 5; i++)
		edge = 0;
	return 0;
}
