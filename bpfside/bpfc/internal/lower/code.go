package lower

import (
	"github.com/cilium/ebpf/asm"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// Code is a function in instructions.
type Code struct {
	Func  *ir.Func
	Insns []Insn
	// Stack is the number of bytes of the frame that are used.
	Stack int
}

// An Insn is an instruction and what the loader has to know of it. Jumps have
// their distance in Offset, in slots of eight bytes as the machine counts them
// (gotol in Constant), so that no instruction has a label or a reference.
type Insn struct {
	asm.Instruction
	// Sym is what a call calls, or what a load of 64 bits gives the address of:
	// of a *ir.Func, of the map that a ".maps" global is, or of the variable in
	// its section plus Constant. Src is PseudoCall and 0 respectively; Constant
	// of a call is -1.
	Sym ir.Symbol
	Pos ir.Pos
}
