/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What every BPF program starts from: the helpers of the kernel, how maps are
 * defined, sections and attributes, and printing. The names and their meaning are
 * libbpf's. Include vmlinux.h or <linux/bpf.h> first: the types of the helpers come
 * from there.
 */
#ifndef __BPF_HELPERS__
#define __BPF_HELPERS__

#include "bpf_helper_defs.h"

/*
 * A map is a variable of a structure type in the section ".maps" whose facts are in
 * the types of its members:
 *
 *	struct {
 *		__uint(type, BPF_MAP_TYPE_HASH);   a number
 *		__type(key, __u32);                a type
 *		__array(values, struct inner);     inner maps, or programs
 *	} name SEC(".maps");
 */
#define __uint(name, val) int (*name)[val]
#define __type(name, val) typeof(val) *name
#define __array(name, val) typeof(val) *name[]
/* A number as an enumerator, for those that are too large for an array's length. The
 * enumerator's name is made unique by the line. */
#define __ulong(name, val) enum { ___bpf_concat(__unique_value, __LINE__) = val } name

/* Puts a program, a map or a variable into a section, and keeps it. On an extern the
 * attribute "used" means nothing, and nothing shall be said of that. */
#define SEC(name)                                                              \
	_Pragma("GCC diagnostic push")                                         \
	_Pragma("GCC diagnostic ignored \"-Wignored-attributes\"")             \
	__attribute__((section(name), used))                                   \
	_Pragma("GCC diagnostic pop")

#undef __always_inline /* <linux/stddef.h> has another one */
#define __always_inline inline __attribute__((always_inline))
#ifndef __noinline
#define __noinline __attribute__((noinline))
#endif
#ifndef __weak
#define __weak __attribute__((weak))
#endif
/* A function that others can link with, and that the verifier looks at together with
 * each of its callers, as it does with a static one. */
#define __hidden __attribute__((visibility("hidden")))

/* Externs: an option of the kernel's configuration, a symbol of the kernel. */
#define __kconfig __attribute__((section(".kconfig")))
#define __ksym __attribute__((section(".ksyms")))
/* Whether a weak extern of .ksyms is in this kernel. */
#define bpf_ksym_exists(sym) (!!(sym))

/* Pointers to objects of the kernel in map values. */
#define __kptr_untrusted __attribute__((btf_type_tag("kptr_untrusted")))
#define __kptr __attribute__((btf_type_tag("kptr")))
#define __kptr_ref __attribute__((btf_type_tag("kptr_ref")))
#define __percpu_kptr __attribute__((btf_type_tag("percpu_kptr")))
#define __uptr __attribute__((btf_type_tag("uptr")))

/* What the verifier may assume of the arguments of a global function. */
#define __arg_ctx __attribute__((btf_decl_tag("arg:ctx")))
#define __arg_nonnull __attribute__((btf_decl_tag("arg:nonnull")))
#define __arg_nullable __attribute__((btf_decl_tag("arg:nullable")))
#define __arg_trusted __attribute__((btf_decl_tag("arg:trusted")))
#define __arg_untrusted __attribute__((btf_decl_tag("arg:untrusted")))
#define __arg_arena __attribute__((btf_decl_tag("arg:arena")))

/* Programs on vmlinux.h have no other header to take these from. */
#ifndef NULL
#define NULL ((void *)0)
#endif
#ifndef KERNEL_VERSION
#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + ((c) > 255 ? 255 : (c)))
#endif
#ifndef offsetof
#define offsetof(type, member) ((unsigned long)&((type *)0)->member)
#endif
#ifndef container_of
#define container_of(ptr, type, member) ({                                     \
	void *__outer = (void *)(ptr);                                         \
	(type *)(__outer - offsetof(type, member));                            \
})
#endif

/* Which way a condition goes as a rule. */
#ifndef likely
#define likely(x) __builtin_expect(!!(x), 1)
#endif
#ifndef unlikely
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif

/* The compiler forgets what it knows of memory, or of one variable. */
#ifndef barrier
#define barrier() asm volatile("" ::: "memory")
#endif
#ifndef barrier_var
#define barrier_var(var) asm volatile("" : "+r"(var))
#endif

/* For places that cannot be reached: an error of the compiler if one can. */
#ifndef __bpf_unreachable
#define __bpf_unreachable() __builtin_trap()
#endif

/* A tail call to a slot that is a constant: the kernel turns it into a jump. */
static __always_inline void bpf_tail_call_static(void *ctx, const void *map, const __u32 slot)
{
	bpf_tail_call(ctx, (void *)map, slot);
}

enum libbpf_pin_type {
	LIBBPF_PIN_NONE,
	LIBBPF_PIN_BY_NAME, /* in the bpf file system, by the map's name */
};

/* Values of options that are y, n or m. */
enum libbpf_tristate {
	TRI_NO = 0,
	TRI_YES = 1,
	TRI_MODULE = 2,
};

