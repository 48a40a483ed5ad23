package usdt

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cilium/ebpf/asm"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// text prints instructions on one line.
func text(insns asm.Instructions) string {
	var lines []string
	for _, i := range insns {
		lines = append(lines, fmt.Sprintf("%v", i))
	}
	return strings.Join(lines, "; ")
}

func reg(base string, shift int) stapsdt.Operand {
	return stapsdt.Operand{Kind: stapsdt.Register, Base: base, Shift: shift}
}

func mem(disp int64, base, index string, scale int) stapsdt.Operand {
	return stapsdt.Operand{Kind: stapsdt.Memory, Value: disp, Base: base, Index: index, Scale: scale}
}

func constant(v int64) stapsdt.Operand { return stapsdt.Operand{Kind: stapsdt.Constant, Value: v} }

// The load of each kind of operand, as BPF. What it does in the kernel is shown
// by TestLoadArgRuns.
func TestLoadArg(t *testing.T) {
	const (
		zero = "MovImm dst: r0 imm: 0"
		read = "MovReg dst: r1 src: rfp; AddImm dst: r1 imm: -8; MovImm dst: r2 imm: %d; Call FnProbeReadUser; LdXMem%s dst: r7 src: rfp off: -8 imm: 0"
	)
	for _, tc := range []struct {
		name   string
		m      stapsdt.Machine
		size   int
		signed bool
		op     stapsdt.Operand
		want   string
	}{
		{"register, 8 bytes", stapsdt.X86_64, 8, true, reg("rdi", 0), "LdXMemDW dst: r7 src: r6 off: 112 imm: 0; " + zero},
		{"register, 4 bytes signed", stapsdt.X86_64, 4, true, reg("rax", 0), "LdXMemDW dst: r7 src: r6 off: 80 imm: 0; LShImm dst: r7 imm: 32; ArShImm dst: r7 imm: 32; " + zero},
		{"register, 1 byte unsigned", stapsdt.X86_64, 1, false, reg("rax", 0), "LdXMemDW dst: r7 src: r6 off: 80 imm: 0; LShImm dst: r7 imm: 56; RShImm dst: r7 imm: 56; " + zero},
		{"high byte", stapsdt.X86_64, 1, false, reg("rax", 8), "LdXMemDW dst: r7 src: r6 off: 80 imm: 0; RShImm dst: r7 imm: 8; LShImm dst: r7 imm: 56; RShImm dst: r7 imm: 56; " + zero},
		{"memory, 2 bytes signed", stapsdt.X86_64, 2, true, mem(-20, "rbp", "", 1), "LdXMemDW dst: r3 src: r6 off: 32 imm: 0; AddImm dst: r3 imm: -20; " + fmt.Sprintf(read, 2, "H") + "; LShImm dst: r7 imm: 48; ArShImm dst: r7 imm: 48"},
		{"memory, 4 bytes unsigned", stapsdt.X86_64, 4, false, mem(0, "rsp", "", 1), "LdXMemDW dst: r3 src: r6 off: 152 imm: 0; " + fmt.Sprintf(read, 4, "W")},
		{"memory with index", stapsdt.X86_64, 8, false, mem(8, "rax", "rbx", 8), "LdXMemDW dst: r3 src: r6 off: 80 imm: 0; LdXMemDW dst: r1 src: r6 off: 40 imm: 0; MulImm dst: r1 imm: 8; AddReg dst: r3 src: r1; AddImm dst: r3 imm: 8; " + fmt.Sprintf(read, 8, "DW")},
		{"memory, index alone", stapsdt.X86_64, 8, false, mem(0x1000, "", "rbx", 1), "MovImm dst: r3 imm: 0; LdXMemDW dst: r1 src: r6 off: 40 imm: 0; AddReg dst: r3 src: r1; AddImm dst: r3 imm: 4096; " + fmt.Sprintf(read, 8, "DW")},
		{"memory, wide displacement", stapsdt.X86_64, 8, false, mem(1<<40, "rax", "", 1), "LdXMemDW dst: r3 src: r6 off: 80 imm: 0; LdImmDW dst: r1 imm: 1099511627776; AddReg dst: r3 src: r1; " + fmt.Sprintf(read, 8, "DW")},
		{"constant", stapsdt.X86_64, 4, true, constant(-5), "LdImmDW dst: r7 imm: -5; " + zero},
		{"constant, cut to its size", stapsdt.X86_64, 1, false, constant(-1), "LdImmDW dst: r7 imm: 255; " + zero},
		{"constant, sign from its size", stapsdt.X86_64, 2, true, constant(0xffff), "LdImmDW dst: r7 imm: -1; " + zero},
		{"address of a variable", stapsdt.X86_64, 8, false, stapsdt.Operand{Kind: stapsdt.Constant, Base: "rip", Value: 64}, "LdXMemDW dst: r7 src: r6 off: 128 imm: 0; AddImm dst: r7 imm: 64; " + zero},
		{"i386 memory, wraps at 32 bits", stapsdt.I386, 4, false, mem(-4, "esp", "", 1), "LdXMemDW dst: r3 src: r6 off: 152 imm: 0; AddImm dst: r3 imm: -4; LShImm dst: r3 imm: 32; RShImm dst: r3 imm: 32; " + fmt.Sprintf(read, 4, "W")},
		{"arm64 register", stapsdt.ARM64, 8, false, reg("x19", 0), "LdXMemDW dst: r7 src: r6 off: 152 imm: 0; " + zero},
		{"arm64 stack", stapsdt.ARM64, 8, false, mem(12, "sp", "", 1), "LdXMemDW dst: r3 src: r6 off: 248 imm: 0; AddImm dst: r3 imm: 12; " + fmt.Sprintf(read, 8, "DW")},
		{"riscv64 register", stapsdt.RISCV64, 8, false, reg("a0", 0), "LdXMemDW dst: r7 src: r6 off: 80 imm: 0; " + zero},
		{"s390x register", stapsdt.S390X, 8, false, reg("r2", 0), "LdXMemDW dst: r7 src: r6 off: 40 imm: 0; " + zero},
		{"ppc64le register", stapsdt.PPC64LE, 8, false, reg("r9", 0), "LdXMemDW dst: r7 src: r6 off: 72 imm: 0; " + zero},
	} {
		t.Run(tc.name, func(t *testing.T) {
			arg := &stapsdt.Arg{Text: "x", Size: tc.size, Signed: tc.signed, Operand: tc.op}
			insns, err := LoadArg(tc.m, arg, Frame{Ctx: asm.R6, Dst: asm.R7, Scratch: -8})
			if err != nil {
				t.Fatal(err)
			}
			if got := text(insns); got != tc.want {
				t.Errorf("instructions\n got %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestLoadArgRefuses(t *testing.T) {
	cause := errors.New("operand is nonsense")
	frame := Frame{Ctx: asm.R6, Dst: asm.R7, Scratch: -8}
	for _, tc := range []struct {
		name  string
		arg   stapsdt.Arg
		frame Frame
		want  string
		is    error
	}{
		{"vector register", stapsdt.Arg{Text: "8f@%xmm0", Size: 8, Operand: reg("xmm0", 0)}, frame, `argument is not readable in bpf: "8f@%xmm0": register "xmm0" of x86-64 is not among those that the kernel shows to a program`, ErrUnreadable},
		{"struct by value", stapsdt.Arg{Text: "16@(%rax)", Size: 16, Operand: mem(0, "rax", "", 1)}, frame, `argument is not readable in bpf: "16@(%rax)": a value of 16 bytes does not fit a register`, ErrUnreadable},
		{"symbol not found", stapsdt.Arg{Text: "4@x(%rip)", Size: 4, Operand: stapsdt.Operand{Kind: stapsdt.Memory, Symbol: "x", SymbolBase: stapsdt.RIP}}, frame, `argument is not readable in bpf: "4@x(%rip)": the address of symbol "x" is not known`, ErrUnreadable},
		{"operand missing", stapsdt.Arg{Text: "?", Size: 4}, frame, `argument is not readable in bpf: "?": the operand is of an unknown kind`, ErrUnreadable},
		{"index unknown", stapsdt.Arg{Text: "?", Size: 4, Operand: mem(0, "rax", "xmm1", 1)}, frame, `argument is not readable in bpf: "?": register "xmm1" of x86-64 is not among those that the kernel shows to a program`, ErrUnreadable},
		{"not parsed", stapsdt.Arg{Text: "?", Size: 4, Err: cause}, frame, "argument is not readable in bpf: operand is nonsense", cause},
		{"context in a register that calls destroy", stapsdt.Arg{Size: 8, Operand: reg("rax", 0)}, Frame{Ctx: asm.R1, Dst: asm.R7, Scratch: -8}, "load argument: context in r1, want r6 to r9", nil},
		{"destination is the context", stapsdt.Arg{Size: 8, Operand: reg("rax", 0)}, Frame{Ctx: asm.R6, Dst: asm.R6, Scratch: -8}, "load argument: destination r6", nil},
		{"scratch unaligned", stapsdt.Arg{Size: 8, Operand: reg("rax", 0)}, Frame{Ctx: asm.R6, Dst: asm.R7, Scratch: -4}, "load argument: scratch at -4", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			insns, err := LoadArg(stapsdt.X86_64, &tc.arg, tc.frame)
			if err == nil || err.Error() != tc.want {
				t.Errorf("error %v, want %s", err, tc.want)
			}
			if tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("%v is not %v", err, tc.is)
			}
			if insns != nil {
				t.Error("instructions beside an error")
			}
		})
	}
}

func TestRegOffset(t *testing.T) {
	for _, tc := range []struct {
		m    stapsdt.Machine
		reg  string
		want int16 // -1: none
	}{
		{stapsdt.X86_64, "r15", 0}, {stapsdt.X86_64, "rip", 128}, {stapsdt.X86_64, "ss", 160}, {stapsdt.X86_64, "eax", -1},
		{stapsdt.ARM64, "x0", 0}, {stapsdt.ARM64, "x30", 240}, {stapsdt.ARM64, "x31", -1}, {stapsdt.ARM64, "pc", 256}, {stapsdt.ARM64, "v0", -1}, {stapsdt.ARM64, "x01", -1},
		{stapsdt.RISCV64, "pc", 0}, {stapsdt.RISCV64, "ra", 8}, {stapsdt.RISCV64, "s1", 72}, {stapsdt.RISCV64, "t6", 248},
		{stapsdt.S390X, "pc", 16}, {stapsdt.S390X, "r0", 24}, {stapsdt.S390X, "r15", 144}, {stapsdt.S390X, "r16", -1},
		{stapsdt.PPC64LE, "r31", 248}, {stapsdt.PPC64, "pc", 256},
		{stapsdt.I386, "eax", 80}, {stapsdt.I386, "eip", 128}, {stapsdt.I386, "rax", -1}, {stapsdt.I386, "e8", -1}, {stapsdt.I386, "eflags", -1},
	} {
		got, ok := regOffset(tc.m, tc.reg)
		if !ok {
			got = -1
		}
		if got != tc.want {
			t.Errorf("%s of %s at %d, want %d", tc.reg, tc.m, got, tc.want)
		}
	}
}
