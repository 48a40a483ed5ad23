/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Tracepoints that are defined at run time (URDT), for BPF programs:
 *
 *	SEC("urdt//usr/local/lib/nopfire/liburdt.so.1:2:app:request")
 *	int BPF_URDT(on_request, long status, const char *path)
 *	{
 *		…
 *	}
 *
 * or SEC("urdt") for a program that user space attaches. The path "*" stands for
 * every object that is known. docs/urdt-spec.md tells how it works; in short: all
 * names with as many arguments fire at the same few sites, with the hash of the name
 * as an argument more, and a program is called for all of them. BPF_URDT returns 0
 * before the body for another name than the one that it was attached to.
 *
 * There are two styles.
 *
 *   - As a rule the arguments are read through usdt.bpf.h, libbpf's or the one that
 *     stands beside this file (include it first). Such a program can be attached to
 *     every object with URDT sites.
 *   - With URDT_LEAN defined they are read from the registers that liburdt.so.1 has
 *     them in. No map is looked at, and the program can be attached to liburdt.so.1
 *     alone. The number of arguments is the number of parameters of BPF_URDT; a
 *     program without BPF_URDT gives it by URDT_NARGS(n).
 *
 * The interface is the same for both:
 *
 *	BPF_URDT(name, args...)
 *	int bpf_urdt_match(ctx)             0 if another name was fired
 *	int bpf_urdt_arg_cnt(ctx)           number of arguments, without the hash
 *	int bpf_urdt_arg(ctx, n, long *res) argument n, counted from 0
 *	__u32 bpf_urdt_cookie(ctx)          the user's half of the cookie
 *	__u32 bpf_urdt_hash(ctx)            hash of the name that was fired
 *	__u32 bpf_urdt_hash2(ctx)           its second hash; 0 if the object has none
 *
 * Two names may have one hash. For certainty compare bpf_urdt_hash2() with that of
 * the wanted name.
 */
#ifndef __URDT_BPF_H__
#define __URDT_BPF_H__

#include <linux/errno.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* The largest number of arguments of a name: a USDT probe has twelve, of which the
 * hash is one. */
#define BPF_URDT_MAX_ARG_CNT 11

#ifdef URDT_LEAN

/* Register n of a site: the hashes in 0, argument n in n + 1. They are the same at
 * every number of arguments. */
static __always_inline __u64 __bpf_urdt_reg(struct pt_regs *ctx, int n)
{
#if defined(__TARGET_ARCH_x86) && defined(__VMLINUX_H__)
#define __URDT_REG(kernel, uapi) ctx->kernel
#elif defined(__TARGET_ARCH_x86)
#define __URDT_REG(kernel, uapi) ctx->uapi
#endif
#if defined(__TARGET_ARCH_x86)
	switch (n) {
	case 0: return __URDT_REG(di, rdi);
	case 1: return __URDT_REG(si, rsi);
	case 2: return __URDT_REG(dx, rdx);
	case 3: return __URDT_REG(cx, rcx);
	case 4: return __URDT_REG(r8, r8);
	case 5: return __URDT_REG(r9, r9);
	case 6: return __URDT_REG(ax, rax);
	case 7: return __URDT_REG(r10, r10);
	case 8: return __URDT_REG(r11, r11);
	case 9: return __URDT_REG(bx, rbx);
	case 10: return __URDT_REG(r12, r12);
	case 11: return __URDT_REG(r13, r13);
	}
	return 0;
#elif defined(__TARGET_ARCH_arm64)
	const volatile struct user_pt_regs *regs = (const volatile struct user_pt_regs *)ctx;

	switch (n) {
	case 0: return regs->regs[0];
	case 1: return regs->regs[1];
	case 2: return regs->regs[2];
	case 3: return regs->regs[3];
	case 4: return regs->regs[4];
	case 5: return regs->regs[5];
	case 6: return regs->regs[6];
	case 7: return regs->regs[7];
	case 8: return regs->regs[8];
	case 9: return regs->regs[9];
	case 10: return regs->regs[10];
	case 11: return regs->regs[11];
	}
	return 0;
#else
#error "URDT_LEAN: no liburdt.so.1 for this machine, or no __TARGET_ARCH_…"
#endif
}

/* Declares the number of arguments in a function that is not made by BPF_URDT. */
#define URDT_NARGS(n) const int ___urdt_nargs __attribute__((unused)) = (n)

static __always_inline int __bpf_urdt_arg(struct pt_regs *ctx, int nargs, __u64 n, long *res)
{
	*res = 0;
	if (n >= (__u64)nargs || n >= BPF_URDT_MAX_ARG_CNT)
		return -ENOENT;
	*res = __bpf_urdt_reg(ctx, n + 1);
	return 0;
}

#define bpf_urdt_arg_cnt(ctx) ((void)(ctx), ___urdt_nargs)
#define bpf_urdt_arg(ctx, n, res) __bpf_urdt_arg(ctx, ___urdt_nargs, n, res)

static __always_inline __u32 bpf_urdt_hash(struct pt_regs *ctx)
{
	return __bpf_urdt_reg(ctx, 0);
}

static __always_inline __u32 bpf_urdt_hash2(struct pt_regs *ctx)
{
	return __bpf_urdt_reg(ctx, 0) >> 32;
}

static __always_inline __u64 __bpf_urdt_attach_cookie(struct pt_regs *ctx)
{
	return bpf_get_attach_cookie(ctx);
}

#define __bpf_urdt_declare(args...) URDT_NARGS(___bpf_narg(args))

#else /* URDT_LEAN */

#ifndef __USDT_BPF_H__
#include <bpf/usdt.bpf.h>
#endif

