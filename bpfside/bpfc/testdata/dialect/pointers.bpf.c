// Pointers: arithmetic of every element size, differences, indexing from both sides,
// pointers to pointers, to arrays, to members; casts; const.
// want: sum = 15
// want: diff = 3 -3 12
// want: back = 4
// want: via = 77
// want: row = 6
// want: member = 9
// want: bytes = 0x44332211
// want: swapped = 2 1
// want: inc = 10 20 30
// want: arr = 30
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

int sum, diff[3], back, via, row, member, swapped[2], inc[3], arr;
unsigned int bytes;
static int table[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } };
unsigned char raw[8] = { 0, 0x11, 0x22, 0x33, 0x44 };

struct s { char a; int b; long c[2]; };

static void swap(int *a, int *b)
{
	int t = *a;

	*a = *b;
	*b = t;
}

static void set(int **at, int *to) { *at = to; }

SEC("socket")
int prog(struct __sk_buff *skb)
{
	int a[5] = { 1, 2, 3, 4, 5 }, *p, *q = a + 3, x = 1, y = 2, *r;
	int (*rows)[3] = table;
	struct s v = { 1, 2, { 3, 9 } }, *sp = &v;
	long *lp = sp->c;
	int tens[3] = { 10, 20, 30 };
	const int *cp = a;
	void *any = &v;

	for (p = a; p < a + 5; p++)
		sum += *p;
	p = a;
	diff[0] = q - p;
	diff[1] = p - q;
	diff[2] = (char *)q - (char *)p;
	back = q[-1] + 1[p] - 1;
	q = &x;
	set(&r, q);
	*r = 77;
	via = x;
	row = (*(rows + 1))[2];
	member = *(lp + 1);
	__builtin_memcpy(&bytes, raw + 1, 4);
	x = 1;
	swap(&x, &y);
	swapped[0] = x;
	swapped[1] = y;
	p = tens;
	inc[0] = *p++;
	inc[1] = *p;
	inc[2] = *++p;
	arr = *(tens + 2);
	sum += *cp - 1 + ((struct s *)any)->b - 2;
	return 0;
}