/* Macros that go by the number of their arguments: ___bpf_apply(name, count). */
#ifndef ___bpf_concat
#define ___bpf_concat(a, b) a ## b
#endif
#ifndef ___bpf_apply
#define ___bpf_apply(fn, n) ___bpf_concat(fn, n)
#endif
#ifndef ___bpf_nth
#define ___bpf_nth(_, _1, _2, _3, _4, _5, _6, _7, _8, _9, _a, _b, _c, N, ...) N
#endif
#ifndef ___bpf_narg
#define ___bpf_narg(...) ___bpf_nth(_, ##__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#endif

/* ___bpf_fill(array, values...) assigns the values to the elements from the first. */
#define ___bpf_fill0(arr, p, x) do { } while (0)
#define ___bpf_fill1(arr, p, x) arr[p] = x
#define ___bpf_fill2(arr, p, x, ...) arr[p] = x; ___bpf_fill1(arr, p + 1, __VA_ARGS__)
#define ___bpf_fill3(arr, p, x, ...) arr[p] = x; ___bpf_fill2(arr, p + 1, __VA_ARGS__)
#define ___bpf_fill4(arr, p, x, ...) arr[p] = x; ___bpf_fill3(arr, p + 1, __VA_ARGS__)
#define ___bpf_fill5(arr, p, x, ...) arr[p] = x; ___bpf_fill4(arr, p + 1, __VA_ARGS__)
#define ___bpf_fill6(arr, p, x, ...) arr[p] = x; ___bpf_fill5(arr, p + 1, __VA_ARGS__)
#define ___bpf_fill7(arr, p, x, ...) arr[p] = x; ___bpf_fill6(arr, p + 1, __VA_ARGS__)
#define ___bpf_fill8(arr, p, x, ...) arr[p] = x; ___bpf_fill7(arr, p + 1, __VA_ARGS__)
#define ___bpf_fill9(arr, p, x, ...) arr[p] = x; ___bpf_fill8(arr, p + 1, __VA_ARGS__)
#define ___bpf_fill10(arr, p, x, ...) arr[p] = x; ___bpf_fill9(arr, p + 1, __VA_ARGS__)
#define ___bpf_fill11(arr, p, x, ...) arr[p] = x; ___bpf_fill10(arr, p + 1, __VA_ARGS__)
#define ___bpf_fill12(arr, p, x, ...) arr[p] = x; ___bpf_fill11(arr, p + 1, __VA_ARGS__)
#define ___bpf_fill(arr, ...) ___bpf_apply(___bpf_fill, ___bpf_narg(__VA_ARGS__))(arr, 0, __VA_ARGS__)

/* The helpers that print take the values as an array of 64-bit words. The words are
 * written as they stand in the call, pointers too. ___fmt and ___param are for
 * "call", which is the whole call of the helper. */
#define ___bpf_with_params(call, fmt, ...) ({                                  \
	static const char ___fmt[] = fmt;                                      \
	unsigned long long ___param[___bpf_narg(__VA_ARGS__)];                 \
	_Pragma("GCC diagnostic push")                                         \
	_Pragma("GCC diagnostic ignored \"-Wint-conversion\"")                 \
	___bpf_fill(___param, __VA_ARGS__);                                    \
	_Pragma("GCC diagnostic pop")                                          \
	call;                                                                  \
})

#define BPF_SEQ_PRINTF(seq, fmt, ...)                                          \
	___bpf_with_params(bpf_seq_printf(seq, ___fmt, sizeof(___fmt), ___param, sizeof(___param)), \
			   fmt, ##__VA_ARGS__)

#define BPF_SNPRINTF(out, out_size, fmt, ...)                                  \
	___bpf_with_params(bpf_snprintf(out, out_size, ___fmt, ___param, sizeof(___param)), \
			   fmt, ##__VA_ARGS__)

/* Where the kernel has no global data (before 5.2) the format stands on the stack. */
#ifdef BPF_NO_GLOBAL_DATA
#define BPF_PRINTK_FMT_MOD
#else
#define BPF_PRINTK_FMT_MOD static const
#endif

/* bpf_trace_printk takes up to three values, and bpf_trace_vprintk (5.16) more. */
#define __bpf_printk(fmt, ...) ({                                              \
	BPF_PRINTK_FMT_MOD char ____fmt[] = fmt;                               \
	bpf_trace_printk(____fmt, sizeof(____fmt), ##__VA_ARGS__);             \
})

#define __bpf_vprintk(fmt, ...)                                                \
	___bpf_with_params(bpf_trace_vprintk(___fmt, sizeof(___fmt), ___param, sizeof(___param)), \
			   fmt, ##__VA_ARGS__)

#define ___bpf_pick_printk(...)                                                \
	___bpf_nth(_, ##__VA_ARGS__,                                           \
		   __bpf_vprintk, __bpf_vprintk, __bpf_vprintk,                \
		   __bpf_vprintk, __bpf_vprintk, __bpf_vprintk,                \
		   __bpf_vprintk, __bpf_vprintk, __bpf_vprintk,                \
		   __bpf_printk, __bpf_printk, __bpf_printk, __bpf_printk)

/* Prints a line into the trace pipe of the kernel. */
#define bpf_printk(fmt, ...) ___bpf_pick_printk(__VA_ARGS__)(fmt, ##__VA_ARGS__)

#endif /* __BPF_HELPERS__ */
