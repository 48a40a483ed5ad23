// BPF_PROG2: parameters of any size, structures by value among them, from the words of
// the context.
// run: raw ctx=1,2,3,4,0x2a,0xfffffffffffffffe
// want: raw() = 0
// want: got = 1 2 3 4 42 -2
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

struct small {
	int a;
};

struct large {
	long a, b;
};

long got[6];

SEC("raw_tp")
int BPF_PROG2(raw, struct small, s, struct large, l, long, n, char, c, short, t)
{
	got[0] = s.a;
	got[1] = l.a;
	got[2] = l.b;
	got[3] = n;
	got[4] = c;
	got[5] = t;
	return 0;
}
