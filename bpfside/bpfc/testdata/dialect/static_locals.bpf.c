// Static variables of functions keep their values, and each function has its own.
// run: prog
// run: prog
// run: prog
// want: calls = 3
// want: other = 30
// want: table_at = 9
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

int calls, other, table_at;

static int count(void)
{
	static int n;

	return ++n;
}

static int count_tens(int step)
{
	static int n = 0;
	static const int table[4] = { 0, 9, 18, 27 };

	n += step;
	table_at = table[step & 1];
	return n * 10;
}

SEC("syscall")
int prog(void *ctx)
{
	calls = count();
	other = count_tens(1);
	return 0;
}
