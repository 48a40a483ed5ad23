/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Registers and arguments for programs on kprobes, uprobes, system calls and BTF
 * tracepoints. The names and their meaning are libbpf's. The machine is chosen by
 * __TARGET_ARCH_x86, _arm64, _s390, _arm, _mips, _powerpc, _riscv, _loongarch or _i386;
 * without one it is the one that the compiler says it compiles for.
 */
#ifndef __BPF_TRACING_H__
#define __BPF_TRACING_H__

#include "bpf_helpers.h"

#if defined(__TARGET_ARCH_x86)
#define bpf_target_x86
#elif defined(__TARGET_ARCH_i386)
#define bpf_target_i386
#elif defined(__TARGET_ARCH_arm64)
#define bpf_target_arm64
#elif defined(__TARGET_ARCH_arm)
#define bpf_target_arm
#elif defined(__TARGET_ARCH_s390)
#define bpf_target_s390
#elif defined(__TARGET_ARCH_mips)
#define bpf_target_mips
#elif defined(__TARGET_ARCH_powerpc)
#define bpf_target_powerpc
#elif defined(__TARGET_ARCH_riscv)
#define bpf_target_riscv
#elif defined(__TARGET_ARCH_loongarch)
#define bpf_target_loongarch
#elif defined(__x86_64__)
#define bpf_target_x86
#elif defined(__i386__)
#define bpf_target_i386
#elif defined(__aarch64__)
#define bpf_target_arm64
#elif defined(__arm__)
#define bpf_target_arm
#elif defined(__s390__)
#define bpf_target_s390
#elif defined(__mips__)
#define bpf_target_mips
#elif defined(__powerpc__)
#define bpf_target_powerpc
#elif defined(__riscv)
#define bpf_target_riscv
#elif defined(__loongarch__)
#define bpf_target_loongarch
#endif

/* libbpf has 32-bit x86 as a kind of x86. */
#if defined(bpf_target_x86) && defined(__i386__)
#undef bpf_target_x86
#define bpf_target_i386
#endif

/*
 * Where a machine has what, as members of struct pt_regs:
 *
 *	__PT_PARMn_REG          argument n of a function; absent ones are undefined here
 *	__PT_PARMn_SYSCALL_REG  argument n of a system call, where it differs
 *	__PT_RET_REG            return address, on x86 the pointer to it
 *	__PT_FP_REG             frame pointer, if the kernel is built with one
 *	__PT_RC_REG             result
 *	__PT_SP_REG             stack pointer
 *	__PT_IP_REG             instruction pointer
 *	__PT_REGS_CAST(x)       x as a pointer to the structure that has the members
 *
 * PT_REGS_SYSCALL_REGS(ctx) is defined where system calls take their arguments as they
 * are, and not as a pointer to another struct pt_regs.
 */
#if defined(bpf_target_x86)

#define bpf_target_defined
#if defined(__KERNEL__) || defined(__VMLINUX_H__)
#define __PT_PARM1_REG di
#define __PT_PARM2_REG si
#define __PT_PARM3_REG dx
#define __PT_PARM4_REG cx
#define __PT_RET_REG sp
#define __PT_FP_REG bp
#define __PT_RC_REG ax
#define __PT_SP_REG sp
#define __PT_IP_REG ip
#else /* the names of <linux/ptrace.h> */
#define __PT_PARM1_REG rdi
#define __PT_PARM2_REG rsi
#define __PT_PARM3_REG rdx
#define __PT_PARM4_REG rcx
#define __PT_RET_REG rsp
#define __PT_FP_REG rbp
#define __PT_RC_REG rax
#define __PT_SP_REG rsp
#define __PT_IP_REG rip
#endif
#define __PT_PARM5_REG r8
#define __PT_PARM6_REG r9
/* The instruction "syscall" has rcx for itself. */
#define __PT_PARM4_SYSCALL_REG r10

#elif defined(bpf_target_i386)

#define bpf_target_defined
/* The kernel is built with -mregparm=3: further arguments stand on the stack. */
#if defined(__KERNEL__) || defined(__VMLINUX_H__)
#define __PT_PARM1_REG ax
#define __PT_PARM2_REG dx
#define __PT_PARM3_REG cx
#define __PT_PARM1_SYSCALL_REG bx
#define __PT_PARM2_SYSCALL_REG cx
#define __PT_PARM3_SYSCALL_REG dx
#define __PT_PARM4_SYSCALL_REG si
#define __PT_PARM5_SYSCALL_REG di
#define __PT_PARM6_SYSCALL_REG bp
#define __PT_RET_REG sp
#define __PT_FP_REG bp
#define __PT_RC_REG ax
#define __PT_SP_REG sp
#define __PT_IP_REG ip
#else
#define __PT_PARM1_REG eax
#define __PT_PARM2_REG edx
#define __PT_PARM3_REG ecx
#define __PT_PARM1_SYSCALL_REG ebx
#define __PT_PARM2_SYSCALL_REG ecx
#define __PT_PARM3_SYSCALL_REG edx
#define __PT_PARM4_SYSCALL_REG esi
#define __PT_PARM5_SYSCALL_REG edi
#define __PT_PARM6_SYSCALL_REG ebp
#define __PT_RET_REG esp
#define __PT_FP_REG ebp
#define __PT_RC_REG eax
#define __PT_SP_REG esp
#define __PT_IP_REG eip
#endif

