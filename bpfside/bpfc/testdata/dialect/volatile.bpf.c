// volatile: every access takes place; barriers; the compiler does not assume values.
// want: reads = 3
// want: written = 5
// want: hidden = 10
// want: fresh = 1
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

volatile int cell = 1;
int reads, written, hidden, fresh;

SEC("socket")
int prog(struct __sk_buff *skb)
{
	int n = 10;
	volatile int local = 3;
	volatile struct { int a; short b; } v = { 4, 1 };

	reads = cell + cell + cell;
	cell = 2;
	cell = 5;
	written = cell;
	barrier();
	barrier_var(n);
	hidden = n;
	local++;
	v.a -= 3;
	asm volatile("" : : "r"(n) : "memory");
	fresh = local == 4 && v.a == 1 && v.b == 1;
	return 0;
}
