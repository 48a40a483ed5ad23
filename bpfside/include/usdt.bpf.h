/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Arguments and cookie of a USDT probe, for BPF programs.
 *
 * The functions are those of libbpf's header of the same name, and either one can
 * be used: bpfside/usdt reads from the type information of the object how the map
 * below is laid out. Include bpf_helpers.h's prerequisites first: vmlinux.h, or
 * <linux/bpf.h>, <linux/ptrace.h> and <stdbool.h>.
 */
#ifndef __USDT_BPF_H__
#define __USDT_BPF_H__

#include <linux/errno.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* The largest number of different descriptions of arguments (and cookies) that are
 * attached to at the same time. */
#ifndef BPF_USDT_MAX_SPEC_CNT
#define BPF_USDT_MAX_SPEC_CNT 256
#endif
/* The same for addresses of probes, on kernels without bpf cookies (before 5.15). */
#ifndef BPF_USDT_MAX_IP_CNT
#define BPF_USDT_MAX_IP_CNT (4 * BPF_USDT_MAX_SPEC_CNT)
#endif

/* The largest number of arguments of a probe. */
#define BPF_USDT_MAX_ARG_CNT 12

/* Where an argument is. Registers are offsets in struct pt_regs. */
enum __bpf_usdt_arg_type {
	BPF_USDT_ARG_CONST,     /* val_off itself */
	BPF_USDT_ARG_REG,       /* the register */
	BPF_USDT_ARG_REG_DEREF, /* memory at register + val_off */
	BPF_USDT_ARG_SIB,       /* memory at register + (index << scale) + val_off */
};

struct __bpf_usdt_arg_spec {
	__u64 val_off;
	enum __bpf_usdt_arg_type arg_type;
	short reg_off;
	short idx_reg_off;
	unsigned char scale_bitshift;
	_Bool arg_signed;
	/* 64 less the bits of the value */
	char arg_bitshift;
};

struct __bpf_usdt_spec {
	struct __bpf_usdt_arg_spec args[BPF_USDT_MAX_ARG_CNT];
	__u64 usdt_cookie;
	short arg_cnt;
};

/* User space describes the arguments here; the cookie of the kernel is the key. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BPF_USDT_MAX_SPEC_CNT);
	__type(key, int);
	__type(value, struct __bpf_usdt_spec);
} __bpf_usdt_specs SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, BPF_USDT_MAX_IP_CNT);
	__type(key, long);
	__type(value, __u32);
} __bpf_usdt_ip_to_spec_id SEC(".maps") __weak;

extern const _Bool LINUX_HAS_BPF_COOKIE __kconfig;

/* Returns the description of the probe that was hit, NULL if there is none. */
static __always_inline struct __bpf_usdt_spec *__bpf_usdt_spec(struct pt_regs *ctx)
{
	int id;

	if (LINUX_HAS_BPF_COOKIE) {
		id = bpf_get_attach_cookie(ctx);
	} else {
		long ip = PT_REGS_IP(ctx);
		__u32 *known = bpf_map_lookup_elem(&__bpf_usdt_ip_to_spec_id, &ip);

		if (!known)
			return 0;
		id = *known;
	}
	return bpf_map_lookup_elem(&__bpf_usdt_specs, &id);
}

/* 0, of which the verifier does not know that it is 0: what could not be read is to
 * it like what could, and it need not follow both. That of Linux 6.1 would follow every
 * combination of the two, of all arguments. */
static __always_inline long __bpf_usdt_zero(struct pt_regs *ctx)
{
	unsigned long ip, same;

	barrier_var(ctx);
	same = ip = PT_REGS_IP(ctx);
	barrier_var(same);
	return ip - same;
}

/* Returns the number of arguments, -ESRCH if the probe has no description. */
__weak __hidden
int bpf_usdt_arg_cnt(struct pt_regs *ctx)
{
	struct __bpf_usdt_spec *spec = __bpf_usdt_spec(ctx);

	return spec ? spec->arg_cnt : -ESRCH;
}

/* Puts argument arg_num, counted from 0, into *res and returns 0. On an error *res is
 * 0: -ENOENT if there is no such argument, -EINVAL if it stands where no program can
 * read it, another if its memory cannot be read. */
