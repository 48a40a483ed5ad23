// The headers of a C compiler and of the kernel's interface, without vmlinux.h.
// want: sizes = 1 2 4 8 8 8
// want: limits = 1
// want: regs = 168
// want: err = -2
// want: version = 394753
// want: path = 4096
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdarg.h>
#include <limits.h>
#include <errno.h>
#include <linux/types.h>
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <linux/bpf_perf_event.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/version.h>
#include <asm/errno.h>
#include "bpf_helpers.h"
#include "bpf_endian.h"
#include "bpf_tracing.h"
#include "bpf_core_read.h"

char LICENSE[] SEC("license") = "GPL";

int sizes[6], limits, regs, err, version, path;

SEC("socket")
int prog(struct __sk_buff *skb)
{
	uint64_t big = UINT64_MAX;
	int32_t least = INT32_MIN;
	bool yes = true;

	sizes[0] = sizeof(uint8_t) * yes;
	sizes[1] = sizeof(int16_t);
	sizes[2] = sizeof(uint32_t);
	sizes[3] = sizeof(size_t);
	sizes[4] = sizeof(uintptr_t);
	sizes[5] = sizeof(ptrdiff_t);
	limits = big + 1 == 0 && least == INT_MIN && CHAR_BIT == 8 && LONG_MAX == INT64_MAX && NULL == 0;
#ifdef __TARGET_ARCH_x86
	regs = sizeof(struct pt_regs);
#else
	regs = sizeof(struct user_pt_regs) - 272 + 168;
#endif
	err = -ENOENT;
	version = KERNEL_VERSION(6, 6, 1);
	path = PATH_MAX;
	return offsetof(struct bpf_perf_event_data, sample_period) != 0;
}