static __always_inline int bpf_urdt_arg_cnt(struct pt_regs *ctx)
{
	int n = bpf_usdt_arg_cnt(ctx);

	if (n < 0)
		return n;
	return n > 0 ? n - 1 : -EINVAL; /* without a hash it is no site of URDT */
}

/* 0, of which the verifier does not know that it is 0: see __bpf_usdt_zero in our
 * usdt.bpf.h, in place of which libbpf's may be used. Without the first barrier clang
 * keeps the address of the register, which no program may read through. */
static __always_inline long __bpf_urdt_zero(struct pt_regs *ctx)
{
	unsigned long ip, same;

	barrier_var(ctx);
	same = ip = PT_REGS_IP(ctx);
	barrier_var(same);
	return ip - same;
}

static __always_inline int bpf_urdt_arg(struct pt_regs *ctx, __u64 n, long *res)
{
	int nargs = bpf_urdt_arg_cnt(ctx);

	*res = __bpf_urdt_zero(ctx);
	if (nargs < 0)
		return nargs;
	if (n >= (__u64)nargs)
		return -ENOENT;
	return bpf_usdt_arg(ctx, n, res);
}

/* The last argument of the site: both hashes, or the first alone in 4 bytes. */
static __always_inline __u64 __bpf_urdt_hashes(struct pt_regs *ctx)
{
	long hashes = 0;
	int nargs = bpf_urdt_arg_cnt(ctx);

	if (nargs >= 0)
		bpf_usdt_arg(ctx, nargs, &hashes);
	return hashes;
}

static __always_inline __u32 bpf_urdt_hash(struct pt_regs *ctx)
{
	return __bpf_urdt_hashes(ctx);
}

/* Where the hash has 4 bytes and a sign, ones in the upper half are its extension: no
 * second hash. */
static __always_inline __u32 bpf_urdt_hash2(struct pt_regs *ctx)
{
	__u32 high = __bpf_urdt_hashes(ctx) >> 32;

	return high == 0xffffffff ? 0 : high;
}

static __always_inline __u64 __bpf_urdt_attach_cookie(struct pt_regs *ctx)
{
	return bpf_usdt_cookie(ctx);
}

#define __bpf_urdt_declare(args...) do { } while (0)

#endif /* URDT_LEAN */

static __always_inline __u32 bpf_urdt_cookie(struct pt_regs *ctx)
{
	return __bpf_urdt_attach_cookie(ctx);
}

static __always_inline int bpf_urdt_match(struct pt_regs *ctx)
{
	return bpf_urdt_hash(ctx) == (__u32)(__bpf_urdt_attach_cookie(ctx) >> 32);
}

/* The parameters of BPF_URDT's function: argument 0 is the first. */
#define __bpf_urdt_get(n) ({ long __v; bpf_urdt_arg(ctx, n, &__v); (void *)__v; })
#define ___bpf_urdt_args0() ctx
#define ___bpf_urdt_args1(x) ___bpf_urdt_args0(), __bpf_urdt_get(0)
#define ___bpf_urdt_args2(x, args...) ___bpf_urdt_args1(args), __bpf_urdt_get(1)
#define ___bpf_urdt_args3(x, args...) ___bpf_urdt_args2(args), __bpf_urdt_get(2)
#define ___bpf_urdt_args4(x, args...) ___bpf_urdt_args3(args), __bpf_urdt_get(3)
#define ___bpf_urdt_args5(x, args...) ___bpf_urdt_args4(args), __bpf_urdt_get(4)
#define ___bpf_urdt_args6(x, args...) ___bpf_urdt_args5(args), __bpf_urdt_get(5)
#define ___bpf_urdt_args7(x, args...) ___bpf_urdt_args6(args), __bpf_urdt_get(6)
#define ___bpf_urdt_args8(x, args...) ___bpf_urdt_args7(args), __bpf_urdt_get(7)
#define ___bpf_urdt_args9(x, args...) ___bpf_urdt_args8(args), __bpf_urdt_get(8)
#define ___bpf_urdt_args10(x, args...) ___bpf_urdt_args9(args), __bpf_urdt_get(9)
#define ___bpf_urdt_args11(x, args...) ___bpf_urdt_args10(args), __bpf_urdt_get(10)
#define ___bpf_urdt_args(args...) ___bpf_apply(___bpf_urdt_args, ___bpf_narg(args))(args)

/* In the body of a lean program bpf_urdt_arg_cnt and bpf_urdt_arg are macros that
 * need the number of arguments: it is a last, hidden parameter. */
#ifdef URDT_LEAN
#define ___urdt_hidden , const int ___urdt_nargs
#define ___urdt_pass , ___urdt_nargs
#else
#define ___urdt_hidden
#define ___urdt_pass
#endif

#define BPF_URDT(name, args...)                                                \
name(struct pt_regs *ctx);                                                     \
static __always_inline typeof(name(0))                                         \
____##name(struct pt_regs *ctx, ##args ___urdt_hidden);                        \
typeof(name(0)) name(struct pt_regs *ctx)                                      \
{                                                                              \
	__bpf_urdt_declare(args);                                              \
	if (!bpf_urdt_match(ctx))                                              \
		return 0;                                                      \
	_Pragma("GCC diagnostic push")                                         \
	_Pragma("GCC diagnostic ignored \"-Wint-conversion\"")                 \
	return ____##name(___bpf_urdt_args(args) ___urdt_pass);                \
	_Pragma("GCC diagnostic pop")                                          \
}                                                                              \
static __always_inline typeof(name(0))                                         \
____##name(struct pt_regs *ctx, ##args ___urdt_hidden)

#endif /* __URDT_BPF_H__ */