__weak __hidden
int bpf_usdt_arg(struct pt_regs *ctx, __u64 arg_num, long *res)
{
	struct __bpf_usdt_spec *spec = __bpf_usdt_spec(ctx);
	struct __bpf_usdt_arg_spec *arg;
	unsigned long val = 0, index = 0;
	int err;

	*res = __bpf_usdt_zero(ctx);
	if (!spec)
		return -ESRCH;
	/* The constant is for the verifier, the count for the caller. */
	if (arg_num >= BPF_USDT_MAX_ARG_CNT || arg_num >= (__u64)spec->arg_cnt)
		return -ENOENT;
	arg = &spec->args[arg_num];

	if (arg->arg_type == BPF_USDT_ARG_CONST) {
		val = arg->val_off;
	} else {
		if (arg->arg_type > BPF_USDT_ARG_SIB)
			return -EINVAL;
		err = bpf_probe_read_kernel(&val, sizeof(val), (void *)ctx + arg->reg_off);
		if (err)
			return err;
		if (arg->arg_type == BPF_USDT_ARG_SIB) {
			err = bpf_probe_read_kernel(&index, sizeof(index), (void *)ctx + arg->idx_reg_off);
			if (err)
				return err;
			val += index << (arg->scale_bitshift & 3);
		}
		if (arg->arg_type != BPF_USDT_ARG_REG) {
			err = bpf_probe_read_user(&val, sizeof(val), (void *)(val + arg->val_off));
			if (err)
				return err;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
			val >>= arg->arg_bitshift & 63;
#endif
		}
	}

	/* Keep the bits of the value, and spread its sign. */
	val <<= arg->arg_bitshift & 63;
	if (arg->arg_signed)
		*res = (long)val >> (arg->arg_bitshift & 63);
	else
		*res = val >> (arg->arg_bitshift & 63);
	return 0;
}

/* Returns the cookie that was given when the program was attached. */
__weak __hidden
long bpf_usdt_cookie(struct pt_regs *ctx)
{
	struct __bpf_usdt_spec *spec = __bpf_usdt_spec(ctx);

	return spec ? spec->usdt_cookie : 0;
}

/* The arguments of BPF_USDT's function, from the first on. */
#define __bpf_usdt_get(n) ({ long __v; bpf_usdt_arg(ctx, n, &__v); (void *)__v; })
#define ___bpf_usdt_args0() ctx
#define ___bpf_usdt_args1(x) ___bpf_usdt_args0(), __bpf_usdt_get(0)
#define ___bpf_usdt_args2(x, args...) ___bpf_usdt_args1(args), __bpf_usdt_get(1)
#define ___bpf_usdt_args3(x, args...) ___bpf_usdt_args2(args), __bpf_usdt_get(2)
#define ___bpf_usdt_args4(x, args...) ___bpf_usdt_args3(args), __bpf_usdt_get(3)
#define ___bpf_usdt_args5(x, args...) ___bpf_usdt_args4(args), __bpf_usdt_get(4)
#define ___bpf_usdt_args6(x, args...) ___bpf_usdt_args5(args), __bpf_usdt_get(5)
#define ___bpf_usdt_args7(x, args...) ___bpf_usdt_args6(args), __bpf_usdt_get(6)
#define ___bpf_usdt_args8(x, args...) ___bpf_usdt_args7(args), __bpf_usdt_get(7)
#define ___bpf_usdt_args9(x, args...) ___bpf_usdt_args8(args), __bpf_usdt_get(8)
#define ___bpf_usdt_args10(x, args...) ___bpf_usdt_args9(args), __bpf_usdt_get(9)
#define ___bpf_usdt_args11(x, args...) ___bpf_usdt_args10(args), __bpf_usdt_get(10)
#define ___bpf_usdt_args12(x, args...) ___bpf_usdt_args11(args), __bpf_usdt_get(11)
#define ___bpf_usdt_args(args...) ___bpf_apply(___bpf_usdt_args, ___bpf_narg(args))(args)

/*
 * BPF_USDT(name, args...) begins a program with the arguments of the probe as its
 * parameters; ctx is the struct pt_regs.
 */
#define BPF_USDT(name, args...)                                                \
name(struct pt_regs *ctx);                                                     \
static __always_inline typeof(name(0)) ____##name(struct pt_regs *ctx, ##args);\
typeof(name(0)) name(struct pt_regs *ctx)                                      \
{                                                                              \
	_Pragma("GCC diagnostic push")                                         \
	_Pragma("GCC diagnostic ignored \"-Wint-conversion\"")                 \
	return ____##name(___bpf_usdt_args(args));                             \
	_Pragma("GCC diagnostic pop")                                          \
}                                                                              \
static __always_inline typeof(name(0)) ____##name(struct pt_regs *ctx, ##args)

#endif /* __USDT_BPF_H__ */
