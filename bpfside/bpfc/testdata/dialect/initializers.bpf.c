// Initializers: nested, designated, ranges of arrays, strings, partly given, of locals and
// of globals; compound literals.
// want: matrix = 1 2 0 4 0 0 0 0 9
// want: sparse = 0 0 5 6 0 8 8 8 0 3
// want: words[0] = "one"
// want: n.in.b = 4
// want: n.in.c = 5 6 0
// want: n.tail = 9
// want: sum = 35
// want: lit = 6
// want: dims = 3 4
// want: last = 7
// want: local_zero = 0
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct nested {
	char a;
	struct { int b; short c[3]; } in;
	long tail;
};

int matrix[3][3] = { { 1, 2 }, { 4 }, { [2] = 9 } };
int sparse[10] = { [2] = 5, 6, [5 ... 7] = 8, [9] = 3 };
char words[][5] = { "one", "two", { 't', 'h', 'r', 'e', 'e' } };
struct nested n = { 1, .in.b = 4, .in.c = { 5, 6 }, .tail = 9 };
int sum, lit, dims[2], last, local_zero = 1;
const struct nested constant[2] = { [1] = { .in = { 7 } } };

static int add(struct nested *p) { return p->a + p->in.b + p->in.c[1]; }

SEC("socket")
int prog(struct __sk_buff *skb)
{
	int k = skb->len - 50; /* 0 */
	struct nested local = { .in = { .b = k + 3, .c = { [1] = k + 20 } }, .a = 2 };
	int part[6] = { k + 1, 2, [4] = 3 };
	char s[8] = "abc";

	for (int i = 0; i < 6; i++)
		sum += part[i];
	sum += add(&local) + s[1] - 'b' + s[7];
	sum += ((struct nested){ .tail = 4 }).tail;
	lit = add(&(struct nested){ 1, { 2, { 9, 3 } } });
	dims[0] = sizeof(words) / sizeof(words[0]);
	dims[1] = ((int[]){ 3, 4, k + 5 })[1];
	last = constant[1].in.b;
	local_zero = local.tail + s[4] + part[5];
	return 0;
}
