// bpf_printk with few and with many values, BPF_SNPRINTF.
// want: few = 8
// want: many = 1
// want: text = "a=1 b=-2 c=3000000000 s=str p"
// want: len = 30
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

int few, many, len;
char text[40];
static const char str[] = "str";

SEC("syscall")
int prog(void *ctx)
{
	int minus = -2;

	few = bpf_printk("dialect\n") > 0 ? 8 : 0;
	bpf_printk("dialect %d %s", 1, "x");
	many = bpf_printk("dialect %d %d %d %d %d", 1, 2, 3, 4, 5) > 0;
	len = BPF_SNPRINTF(text, sizeof(text), "a=%d b=%d c=%llu s=%s %c", 1, minus, 3000000000ULL, str, 'p');
	return 0;
}
