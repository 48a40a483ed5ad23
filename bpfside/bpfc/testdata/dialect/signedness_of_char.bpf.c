// char has a sign, and so have constants of it; hexadecimal constants and suffixes have the
// types that C gives them.
// want: c = -1 255 -56
// want: types = 4 4 8 8 8 8
// want: cmp = 1 0 1
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

int c[3], types[6], cmp[3];
char plain = 0xff;

SEC("socket")
int prog(struct __sk_buff *skb)
{
	unsigned char u = 0xff;
	char k = 200;

	c[0] = plain;
	c[1] = u;
	c[2] = k;
	types[0] = sizeof('a');
	types[1] = sizeof(0xffffffff);
	types[2] = sizeof(4294967295);
	types[3] = sizeof(1L);
	types[4] = sizeof(1ULL);
	types[5] = sizeof(0x1ffffffff);
	cmp[0] = '\x80' < 0;
	cmp[1] = plain == 0xff;
	cmp[2] = 0xffffffff > 0;
	return 0;
}