#elif defined(bpf_target_arm64)

#define bpf_target_defined
/* User space sees the first members alone, as another structure. */
#define __PT_REGS_CAST(x) ((const struct user_pt_regs *)(x))
#define __PT_PARM1_REG regs[0]
#define __PT_PARM2_REG regs[1]
#define __PT_PARM3_REG regs[2]
#define __PT_PARM4_REG regs[3]
#define __PT_PARM5_REG regs[4]
#define __PT_PARM6_REG regs[5]
#define __PT_PARM7_REG regs[6]
#define __PT_PARM8_REG regs[7]
#define __PT_RET_REG regs[30]
#define __PT_FP_REG regs[29]
#define __PT_RC_REG regs[0]
#define __PT_SP_REG sp
#define __PT_IP_REG pc
/* x0 has the result already where the call is seen at its end. */
struct pt_regs___arm64 {
	unsigned long orig_x0;
} __attribute__((preserve_access_index));
#define PT_REGS_PARM1_CORE_SYSCALL(x) BPF_CORE_READ((const struct pt_regs___arm64 *)(x), orig_x0)
#define PT_REGS_PARM1_SYSCALL(x) PT_REGS_PARM1_CORE_SYSCALL(x)

#elif defined(bpf_target_arm)

#define bpf_target_defined
#define __PT_PARM1_REG uregs[0]
#define __PT_PARM2_REG uregs[1]
#define __PT_PARM3_REG uregs[2]
#define __PT_PARM4_REG uregs[3]
#define __PT_PARM5_SYSCALL_REG uregs[4]
#define __PT_PARM6_SYSCALL_REG uregs[5]
#define __PT_RET_REG uregs[14]
#define __PT_FP_REG uregs[11]
#define __PT_RC_REG uregs[0]
#define __PT_SP_REG uregs[13]
#define __PT_IP_REG uregs[15] /* libbpf reads r12 here, which is called "ip" too */

#elif defined(bpf_target_s390)

#define bpf_target_defined
#define __PT_REGS_CAST(x) ((const user_pt_regs *)(x))
#define __PT_PARM1_REG gprs[2]
#define __PT_PARM2_REG gprs[3]
#define __PT_PARM3_REG gprs[4]
#define __PT_PARM4_REG gprs[5]
#define __PT_PARM5_REG gprs[6]
#define __PT_PARM6_SYSCALL_REG gprs[7]
#define __PT_RET_REG gprs[14]
#define __PT_FP_REG gprs[11]
#define __PT_RC_REG gprs[2]
#define __PT_SP_REG gprs[15]
#define __PT_IP_REG psw.addr
struct pt_regs___s390 {
	unsigned long orig_gpr2;
} __attribute__((preserve_access_index));
#define PT_REGS_PARM1_CORE_SYSCALL(x) BPF_CORE_READ((const struct pt_regs___s390 *)(x), orig_gpr2)
#define PT_REGS_PARM1_SYSCALL(x) PT_REGS_PARM1_CORE_SYSCALL(x)

#elif defined(bpf_target_mips)

#define bpf_target_defined
#define __PT_PARM1_REG regs[4]
#define __PT_PARM2_REG regs[5]
#define __PT_PARM3_REG regs[6]
#define __PT_PARM4_REG regs[7]
/* Of the 64-bit conventions. */
#define __PT_PARM5_REG regs[8]
#define __PT_PARM6_REG regs[9]
#define __PT_PARM7_REG regs[10]
#define __PT_PARM8_REG regs[11]
#define __PT_RET_REG regs[31]
#define __PT_FP_REG regs[30]
#define __PT_RC_REG regs[2]
#define __PT_SP_REG regs[29]
#define __PT_IP_REG cp0_epc

#elif defined(bpf_target_powerpc)

#define bpf_target_defined
#define __PT_PARM1_REG gpr[3]
#define __PT_PARM2_REG gpr[4]
#define __PT_PARM3_REG gpr[5]
#define __PT_PARM4_REG gpr[6]
#define __PT_PARM5_REG gpr[7]
#define __PT_PARM6_REG gpr[8]
#define __PT_PARM7_REG gpr[9]
#define __PT_PARM8_REG gpr[10]
#define __PT_PARM1_SYSCALL_REG orig_gpr3
#define __PT_RET_REG link
#define __PT_FP_REG __unsupported__
#define __PT_RC_REG gpr[3]
#define __PT_SP_REG gpr[1]
#define __PT_IP_REG nip
#define PT_REGS_SYSCALL_REGS(ctx) ctx

