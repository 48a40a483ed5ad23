// String literals: as initializers, as arguments of helpers, joined, with escapes, wide
// enough for a section; arrays of them; __func__.
// want: copied = "joined text"
// want: escapes = 9 10 34 92 0x41 7 0
// want: lens = 12 4 1
// want: name = "prog"
// want: at = 110
// want: cmp = 0
// want: empty = 0
// want: hex = -1
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

char copied[16] = "joined" " " "text", name[8];
unsigned char escapes[] = "\t\n\"\\\x41\7";
int lens[3], at, cmp, empty, hex;
const char list[3][6] = { "one", "two", "three" };

SEC("syscall")
int prog(void *ctx)
{
	char local[] = "abc";

	lens[0] = sizeof("joined text");
	lens[1] = sizeof(local);
	lens[2] = sizeof("");
	__builtin_memcpy(name, __func__, sizeof(__func__));
	at = "nopfire"[0];
	cmp = bpf_strncmp(list[2], 6, "three");
	empty = *"" + local[3];
	hex = '\xff';
	return 0;
}
