// Storage classes and qualifiers: const, restrict, register, extern of a later definition,
// tentative definitions, inline, typedefs of every kind, function types.
// want: sum = 28
// want: later = 6
// want: tentative = 4
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

typedef unsigned int uint;
typedef int row[3];
typedef struct { row r; } grid;
typedef int fn(int);
typedef int (*binary)(int, int);

extern int later;
int tentative;
int tentative;
int sum;

static fn twice;
static const uint three = 3;

static int get(const int *restrict p, register int n) { return p[n]; }
static int twice(int n) { return n * 2; }

SEC("socket")
int prog(struct __sk_buff *skb)
{
	grid g = { { 1, 2, 3 } };
	row r = { 4, 5, 6 };
	const int *const p = r;
	auto int local = 7;

	sum = get(p, 1) + twice(g.r[2]) + three + local + (int)sizeof(binary) - 1;
	later += skb->len - 49;
	tentative += 4;
	return 0;
}

int later = 5;
