// typeof of types and expressions, __typeof__, __auto_type; the expression is not evaluated.
// want: size = 8 1 12 4
// want: side = 0
// want: auto_sum = 16
// want: neg = -1
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

int size[4], side, auto_sum;
long neg;

struct s { int a[3]; };

SEC("syscall")
int prog(void *ctx)
{
	long l = 1;
	typeof(l) m = 2;
	__typeof__(struct s) t = { { 1, 2, 3 } };
	typeof(&t) p = &t;
	__auto_type v = p->a[1] + 2L;
	typeof(side++) w = 3;
	typeof(p->a) arr = { 4, 5 };
	unsigned char ch = -1;
	typeof(ch) ch2 = 255;
	typeof(+ch) wide = -1;

	size[0] = sizeof(m + l);
	size[1] = sizeof(ch2);
	size[2] = sizeof(arr);
	size[3] = sizeof(wide);
	auto_sum = v + w + m + arr[1] + l + (ch2 == ch) - 1 + p->a[0];
	neg = wide;
	return 0;
}
