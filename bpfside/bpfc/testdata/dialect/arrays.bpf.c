// Arrays: of several dimensions, of structures, with a variable index that is bounded, as
// parameters, and one whose length comes from its initializer.
// want: grid = 0 1 2 3 10 11 12 13 20 21 22 23
// want: total = 138
// want: picked = 7 0
// want: len = 4 7 24
// want: hist = 0 2 1 0
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct cell { short v; char pad; };

int grid[3][4], total, picked[2], len[3], hist[4];
int odd[] = { 1, 3, 5, 7 };
char text[] = "length";
struct cell cells[2][3];

static int sum(int a[], int n)
{
	int s = 0;

	for (int i = 0; i < n; i++)
		s += a[i];
	return s;
}

SEC("socket")
int prog(struct __sk_buff *skb)
{
	unsigned int i = skb->len - 47, j = 5; /* 3 */
	long local[4][2] = {};

	for (int r = 0; r < 3; r++)
		for (int c = 0; c < 4; c++)
			grid[r][c] = 10 * r + c;
	for (int r = 0; r < 3; r++)
		total += sum(grid[r], 4);
	picked[0] = odd[i & 3];
	if (i < 4)
		picked[1] = local[i][1];
	len[0] = sizeof(odd) / sizeof(*odd);
	len[1] = sizeof(text);
	len[2] = sizeof(cells);
	cells[1][2].v = 4;
	hist[(skb->len >> 4) & 1]++;
	hist[(skb->len >> 5) & 1]++;
	hist[((skb->len >> 4) - 1) & 3]++;
	j = cells[1][2].v;
	total += j - 4;
	return 0;
}
