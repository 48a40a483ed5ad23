package site

import (
	"strconv"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// MaxArgs is the number of argument registers that every machine of this
// package has.
const MaxArgs = 12

// Spellings of a register by the size of the value: 8, 4, 2 and 1 bytes.
type spellings struct{ s8, s4, s2, s1 string }

// same is a register whose name does not depend on the size.
func same(name string) spellings { return spellings{name, name, name, name} }

// regs are the argument registers by place. Which spelling of a small x86
// register every tracer reads was tried with each of them:
// docs/argument-spellings.md.
var regs = [...]*[MaxArgs]spellings{
	// Registers that a Go assembly stub may load freely: r14 and r15 hold
	// g and the GOT in Go code, rbp and rsp the frame.
	stapsdt.X86_64: {
		{"%rax", "%eax", "%ax", "%al"},
		{"%rbx", "%ebx", "%bx", "%bl"},
		{"%rcx", "%ecx", "%cx", "%cl"},
		{"%rdx", "%edx", "%dx", "%dl"},
		{"%rsi", "%esi", "%si", "%sil"},
		{"%rdi", "%edi", "%di", "%dil"},
		{"%r8", "%r8d", "%r8w", "%r8b"},
		{"%r9", "%r9d", "%r9w", "%r9b"},
		{"%r10", "%r10d", "%r10w", "%r10b"},
		{"%r11", "%r11d", "%r11w", "%r11b"},
		{"%r12", "%r12d", "%r12w", "%r12b"},
		{"%r13", "%r13d", "%r13w", "%r13b"},
	},
	// x0 to x11. Always by the x name: libbpf (src/usdt.c) and perf
	// (arch/arm64/util/perf_regs.c) know no w registers.
	stapsdt.ARM64: {
		same("x0"), same("x1"), same("x2"), same("x3"), same("x4"), same("x5"),
		same("x6"), same("x7"), same("x8"), same("x9"), same("x10"), same("x11"),
	},
	// The argument registers, then temporaries; t4 to t6 are left for the
	// target of the call.
	stapsdt.RISCV64: {
		same("a0"), same("a1"), same("a2"), same("a3"), same("a4"), same("a5"),
		same("a6"), same("a7"), same("t0"), same("t1"), same("t2"), same("t3"),
	},
	// r2 to r6 are the argument registers of the ABI; r1 is left for the
	// target of the call, r13 for Go's g, r14 and r15 are return address
	// and stack. A caller saves r6 to r12 as its own ABI demands.
	stapsdt.S390X: {
		same("%r2"), same("%r3"), same("%r4"), same("%r5"), same("%r6"), same("%r7"),
		same("%r8"), same("%r9"), same("%r10"), same("%r11"), same("%r12"), same("%r0"),
	},
	// The argument registers, then scratch registers, then two that a
	// caller saves; r13 is the thread pointer. A compiler writes the bare
	// number into a note, and so does this table.
	stapsdt.PPC64LE: {
		same("3"), same("4"), same("5"), same("6"), same("7"), same("8"),
		same("9"), same("10"), same("11"), same("12"), same("14"), same("15"),
	},
}

// AppendArg appends the argument string of a value of size bytes (1, 2, 4 or
// 8) in the argument register number place, which must be below MaxArgs. For
// a machine without argument registers it appends nothing.
func AppendArg(dst []byte, m stapsdt.Machine, place, size int, signed bool) []byte {
	if int(m) >= len(regs) || regs[m] == nil {
		return dst
	}
	r := regs[m]
	if signed {
		dst = append(dst, '-')
	}
	dst = strconv.AppendInt(dst, int64(size), 10)
	dst = append(dst, '@')
	switch size {
	case 1:
		return append(dst, r[place].s1...)
	case 2:
		return append(dst, r[place].s2...)
	case 4:
		return append(dst, r[place].s4...)
	}
	return append(dst, r[place].s8...)
}