#elif defined(bpf_target_riscv)

#define bpf_target_defined
#define __PT_REGS_CAST(x) ((const struct user_regs_struct *)(x))
#define __PT_PARM1_REG a0
#define __PT_PARM2_REG a1
#define __PT_PARM3_REG a2
#define __PT_PARM4_REG a3
#define __PT_PARM5_REG a4
#define __PT_PARM6_REG a5
#define __PT_PARM7_REG a6
#define __PT_PARM8_REG a7
#define __PT_RET_REG ra
#define __PT_FP_REG s0
#define __PT_RC_REG a0
#define __PT_SP_REG sp
#define __PT_IP_REG pc
struct pt_regs___riscv {
	unsigned long orig_a0;
} __attribute__((preserve_access_index));
#define PT_REGS_PARM1_CORE_SYSCALL(x) BPF_CORE_READ((const struct pt_regs___riscv *)(x), orig_a0)
#define PT_REGS_PARM1_SYSCALL(x) PT_REGS_PARM1_CORE_SYSCALL(x)

#elif defined(bpf_target_loongarch)

#define bpf_target_defined
#define __PT_REGS_CAST(x) ((const struct user_pt_regs *)(x))
#define __PT_PARM1_REG regs[4]
#define __PT_PARM2_REG regs[5]
#define __PT_PARM3_REG regs[6]
#define __PT_PARM4_REG regs[7]
#define __PT_PARM5_REG regs[8]
#define __PT_PARM6_REG regs[9]
#define __PT_PARM7_REG regs[10]
#define __PT_PARM8_REG regs[11]
#define __PT_RET_REG regs[1]
#define __PT_FP_REG regs[22]
#define __PT_RC_REG regs[4]
#define __PT_SP_REG regs[3]
#define __PT_IP_REG csr_era
#define PT_REGS_SYSCALL_REGS(ctx) ctx

#endif

struct pt_regs;

#if defined(bpf_target_defined)

#ifndef __PT_REGS_CAST
#define __PT_REGS_CAST(x) (x)
#endif

/* A member of no structure: who reads an argument that has no register is told its
 * name by the compiler. */
#ifndef __PT_PARM4_REG
#define __PT_PARM4_REG __unsupported__
#endif
#ifndef __PT_PARM5_REG
#define __PT_PARM5_REG __unsupported__
#endif
#ifndef __PT_PARM6_REG
#define __PT_PARM6_REG __unsupported__
#endif
#ifndef __PT_PARM7_REG
#define __PT_PARM7_REG __unsupported__
#endif
#ifndef __PT_PARM8_REG
#define __PT_PARM8_REG __unsupported__
#endif

#ifndef __PT_PARM1_SYSCALL_REG
#define __PT_PARM1_SYSCALL_REG __PT_PARM1_REG
#endif
#ifndef __PT_PARM2_SYSCALL_REG
#define __PT_PARM2_SYSCALL_REG __PT_PARM2_REG
#endif
#ifndef __PT_PARM3_SYSCALL_REG
#define __PT_PARM3_SYSCALL_REG __PT_PARM3_REG
#endif
#ifndef __PT_PARM4_SYSCALL_REG
#define __PT_PARM4_SYSCALL_REG __PT_PARM4_REG
#endif
#ifndef __PT_PARM5_SYSCALL_REG
#define __PT_PARM5_SYSCALL_REG __PT_PARM5_REG
#endif
#ifndef __PT_PARM6_SYSCALL_REG
#define __PT_PARM6_SYSCALL_REG __PT_PARM6_REG
#endif
#ifndef __PT_PARM7_SYSCALL_REG
#define __PT_PARM7_SYSCALL_REG __PT_PARM7_REG
#endif

/* A register, read directly from a context; and by the helper, from any struct pt_regs
 * of the kernel. */
#define ___bpf_reg(x, reg) (__PT_REGS_CAST(x)->reg)
#define ___bpf_reg_core(x, reg) BPF_CORE_READ(__PT_REGS_CAST(x), reg)

#else

/* Nobody said for which machine: an error where a register is asked for. */
#ifndef __BPF_TARGET_MISSING
#define __BPF_TARGET_MISSING "GCC error \"Must specify a BPF target arch via __TARGET_ARCH_xxx\""
#endif
#define ___bpf_reg(x, reg) ({ _Pragma(__BPF_TARGET_MISSING); 0l; })
#define ___bpf_reg_core(x, reg) ({ _Pragma(__BPF_TARGET_MISSING); 0l; })

