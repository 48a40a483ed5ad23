// Enumerations: implicit and explicit values, negative, large and 64-bit ones; as types
// of variables and members, in switch and as array sizes.
// want: vals = 0 1 10 11 -5
// want: big = 0x1ffffffff
// want: size = 4 8 4
// want: sw = 2
// want: unsignedness = 1 0
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

enum color { RED, GREEN, BLUE = 10, DARK };
enum sign { NEG = -5, ZERO = 0 };
enum wide { WIDE = 0x1ffffffffUL };
enum { LIMIT = 3 };
typedef enum { OFF, ON } toggle;

struct s { enum color c; toggle t; };

int vals[5], size[3], sw, unsignedness[2];
unsigned long big;
int room[LIMIT];

static int pick(enum color c)
{
	switch (c) {
	case RED: return 1;
	case GREEN: return 2;
	case BLUE:
	case DARK: return 3;
	}
	return 0;
}

SEC("socket")
int prog(struct __sk_buff *skb)
{
	enum color c = skb->len - 49;
	struct s s = { .c = DARK, .t = ON };
	enum sign neg = NEG;

	vals[0] = RED;
	vals[1] = c;
	vals[2] = BLUE;
	vals[3] = s.c;
	vals[4] = neg;
	big = WIDE;
	size[0] = sizeof(enum color);
	size[1] = sizeof(enum wide);
	size[2] = sizeof(toggle) + (sizeof(room) - 12);
	sw = pick(c);
	unsignedness[0] = (enum color)-1 > 0;
	unsignedness[1] = neg > 0;
	return 0;
}
