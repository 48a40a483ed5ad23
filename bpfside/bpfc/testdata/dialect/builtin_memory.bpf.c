// __builtin_memcpy, memset, memmove of constant sizes, and strlen of literals.
// want: copied = 1 2 3 4 5
// want: set = 0xabababab 0 -1
// want: moved = "aabcdef"
// want: len = 5
// want: large = 4950
// want: odd = "0123456789abc"
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

int copied[5], set[3], len, large;
char moved[8] = "abcdef", odd[16];

SEC("socket")
int prog(struct __sk_buff *skb)
{
	int from[5] = { 1, 2, 3, 4, 5 };
	unsigned char many[100], again[100];

	__builtin_memcpy(copied, from, sizeof(from));
	__builtin_memset(&set[0], 0xab, 4);
	__builtin_memset(&set[1], 0, 4);
	__builtin_memset(&set[2], -1, sizeof(int));
	__builtin_memmove(moved + 1, moved, 6);
	len = __builtin_strlen("nopfi");
	for (int i = 0; i < 100; i++)
		many[i] = i;
	__builtin_memcpy(again, many, sizeof(again));
	for (int i = 0; i < 100; i++)
		large += again[i];
	__builtin_memcpy(odd, "0123456789abc", 13);
	return 0;
}
