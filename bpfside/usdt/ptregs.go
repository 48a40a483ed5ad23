package usdt

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// What a uprobe program gets as its context is bpf_user_pt_regs_t. These tables
// say where in it the registers of each machine stand, under the names that
// stapsdt.Operand uses.
//
// Sources: arch/x86/include/asm/ptrace.h (struct pt_regs);
// arch/{arm64,riscv,s390,powerpc}/include/uapi/asm/{ptrace.h,bpf_perf_event.h}.

// x86Regs is the order of struct pt_regs on x86-64.
var x86Regs = strings.Fields("r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss")

// i386Regs are the registers of i386, each the lower half of one of x86-64.
var i386Regs = strings.Fields("eax ebx ecx edx esi edi ebp esp eip")

// riscvRegs is the order of struct user_regs_struct on riscv.
var riscvRegs = strings.Fields("pc ra sp gp tp t0 t1 t2 s0 s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 t3 t4 t5 t6")

// regOffset returns where in the context a register stands.
func regOffset(m stapsdt.Machine, reg string) (int16, bool) {
	switch m {
	case stapsdt.X86_64:
		return wordIndex(x86Regs, reg)
	case stapsdt.I386:
		// A program of 32 bits under a kernel of 64: the same struct, with
		// zeros in the upper halves. A kernel of 32 bits has another one.
		if slices.Contains(i386Regs, reg) && runtime.GOARCH != "386" {
			return wordIndex(x86Regs, "r"+reg[1:])
		}
	case stapsdt.RISCV64:
		return wordIndex(riscvRegs, reg)
	case stapsdt.ARM64:
		// struct user_pt_regs: regs[31], sp, pc, pstate.
		switch reg {
		case "sp":
			return 31 * 8, true
		case "pc":
			return 32 * 8, true
		}
		return numbered(reg, "x", 31, 0)
	case stapsdt.S390X:
		// user_pt_regs: args[1], psw {mask, addr}, gprs[16].
		if reg == "pc" {
			return 16, true
		}
		return numbered(reg, "r", 16, 24)
	case stapsdt.PPC64, stapsdt.PPC64LE:
		// struct user_pt_regs: gpr[32], nip and more.
		if reg == "pc" {
			return 32 * 8, true
		}
		return numbered(reg, "r", 32, 0)
	}
	return 0, false
}

func wordIndex(regs []string, reg string) (int16, bool) {
	for i, r := range regs {
		if r == reg {
			return int16(8 * i), true
		}
	}
	return 0, false
}

// numbered finds "x7" in an array of n registers that starts at base.
func numbered(reg, prefix string, n, base int) (int16, bool) {
	num, ok := strings.CutPrefix(reg, prefix)
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(num)
	if err != nil || i < 0 || i >= n || strconv.Itoa(i) != num {
		return 0, false
	}
	return int16(base + 8*i), true
}

// HostMachine returns the machine that this program runs on: the one whose
// arguments a BPF program can read here. ok is false if package stapsdt does not
// know it.
func HostMachine() (m stapsdt.Machine, ok bool) {
	m, ok = hostMachines[runtime.GOARCH]
	return m, ok
}

var hostMachines = map[string]stapsdt.Machine{
	"amd64":   stapsdt.X86_64,
	"arm64":   stapsdt.ARM64,
	"riscv64": stapsdt.RISCV64,
	"s390x":   stapsdt.S390X,
	"ppc64le": stapsdt.PPC64LE,
	"ppc64":   stapsdt.PPC64,
	"386":     stapsdt.I386,
	"arm":     stapsdt.ARM,
	"mips64":  stapsdt.MIPS64,
}

// checkHost returns an error for a machine whose programs cannot run here. It lets
// 0 pass, which is not known.
func checkHost(m stapsdt.Machine) error {
	host, _ := HostMachine()
	if m == 0 || m == host || m == stapsdt.I386 && host == stapsdt.X86_64 {
		return nil
	}
	return fmt.Errorf("%w: code for %s on a machine of %s", ErrNotSupported, m, runtime.GOARCH)
}
