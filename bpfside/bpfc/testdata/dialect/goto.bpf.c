// goto: forwards to an error path, out of nested loops, backwards as a bounded loop, into
// a block.
// want: path = 3
// want: found = 12
// want: again = 5
// want: into = 9
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

int path, found, again, into;

static int steps(int n)
{
	int r = 0;

	if (n > 40)
		goto undo;
	r += 100;
undo:
	r += 1;
	if (n > 60)
		goto end;
	r += 2;
end:
	return r;
}

SEC("socket")
int prog(struct __sk_buff *skb)
{
	int i, j, n = 0;

	path = steps(skb->len);
	for (i = 0; i < 5; i++)
		for (j = 0; j < 5; j++)
			if (i * j == 12 && i < 4)
				goto out;
out:
	found = i * j;
repeat:
	n++;
	if (n < 5)
		goto repeat;
	again = n;
	if (skb->len == 50)
		goto inside;
	if (skb->len > 50) {
		into = 1;
inside:
		into += 9;
	}
	return 0;
}