#endif

#define PT_REGS_PARM1(x) ___bpf_reg(x, __PT_PARM1_REG)
#define PT_REGS_PARM2(x) ___bpf_reg(x, __PT_PARM2_REG)
#define PT_REGS_PARM3(x) ___bpf_reg(x, __PT_PARM3_REG)
#define PT_REGS_PARM4(x) ___bpf_reg(x, __PT_PARM4_REG)
#define PT_REGS_PARM5(x) ___bpf_reg(x, __PT_PARM5_REG)
#define PT_REGS_PARM6(x) ___bpf_reg(x, __PT_PARM6_REG)
#define PT_REGS_PARM7(x) ___bpf_reg(x, __PT_PARM7_REG)
#define PT_REGS_PARM8(x) ___bpf_reg(x, __PT_PARM8_REG)
#define PT_REGS_RET(x) ___bpf_reg(x, __PT_RET_REG)
#define PT_REGS_FP(x) ___bpf_reg(x, __PT_FP_REG)
#define PT_REGS_RC(x) ___bpf_reg(x, __PT_RC_REG)
#define PT_REGS_SP(x) ___bpf_reg(x, __PT_SP_REG)
#define PT_REGS_IP(x) ___bpf_reg(x, __PT_IP_REG)

#define PT_REGS_PARM1_CORE(x) ___bpf_reg_core(x, __PT_PARM1_REG)
#define PT_REGS_PARM2_CORE(x) ___bpf_reg_core(x, __PT_PARM2_REG)
#define PT_REGS_PARM3_CORE(x) ___bpf_reg_core(x, __PT_PARM3_REG)
#define PT_REGS_PARM4_CORE(x) ___bpf_reg_core(x, __PT_PARM4_REG)
#define PT_REGS_PARM5_CORE(x) ___bpf_reg_core(x, __PT_PARM5_REG)
#define PT_REGS_PARM6_CORE(x) ___bpf_reg_core(x, __PT_PARM6_REG)
#define PT_REGS_PARM7_CORE(x) ___bpf_reg_core(x, __PT_PARM7_REG)
#define PT_REGS_PARM8_CORE(x) ___bpf_reg_core(x, __PT_PARM8_REG)
#define PT_REGS_RET_CORE(x) ___bpf_reg_core(x, __PT_RET_REG)
#define PT_REGS_FP_CORE(x) ___bpf_reg_core(x, __PT_FP_REG)
#define PT_REGS_RC_CORE(x) ___bpf_reg_core(x, __PT_RC_REG)
#define PT_REGS_SP_CORE(x) ___bpf_reg_core(x, __PT_SP_REG)
#define PT_REGS_IP_CORE(x) ___bpf_reg_core(x, __PT_IP_REG)

#ifndef PT_REGS_PARM1_SYSCALL
#define PT_REGS_PARM1_SYSCALL(x) ___bpf_reg(x, __PT_PARM1_SYSCALL_REG)
#endif
#define PT_REGS_PARM2_SYSCALL(x) ___bpf_reg(x, __PT_PARM2_SYSCALL_REG)
#define PT_REGS_PARM3_SYSCALL(x) ___bpf_reg(x, __PT_PARM3_SYSCALL_REG)
#define PT_REGS_PARM4_SYSCALL(x) ___bpf_reg(x, __PT_PARM4_SYSCALL_REG)
#define PT_REGS_PARM5_SYSCALL(x) ___bpf_reg(x, __PT_PARM5_SYSCALL_REG)
#define PT_REGS_PARM6_SYSCALL(x) ___bpf_reg(x, __PT_PARM6_SYSCALL_REG)
#define PT_REGS_PARM7_SYSCALL(x) ___bpf_reg(x, __PT_PARM7_SYSCALL_REG)

#ifndef PT_REGS_PARM1_CORE_SYSCALL
#define PT_REGS_PARM1_CORE_SYSCALL(x) ___bpf_reg_core(x, __PT_PARM1_SYSCALL_REG)
#endif
#define PT_REGS_PARM2_CORE_SYSCALL(x) ___bpf_reg_core(x, __PT_PARM2_SYSCALL_REG)
#define PT_REGS_PARM3_CORE_SYSCALL(x) ___bpf_reg_core(x, __PT_PARM3_SYSCALL_REG)
#define PT_REGS_PARM4_CORE_SYSCALL(x) ___bpf_reg_core(x, __PT_PARM4_SYSCALL_REG)
#define PT_REGS_PARM5_CORE_SYSCALL(x) ___bpf_reg_core(x, __PT_PARM5_SYSCALL_REG)
#define PT_REGS_PARM6_CORE_SYSCALL(x) ___bpf_reg_core(x, __PT_PARM6_SYSCALL_REG)
#define PT_REGS_PARM7_CORE_SYSCALL(x) ___bpf_reg_core(x, __PT_PARM7_SYSCALL_REG)

