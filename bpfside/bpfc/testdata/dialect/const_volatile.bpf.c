// "const volatile" variables are set before the program is loaded, and are constants to
// the verifier: code behind a zero is gone.
// set: enabled = 1
// set: target = 0x123456789
// set: limits = 3 4 5
// set: name = "nopfire"
// set: level = -2
// want: seen_target = 0x123456789
// want: seen_limits = 12
// want: seen_name = 7
// want: dead = 0
// want: seen_level = -2
#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

const volatile bool enabled = false;
const volatile bool disabled = false;
const volatile __u64 target = 0;
const volatile int limits[3] = { 1, 2, 3 };
const volatile char name[16] = "";
const volatile signed char level;

__u64 seen_target;
int seen_limits, seen_name, dead, seen_level;

SEC("syscall")
int prog(void *ctx)
{
	if (disabled) {
		/* The verifier would refuse this. */
		dead = *(int *)0;
	}
	if (!enabled)
		return 1;
	seen_target = target;
	for (int i = 0; i < 3; i++)
		seen_limits += limits[i];
	for (int i = 0; i < 16 && name[i]; i++)
		seen_name = i + 1;
	seen_level = level;
	return 0;
}
