// The preprocessor: conditions, pasting, text of arguments, variadic macros of both kinds,
// counting arguments, an include of its own that is guarded, __COUNTER__, __LINE__.
// want: sum = 10
// want: text = "a + b"
// want: pasted = 33
// want: counts = 0 1 3
// want: included = 77
// want: defined = 1
// want: next = 1
// want: line = 1
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

#include "dialect.h"
#include "dialect.h"

#define ADD(first, ...) first + SUM(__VA_ARGS__)
#define SUM(a, b, c) a + b + c
#define NAMED(x, args...) add(x, ##args)
#define TEXT(x) #x
#define PASTE(a, b) a ## b
#define COUNT(...) NTH(_, ##__VA_ARGS__, 3, 2, 1, 0)
#define NTH(_, _1, _2, _3, n, ...) n

#if defined(__BPF__) && !defined(NOT_THERE) && (1 + 2 * 3 == 7) && __has_include("dialect.h")
#define DEFINED 1
#elif 1
#error "not taken"
#endif

int sum, pasted, counts[3], included, defined, next, line;
char text[8] = TEXT(a + b);

static int add(int a, int b) { return a + b; }
static int zero(int a) { return a; }

SEC("socket")
int prog(struct __sk_buff *skb)
{
	int value33 = 33, a = __COUNTER__, b = __COUNTER__;

	sum = ADD(1, 2, 3, NAMED(1, 3));
	pasted = PASTE(value, 33);
	counts[0] = COUNT();
	counts[1] = COUNT(x);
	counts[2] = COUNT(x, y, z);
	included = from_header(7);
	defined = DEFINED;
	next = b - a;
	line = __LINE__ > 40;
	return 0;
}
