// switch: sparse and dense cases, ranges, fall through, default in the middle, nested, on
// 64 bits and on characters, with declarations and loops within.
// want: dense = 10 11 12 -1 14
// want: sparse = 1 2 3 0
// want: range = 1 1 2 3 9
// want: through = 7
// want: wide = 5
// want: nested = 42
// want: vowels = 3
// want: loop = 6
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

int dense[5], sparse[4], range[5], through, wide, nested, vowels, loop;
volatile unsigned long big = 0x100000005;

static int pick_dense(int n)
{
	switch (n) {
	case 0: return 10;
	case 1: return 11;
	case 2: return 12;
	case 4: return 14;
	}
	return -1;
}

static __noinline int pick_sparse(unsigned int n)
{
	int r = 0;

	switch (n) {
	case 1000: r = 1; break;
	default: break;
	case 0x80000000: r = 2; break;
	case -1U: r = 3; break;
	}
	return r;
}

static int pick_range(int n)
{
	switch (n) {
	case 0 ... 9: return 1;
	case 10 ... 19: return 2;
	case -5 ... -1: return 3;
	}
	return 9;
}

SEC("socket")
int prog(struct __sk_buff *skb)
{
	char text[] = "dialects";

	for (int i = 0; i < 5; i++)
		dense[i] = pick_dense(i);
	sparse[0] = pick_sparse(1000);
	sparse[1] = pick_sparse(0x80000000);
	sparse[2] = pick_sparse(-1);
	sparse[3] = pick_sparse(skb->len);
	range[0] = pick_range(0);
	range[1] = pick_range(9);
	range[2] = pick_range(15);
	range[3] = pick_range(-5);
	range[4] = pick_range(skb->len);
	switch (skb->len) {
	case 50:
		through += 1;
	case 51:
		through += 2;
	case 52: {
		int x = 4;

		through += x;
		break;
	}
	case 53:
		through = 100;
	}
	switch (big) {
	case 5: wide = 1; break;
	case 0x100000005: wide = 5; break;
	}
	switch (skb->len & 3) {
	case 2:
		switch (through) {
		case 7: nested = 42; break;
		default: nested = 1;
		}
		break;
	default:
		nested = 2;
	}
	for (int i = 0; i < 8; i++) {
		switch (text[i]) {
		case 'a': case 'e': case 'i': case 'o': case 'u':
			vowels++;
			continue;
		case 's':
			goto out;
		}
	}
out:
	switch (skb->len - 50)
	case 0:
		for (int i = 0; i < 4; i++)
			loop += i;
	return 0;
}