/* In a kprobe on the function of a system call: its registers, for the macros above. */
#ifndef PT_REGS_SYSCALL_REGS
#define PT_REGS_SYSCALL_REGS(ctx) ((struct pt_regs *)PT_REGS_PARM1(ctx))
#endif

/* The return address, at the first instruction of a function, and at its end. */
#if defined(bpf_target_powerpc)
#define BPF_KPROBE_READ_RET_IP(ip, ctx) ({ (ip) = PT_REGS_RET(ctx); })
#define BPF_KRETPROBE_READ_RET_IP BPF_KPROBE_READ_RET_IP
#elif defined(bpf_target_defined)
#define BPF_KPROBE_READ_RET_IP(ip, ctx) \
	({ bpf_probe_read_kernel(&(ip), sizeof(ip), (void *)PT_REGS_RET(ctx)); })
#define BPF_KRETPROBE_READ_RET_IP(ip, ctx) \
	({ bpf_probe_read_kernel(&(ip), sizeof(ip), (void *)(PT_REGS_FP(ctx) + sizeof(ip))); })
#else
#define BPF_KPROBE_READ_RET_IP(ip, ctx) ({ _Pragma(__BPF_TARGET_MISSING); 0l; })
#define BPF_KRETPROBE_READ_RET_IP(ip, ctx) ({ _Pragma(__BPF_TARGET_MISSING); 0l; })
#endif

/*
 * The macros below begin a program whose function has the arguments as parameters, of
 * any integer or pointer type, after the context:
 *
 *	SEC("kprobe/do_unlinkat")
 *	int BPF_KPROBE(on_unlink, int dfd, struct filename *name)
 *	{
 *		…
 *	}
 *
 * What they make is the program itself, which calls the function with ctx and the
 * values, all as void *: C converts them to the parameters' types, and the pragma says
 * that this is meant.
 */
#define ___bpf_program(name, ctx_type, call, ...)                              \
name(ctx_type *ctx);                                                           \
static __always_inline typeof(name(0)) ____##name(ctx_type *ctx, ##__VA_ARGS__); \
typeof(name(0)) name(ctx_type *ctx)                                            \
{                                                                              \
	_Pragma("GCC diagnostic push")                                         \
	_Pragma("GCC diagnostic ignored \"-Wint-conversion\"")                 \
	call                                                                   \
	_Pragma("GCC diagnostic pop")                                          \
}                                                                              \
static __always_inline typeof(name(0)) ____##name(ctx_type *ctx, ##__VA_ARGS__)

/* The words of an array: tp_btf, fentry, fexit, raw_tp, lsm, iter. */
#define ___bpf_ctx_cast0() ctx
#define ___bpf_ctx_cast1(x) ___bpf_ctx_cast0(), (void *)ctx[0]
#define ___bpf_ctx_cast2(x, ...) ___bpf_ctx_cast1(__VA_ARGS__), (void *)ctx[1]
#define ___bpf_ctx_cast3(x, ...) ___bpf_ctx_cast2(__VA_ARGS__), (void *)ctx[2]
#define ___bpf_ctx_cast4(x, ...) ___bpf_ctx_cast3(__VA_ARGS__), (void *)ctx[3]
#define ___bpf_ctx_cast5(x, ...) ___bpf_ctx_cast4(__VA_ARGS__), (void *)ctx[4]
#define ___bpf_ctx_cast6(x, ...) ___bpf_ctx_cast5(__VA_ARGS__), (void *)ctx[5]
#define ___bpf_ctx_cast7(x, ...) ___bpf_ctx_cast6(__VA_ARGS__), (void *)ctx[6]
#define ___bpf_ctx_cast8(x, ...) ___bpf_ctx_cast7(__VA_ARGS__), (void *)ctx[7]
#define ___bpf_ctx_cast9(x, ...) ___bpf_ctx_cast8(__VA_ARGS__), (void *)ctx[8]
#define ___bpf_ctx_cast10(x, ...) ___bpf_ctx_cast9(__VA_ARGS__), (void *)ctx[9]
#define ___bpf_ctx_cast11(x, ...) ___bpf_ctx_cast10(__VA_ARGS__), (void *)ctx[10]
#define ___bpf_ctx_cast12(x, ...) ___bpf_ctx_cast11(__VA_ARGS__), (void *)ctx[11]
#define ___bpf_ctx_cast(...) ___bpf_apply(___bpf_ctx_cast, ___bpf_narg(__VA_ARGS__))(__VA_ARGS__)

