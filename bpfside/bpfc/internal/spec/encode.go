package spec

import (
	"encoding/binary"
	"fmt"

	"github.com/cilium/ebpf/asm"
)

// insnSize is the size of an instruction. A ld_imm64 takes two.
const insnSize = asm.InstructionSize

// appendInsn appends an instruction as the kernel reads it, little endian:
//
//	code:8 dst:4 src:4 off:16 imm:32
//
// (linux/bpf.h, struct bpf_insn; Documentation/bpf/standardization/instruction-set.rst).
// asm.Instruction.Marshal does not do it: v0.22 leaves out the immediate of an
// atomic operation that was not read from somewhere, and refuses to call a
// helper on another system than Linux.
func appendInsn(dst []byte, ins asm.Instruction) ([]byte, error) {
	off, imm := ins.Offset, ins.Constant
	// What package asm keeps in the upper bits of the opcode goes where the
	// kernel has it.
	switch op := ins.OpCode; {
	case op.Class().IsALU():
		switch op.ALUOp() {
		case asm.SDiv, asm.SMod:
			off = 1
		case asm.MovSX8:
			off = 8
		case asm.MovSX16:
			off = 16
		case asm.MovSX32:
			off = 32
		}
	case op.AtomicOp() != asm.InvalidAtomic:
		imm = int64(op.AtomicOp() >> 8)
	}
	wide := ins.OpCode.IsDWordLoad()
	if !wide && imm != int64(int32(imm)) && imm != int64(uint32(imm)) {
		return nil, fmt.Errorf("%v: the constant %#x is wider than 32 bits", ins.OpCode, imm)
	}
	if ins.Dst > asm.R10 || ins.Src > asm.R10 {
		return nil, fmt.Errorf("%v: no such register", ins)
	}
	dst = append(dst, byte(ins.OpCode), byte(ins.Dst)|byte(ins.Src)<<4)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(off))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(imm))
	if wide {
		dst = append(dst, 0, 0, 0, 0)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(imm>>32))
	}
	return dst, nil
}
