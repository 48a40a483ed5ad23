// Statement expressions: their value, their scope, nested, in conditions and arguments.
// want: a = 7
// want: b = 21
// want: c = 5
// want: order = 123
// want: nested = 10
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

int a, b, c, order, nested;

#define MAX(x, y) ({ typeof(x) _x = (x); typeof(y) _y = (y); _x > _y ? _x : _y; })

static int twice(int x) { return 2 * x; }

SEC("socket")
int prog(struct __sk_buff *skb)
{
	int n = skb->len - 50, x = 1; /* 0: there are 50 bytes behind the Ethernet header */

	a = ({ int x = 3; x += 4; x; });
	b = MAX(a * 3, twice(({ n + 5; })));
	if (({ c = 5; c > 4; }))
		order = order * 10 + x;
	order = ({ order = order * 10 + 2; order * 10; }) + 3;
	nested = ({ int s = 0; for (int i = 0; i < 4; i++) s += ({ int t = i; t + 1; }); s; });
	({ ; });
	return 0;
}