#define BPF_PROG(name, ...)                                                    \
	___bpf_program(name, unsigned long long,                               \
		       return ____##name(___bpf_ctx_cast(__VA_ARGS__));, ##__VA_ARGS__)

/* Registers at the entry of a function. */
#define ___bpf_kprobe_args0() ctx
#define ___bpf_kprobe_args1(x) ___bpf_kprobe_args0(), (void *)PT_REGS_PARM1(ctx)
#define ___bpf_kprobe_args2(x, ...) ___bpf_kprobe_args1(__VA_ARGS__), (void *)PT_REGS_PARM2(ctx)
#define ___bpf_kprobe_args3(x, ...) ___bpf_kprobe_args2(__VA_ARGS__), (void *)PT_REGS_PARM3(ctx)
#define ___bpf_kprobe_args4(x, ...) ___bpf_kprobe_args3(__VA_ARGS__), (void *)PT_REGS_PARM4(ctx)
#define ___bpf_kprobe_args5(x, ...) ___bpf_kprobe_args4(__VA_ARGS__), (void *)PT_REGS_PARM5(ctx)
#define ___bpf_kprobe_args6(x, ...) ___bpf_kprobe_args5(__VA_ARGS__), (void *)PT_REGS_PARM6(ctx)
#define ___bpf_kprobe_args7(x, ...) ___bpf_kprobe_args6(__VA_ARGS__), (void *)PT_REGS_PARM7(ctx)
#define ___bpf_kprobe_args8(x, ...) ___bpf_kprobe_args7(__VA_ARGS__), (void *)PT_REGS_PARM8(ctx)
#define ___bpf_kprobe_args(...) ___bpf_apply(___bpf_kprobe_args, ___bpf_narg(__VA_ARGS__))(__VA_ARGS__)

#define BPF_KPROBE(name, ...)                                                  \
	___bpf_program(name, struct pt_regs,                                   \
		       return ____##name(___bpf_kprobe_args(__VA_ARGS__));, ##__VA_ARGS__)
#define BPF_UPROBE(name, ...) BPF_KPROBE(name, ##__VA_ARGS__)

/* The result at the end of a function: one parameter, or none. */
#define ___bpf_kretprobe_args0() ctx
#define ___bpf_kretprobe_args1(x) ___bpf_kretprobe_args0(), (void *)PT_REGS_RC(ctx)
#define ___bpf_kretprobe_args(...) ___bpf_apply(___bpf_kretprobe_args, ___bpf_narg(__VA_ARGS__))(__VA_ARGS__)

#define BPF_KRETPROBE(name, ...)                                               \
	___bpf_program(name, struct pt_regs,                                   \
		       return ____##name(___bpf_kretprobe_args(__VA_ARGS__));, ##__VA_ARGS__)
#define BPF_URETPROBE(name, ...) BPF_KRETPROBE(name, ##__VA_ARGS__)

/* The arguments of a system call, by a kprobe on its function (SEC("ksyscall/…")).
 * Most machines have a wrapper there whose one argument points to the registers, which
 * are read by the helper; the kernel's configuration says whether. */
#define ___bpf_syscall_args0() ctx
#define ___bpf_syscall_args1(x) ___bpf_syscall_args0(), (void *)PT_REGS_PARM1_SYSCALL(regs)
#define ___bpf_syscall_args2(x, ...) ___bpf_syscall_args1(__VA_ARGS__), (void *)PT_REGS_PARM2_SYSCALL(regs)
#define ___bpf_syscall_args3(x, ...) ___bpf_syscall_args2(__VA_ARGS__), (void *)PT_REGS_PARM3_SYSCALL(regs)
#define ___bpf_syscall_args4(x, ...) ___bpf_syscall_args3(__VA_ARGS__), (void *)PT_REGS_PARM4_SYSCALL(regs)
#define ___bpf_syscall_args5(x, ...) ___bpf_syscall_args4(__VA_ARGS__), (void *)PT_REGS_PARM5_SYSCALL(regs)
#define ___bpf_syscall_args6(x, ...) ___bpf_syscall_args5(__VA_ARGS__), (void *)PT_REGS_PARM6_SYSCALL(regs)
#define ___bpf_syscall_args7(x, ...) ___bpf_syscall_args6(__VA_ARGS__), (void *)PT_REGS_PARM7_SYSCALL(regs)
#define ___bpf_syscall_args(...) ___bpf_apply(___bpf_syscall_args, ___bpf_narg(__VA_ARGS__))(__VA_ARGS__)

#define ___bpf_syswrap_args0() ctx
#define ___bpf_syswrap_args1(x) ___bpf_syswrap_args0(), (void *)PT_REGS_PARM1_CORE_SYSCALL(regs)
#define ___bpf_syswrap_args2(x, ...) ___bpf_syswrap_args1(__VA_ARGS__), (void *)PT_REGS_PARM2_CORE_SYSCALL(regs)
#define ___bpf_syswrap_args3(x, ...) ___bpf_syswrap_args2(__VA_ARGS__), (void *)PT_REGS_PARM3_CORE_SYSCALL(regs)
#define ___bpf_syswrap_args4(x, ...) ___bpf_syswrap_args3(__VA_ARGS__), (void *)PT_REGS_PARM4_CORE_SYSCALL(regs)
#define ___bpf_syswrap_args5(x, ...) ___bpf_syswrap_args4(__VA_ARGS__), (void *)PT_REGS_PARM5_CORE_SYSCALL(regs)
#define ___bpf_syswrap_args6(x, ...) ___bpf_syswrap_args5(__VA_ARGS__), (void *)PT_REGS_PARM6_CORE_SYSCALL(regs)
#define ___bpf_syswrap_args7(x, ...) ___bpf_syswrap_args6(__VA_ARGS__), (void *)PT_REGS_PARM7_CORE_SYSCALL(regs)
#define ___bpf_syswrap_args(...) ___bpf_apply(___bpf_syswrap_args, ___bpf_narg(__VA_ARGS__))(__VA_ARGS__)

#define BPF_KSYSCALL(name, ...)                                                \
name(struct pt_regs *ctx);                                                     \
extern _Bool LINUX_HAS_SYSCALL_WRAPPER __kconfig;                              \
static __always_inline typeof(name(0)) ____##name(struct pt_regs *ctx, ##__VA_ARGS__); \
typeof(name(0)) name(struct pt_regs *ctx)                                      \
{                                                                              \
	struct pt_regs *regs = LINUX_HAS_SYSCALL_WRAPPER ? (struct pt_regs *)PT_REGS_PARM1(ctx) : ctx; \
	_Pragma("GCC diagnostic push")                                         \
	_Pragma("GCC diagnostic ignored \"-Wint-conversion\"")                 \
	if (LINUX_HAS_SYSCALL_WRAPPER)                                         \
		return ____##name(___bpf_syswrap_args(__VA_ARGS__));           \
	else                                                                   \
		return ____##name(___bpf_syscall_args(__VA_ARGS__));           \
	_Pragma("GCC diagnostic pop")                                          \
}                                                                              \
static __always_inline typeof(name(0)) ____##name(struct pt_regs *ctx, ##__VA_ARGS__)

#define BPF_KPROBE_SYSCALL BPF_KSYSCALL

/*
 * BPF_PROG2(name, type, argument, type, argument, …) is BPF_PROG for functions that
 * take structures by value: one of more than 8 bytes fills two words of the context.
 */
#ifndef ___bpf_nth2
#define ___bpf_nth2(_, _1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, \
		    _14, _15, _16, _17, _18, _19, _20, _21, _22, _23, _24, N, ...) N
#endif
#ifndef ___bpf_narg2 /* number of pairs */
#define ___bpf_narg2(...) \
	___bpf_nth2(_, ##__VA_ARGS__, 12, 12, 11, 11, 10, 10, 9, 9, 8, 8, 7, 7, \
		    6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0)
#endif

#define ___bpf_treg_cnt(t) ((int)(sizeof(t) + 7) / 8) /* words of a type */

/* The words from ctx[at] on as a t. Values that are shorter than a word are its low
 * bytes, wherever those stand in memory. */
#define ___bpf_union_arg(t, x, at)                                             \
	__builtin_choose_expr(sizeof(t) == 1, ({ union { __u8 z[1]; t x; } ___t = { .z = { ctx[at] } }; ___t.x; }), \
	__builtin_choose_expr(sizeof(t) == 2, ({ union { __u16 z[1]; t x; } ___t = { .z = { ctx[at] } }; ___t.x; }), \
	__builtin_choose_expr(sizeof(t) == 4, ({ union { __u32 z[1]; t x; } ___t = { .z = { ctx[at] } }; ___t.x; }), \
	__builtin_choose_expr(sizeof(t) == 8, ({ union { __u64 z[1]; t x; } ___t = { .z = { ctx[at] } }; ___t.x; }), \
	__builtin_choose_expr(sizeof(t) == 16, ({ union { __u64 z[2]; t x; } ___t = { .z = { ctx[at], ctx[at + 1] } }; ___t.x; }), \
			      (void)0)))))

/* ___bpf_ctx_argN(at, pairs...): the arguments of N pairs, of which the first begins at
 * word "at". */
#define ___bpf_ctx_arg0(at, ...)
#define ___bpf_ctx_arg1(at, t, x) , ___bpf_union_arg(t, x, at)
#define ___bpf_ctx_arg2(at, t, x, ...) ___bpf_ctx_arg1(at, t, x) ___bpf_ctx_arg1((at) + ___bpf_treg_cnt(t), __VA_ARGS__)
#define ___bpf_ctx_arg3(at, t, x, ...) ___bpf_ctx_arg1(at, t, x) ___bpf_ctx_arg2((at) + ___bpf_treg_cnt(t), __VA_ARGS__)
#define ___bpf_ctx_arg4(at, t, x, ...) ___bpf_ctx_arg1(at, t, x) ___bpf_ctx_arg3((at) + ___bpf_treg_cnt(t), __VA_ARGS__)
#define ___bpf_ctx_arg5(at, t, x, ...) ___bpf_ctx_arg1(at, t, x) ___bpf_ctx_arg4((at) + ___bpf_treg_cnt(t), __VA_ARGS__)
#define ___bpf_ctx_arg6(at, t, x, ...) ___bpf_ctx_arg1(at, t, x) ___bpf_ctx_arg5((at) + ___bpf_treg_cnt(t), __VA_ARGS__)
#define ___bpf_ctx_arg7(at, t, x, ...) ___bpf_ctx_arg1(at, t, x) ___bpf_ctx_arg6((at) + ___bpf_treg_cnt(t), __VA_ARGS__)
#define ___bpf_ctx_arg8(at, t, x, ...) ___bpf_ctx_arg1(at, t, x) ___bpf_ctx_arg7((at) + ___bpf_treg_cnt(t), __VA_ARGS__)
#define ___bpf_ctx_arg9(at, t, x, ...) ___bpf_ctx_arg1(at, t, x) ___bpf_ctx_arg8((at) + ___bpf_treg_cnt(t), __VA_ARGS__)
#define ___bpf_ctx_arg10(at, t, x, ...) ___bpf_ctx_arg1(at, t, x) ___bpf_ctx_arg9((at) + ___bpf_treg_cnt(t), __VA_ARGS__)
#define ___bpf_ctx_arg11(at, t, x, ...) ___bpf_ctx_arg1(at, t, x) ___bpf_ctx_arg10((at) + ___bpf_treg_cnt(t), __VA_ARGS__)
#define ___bpf_ctx_arg12(at, t, x, ...) ___bpf_ctx_arg1(at, t, x) ___bpf_ctx_arg11((at) + ___bpf_treg_cnt(t), __VA_ARGS__)
#define ___bpf_ctx_arg(...) ___bpf_apply(___bpf_ctx_arg, ___bpf_narg2(__VA_ARGS__))(0, ##__VA_ARGS__)

#define ___bpf_ctx_decl0()
#define ___bpf_ctx_decl1(t, x) , t x
#define ___bpf_ctx_decl2(t, x, ...) , t x ___bpf_ctx_decl1(__VA_ARGS__)
#define ___bpf_ctx_decl3(t, x, ...) , t x ___bpf_ctx_decl2(__VA_ARGS__)
#define ___bpf_ctx_decl4(t, x, ...) , t x ___bpf_ctx_decl3(__VA_ARGS__)
#define ___bpf_ctx_decl5(t, x, ...) , t x ___bpf_ctx_decl4(__VA_ARGS__)
#define ___bpf_ctx_decl6(t, x, ...) , t x ___bpf_ctx_decl5(__VA_ARGS__)
#define ___bpf_ctx_decl7(t, x, ...) , t x ___bpf_ctx_decl6(__VA_ARGS__)
#define ___bpf_ctx_decl8(t, x, ...) , t x ___bpf_ctx_decl7(__VA_ARGS__)
#define ___bpf_ctx_decl9(t, x, ...) , t x ___bpf_ctx_decl8(__VA_ARGS__)
#define ___bpf_ctx_decl10(t, x, ...) , t x ___bpf_ctx_decl9(__VA_ARGS__)
#define ___bpf_ctx_decl11(t, x, ...) , t x ___bpf_ctx_decl10(__VA_ARGS__)
#define ___bpf_ctx_decl12(t, x, ...) , t x ___bpf_ctx_decl11(__VA_ARGS__)
#define ___bpf_ctx_decl(...) ___bpf_apply(___bpf_ctx_decl, ___bpf_narg2(__VA_ARGS__))(__VA_ARGS__)

#define BPF_PROG2(name, ...)                                                   \
name(unsigned long long *ctx);                                                 \
static __always_inline typeof(name(0))                                         \
____##name(unsigned long long *ctx ___bpf_ctx_decl(__VA_ARGS__));              \
typeof(name(0)) name(unsigned long long *ctx)                                  \
{                                                                              \
	return ____##name(ctx ___bpf_ctx_arg(__VA_ARGS__));                    \
}                                                                              \
static __always_inline typeof(name(0))                                         \
____##name(unsigned long long *ctx ___bpf_ctx_decl(__VA_ARGS__))

#endif /* __BPF_TRACING_H__ */
