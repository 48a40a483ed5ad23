/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The registers of a traced function, for programs that do not include vmlinux.h. The
 * machine is chosen as bpf_tracing.h has it, by __TARGET_ARCH_x86 and so on; without
 * one struct pt_regs is x86-64's on x86-64, and else only declared. The names are those
 * of user space: rdi, not di.
 */
#ifndef _LINUX_PTRACE_H
#define _LINUX_PTRACE_H

#include <linux/types.h>

#if defined(__TARGET_ARCH_arm64) || (!defined(__TARGET_ARCH_x86) && defined(__aarch64__))

struct user_pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
};

typedef struct user_pt_regs bpf_user_pt_regs_t;
struct pt_regs;

#elif defined(__TARGET_ARCH_riscv)

struct user_regs_struct {
	unsigned long pc, ra, sp, gp, tp;
	unsigned long t0, t1, t2, s0, s1;
	unsigned long a0, a1, a2, a3, a4, a5, a6, a7;
	unsigned long s2, s3, s4, s5, s6, s7, s8, s9, s10, s11;
	unsigned long t3, t4, t5, t6;
};

typedef struct user_regs_struct bpf_user_pt_regs_t;
struct pt_regs;

#elif defined(__TARGET_ARCH_loongarch)

struct user_pt_regs {
	unsigned long regs[32];
	unsigned long orig_a0;
	unsigned long csr_era;
	unsigned long csr_badv;
	unsigned long reserved[10];
} __attribute__((aligned(8)));

typedef struct user_pt_regs bpf_user_pt_regs_t;
struct pt_regs;

#elif defined(__TARGET_ARCH_s390)

typedef struct {
	unsigned long mask;
	unsigned long addr;
} __attribute__((aligned(8))) psw_t;

typedef struct {
	unsigned long args[1];
	psw_t psw;
	unsigned long gprs[16];
} user_pt_regs;

typedef user_pt_regs bpf_user_pt_regs_t;
struct pt_regs;

#elif defined(__TARGET_ARCH_powerpc)

struct pt_regs {
	unsigned long gpr[32];
	unsigned long nip;
	unsigned long msr;
	unsigned long orig_gpr3;
	unsigned long ctr;
	unsigned long link;
	unsigned long xer;
	unsigned long ccr;
	unsigned long softe;
	unsigned long trap;
	unsigned long dar;
	unsigned long dsisr;
	unsigned long result;
};

typedef struct pt_regs bpf_user_pt_regs_t;

#elif defined(__TARGET_ARCH_mips)

struct pt_regs {
	__u64 regs[32];
	__u64 lo;
	__u64 hi;
	__u64 cp0_epc;
	__u64 cp0_badvaddr;
	__u64 cp0_status;
	__u64 cp0_cause;
} __attribute__((aligned(8)));

typedef struct pt_regs bpf_user_pt_regs_t;

#elif defined(__TARGET_ARCH_arm)

struct pt_regs {
	unsigned long uregs[18];
};

typedef struct pt_regs bpf_user_pt_regs_t;

#elif defined(__TARGET_ARCH_x86) || defined(__x86_64__)

struct pt_regs {
	unsigned long r15, r14, r13, r12, rbp, rbx;
	unsigned long r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi;
	unsigned long orig_rax, rip, cs, eflags, rsp, ss;
};

typedef struct pt_regs bpf_user_pt_regs_t;

#endif

#endif /* _LINUX_PTRACE_H */
