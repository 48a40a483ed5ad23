#include "textflag.h"

// Frame offsets, held by TestFrameOffsets: words 0, ptrs 96.

// LOAD puts one argument into a register; R13 is the frame.
#define LOAD(i, reg) \
	MOVD (i*8)(R13), reg       \
	MOVD (96 + i*8)(R13), R14  \
	ORR  R14, reg, reg

// func Site(entry uintptr, f *Frame)
//
// The registers in order are those of elfgen's sites: R0 to R11. R12 carries
// the target, R13 and R14 are scratch. R18 belongs to the platform, R27 to
// the assembler, R28 is g, R29 the frame pointer; the link register is saved
// by the frame.
TEXT ·Site(SB), NOSPLIT, $16-16
	MOVD f+8(FP), R13
	MOVD entry+0(FP), R12
	CBZ  R12, none
	LOAD(0, R0)
	LOAD(1, R1)
	LOAD(2, R2)
	LOAD(3, R3)
	LOAD(4, R4)
	LOAD(5, R5)
	LOAD(6, R6)
	LOAD(7, R7)
	LOAD(8, R8)
	LOAD(9, R9)
	LOAD(10, R10)
	LOAD(11, R11)
	CALL (R12)

none:
	RET

// func StackBounds() (lo, hi uintptr)
//
// The stack's bounds are the first words of g; runtime/runtime2.go keeps them
// there for runtime/cgo.
TEXT ·StackBounds(SB), NOSPLIT, $0-16
	MOVD 0(g), R0
	MOVD 8(g), R1
	MOVD R0, lo+0(FP)
	MOVD R1, hi+8(FP)
	RET
