// Structures are assigned, passed and returned by value; the copies are independent.
// want: before = 1 2
// want: after = 10 20 30
// want: swapped = 4 3
// want: big = 100
// want: chain = 6
// want: cond = 8
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct point { int x, y; };
struct vec { long v[5]; int n; };
struct outer { struct point a; struct vec b; };

int before[2], after[3], swapped[2], big, chain, cond;

static struct point swap(struct point p)
{
	struct point q = { p.y, p.x };

	p.x = 99;
	return q;
}

static __noinline int total(struct vec *v)
{
	int s = 0;

	for (int i = 0; i < 5; i++)
		s += v->v[i];
	return s + v->n;
}

static struct vec make(int k)
{
	return (struct vec){ { k, k + 1, k + 2 }, 7 };
}

static struct point next(struct point p) { return (struct point){ p.x + 1, p.y + 2 }; }

SEC("socket")
int prog(struct __sk_buff *skb)
{
	int k = skb->len - 50;
	struct point p = { 3, 4 }, q, r[2];
	struct outer o = { .a = { 1, 2 } }, copy;
	struct vec v = make(k + 29);

	copy = o;
	o.a.x = 10;
	before[0] = copy.a.x;
	before[1] = copy.a.y;
	o.b = v;
	copy.b = o.b;
	v.v[0] = 0;
	after[0] = o.a.x;
	after[1] = copy.b.v[0] - 9;
	after[2] = copy.b.v[1];
	q = swap(p);
	swapped[0] = q.x;
	swapped[1] = q.y;
	big = total(&copy.b) + p.x;
	r[0] = next(next(p));
	r[1] = r[0];
	chain = r[1].y - r[0].x + p.x;
	cond = (k ? p : r[1]).y;
	return 0;
}
