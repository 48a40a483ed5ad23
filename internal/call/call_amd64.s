#include "textflag.h"

// Frame offsets, held by TestFrameOffsets: words 0, ptrs 96.

// LOAD puts one argument into a register; R13 is the frame.
#define LOAD(i, reg) \
	MOVQ (i*8)(R13), reg      \
	ORQ  (96 + i*8)(R13), reg

// func Site(entry uintptr, f *Frame)
//
// The registers in order are those of elfgen's sites: AX BX CX DX SI DI R8 to
// R13. The site is entered by a jump: its RET returns to our caller, so there may
// be no frame to undo. R14 carries the target. R15 is the GOT pointer of dynamically linked
// Go, and BP and SP stay for whoever unwinds here. g (R14) and X15 need no
// saving: the ABI wrapper through which Go calls this function restores them.
TEXT ·Site(SB), NOSPLIT|NOFRAME, $0-16
	MOVQ  f+8(FP), R13
	MOVQ  entry+0(FP), R14
	TESTQ R14, R14
	JNZ   enter

	// Never reached with a site. The call makes the linker count the stack
	// of reserve below this frame; see there.
	CALL reserve<>(SB)
	RET

enter:
	LOAD(0, AX)
	LOAD(1, BX)
	LOAD(2, CX)
	LOAD(3, DX)
	LOAD(4, SI)
	LOAD(5, DI)
	LOAD(6, R8)
	LOAD(7, R9)
	LOAD(8, R10)
	LOAD(9, R11)
	LOAD(10, R12)
	MOVQ 88(R13), R14
	ORQ  184(R13), R14
	MOVQ R14, R13           // the frame pointer goes last
	MOVQ entry+0(FP), R14
	JMP  R14                // the site's RET returns for us

// reserve stands for what a kernel since 6.18 pushes below SP when a site is
// traced: an optimized nop5 is a CALL into a trampoline that pushes r11, rcx
// and rax and enters uprobe(2) (arch/x86/kernel/uprobes.c); measured, up to
// 160 bytes. The frame size of Site itself moves SP and reserves nothing below it.
TEXT reserve<>(SB), NOSPLIT, $192-0
	RET

// func StackBounds() (lo, hi uintptr)
//
// The stack's bounds are the first words of g; runtime/runtime2.go keeps them
// there for runtime/cgo.
TEXT ·StackBounds(SB), NOSPLIT, $0-16
	MOVQ (TLS), AX
	MOVQ 0(AX), CX
	MOVQ 8(AX), DX
	MOVQ CX, lo+0(FP)
	MOVQ DX, hi+8(FP)
	RET
