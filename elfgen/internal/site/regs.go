package site

import (
	"strconv"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// MaxArgs is the number of argument registers that every machine of this
// package has.
const MaxArgs = 12

// regs are the argument registers by place, each by the one name that it has for
// values of every size: on x86-64 and arm64 all tracers read "1@%rsi" and
// "4@x0", and some do not read "1@%r8b" or "4@w0" (docs/argument-spellings.md).
var regs = [...]*[MaxArgs]string{
	// Registers that a Go assembly stub may load freely: r14 and r15 hold
	// g and the GOT in Go code, rbp and rsp the frame.
	stapsdt.X86_64: {
		"%rax", "%rbx", "%rcx", "%rdx", "%rsi", "%rdi",
		"%r8", "%r9", "%r10", "%r11", "%r12", "%r13",
	},
	stapsdt.ARM64: {
		"x0", "x1", "x2", "x3", "x4", "x5",
		"x6", "x7", "x8", "x9", "x10", "x11",
	},
	// The argument registers, then temporaries; t4 to t6 are left for the
	// target of the call.
	stapsdt.RISCV64: {
		"a0", "a1", "a2", "a3", "a4", "a5",
		"a6", "a7", "t0", "t1", "t2", "t3",
	},
	// r2 to r6 are the argument registers of the ABI; r1 is left for the
	// target of the call, r13 for Go's g, r14 and r15 are return address
	// and stack. A caller saves r6 to r12 for its own caller.
	stapsdt.S390X: {
		"%r2", "%r3", "%r4", "%r5", "%r6", "%r7",
		"%r8", "%r9", "%r10", "%r11", "%r12", "%r0",
	},
	// The argument registers, then scratch registers, then two that a
	// caller saves; r13 is the thread pointer. A compiler writes the bare
	// number into a note, and so does this table.
	stapsdt.PPC64LE: {
		"3", "4", "5", "6", "7", "8",
		"9", "10", "11", "12", "14", "15",
	},
}

// AppendArg appends the argument string of a value of size bytes (1, 2, 4 or
// 8) in the argument register number place, which must be below MaxArgs. For
// a machine without argument registers it appends nothing.
func AppendArg(dst []byte, m stapsdt.Machine, place, size int, signed bool) []byte {
	if int(m) >= len(regs) || regs[m] == nil {
		return dst
	}
	if signed {
		dst = append(dst, '-')
	}
	dst = strconv.AppendInt(dst, int64(size), 10)
	dst = append(dst, '@')
	return append(dst, regs[m][place]...)
}
