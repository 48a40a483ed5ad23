package lower

import (
	"math"

	"github.com/cilium/ebpf/asm"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// encoder writes the blocks of a function one after the other.
type encoder struct {
	f     *fn
	insns []Insn
	slot  int // of the next instruction
	slots []int
	start map[*block]int
	jumps []jump
	pos   ir.Pos
}

// A jump is an instruction whose distance is set when all blocks have a place.
type jump struct {
	insn int
	to   *block
}

func encode(f *fn, order []*block) ([]Insn, error) {
	e := &encoder{f: f, start: make(map[*block]int, len(order))}
	for n, b := range order {
		var next *block
		if n+1 < len(order) {
			next = order[n+1]
		}
		e.start[b] = e.slot
		for k := range b.insts {
			i := &b.insts[k]
			e.pos = i.pos
			if i.ends() {
				e.end(b, i, next)
				continue
			}
			if err := e.inst(i); err != nil {
				return nil, err
			}
		}
	}
	for _, j := range e.jumps {
		in := &e.insns[j.insn]
		distance := e.start[j.to] - e.slots[j.insn] - 1
		switch {
		case distance == int(int16(distance)):
			in.Offset = int16(distance)
		case f.opts.CPU >= 4 && in.OpCode.JumpOp() == asm.Ja:
			in.OpCode = asm.OpCode(asm.Jump32Class) | asm.OpCode(asm.Ja)
			in.Constant = int64(distance)
		default:
			return nil, ir.Errorf(in.Pos, "function %s is too long: a jump of %d instructions, more than %d",
				f.src.Name, distance, math.MaxInt16)
		}
	}
	return e.insns, nil
}

func (e *encoder) emit(in asm.Instruction, sym ir.Symbol) {
	e.insns = append(e.insns, Insn{Instruction: in, Sym: sym, Pos: e.pos})
	e.slots = append(e.slots, e.slot)
	e.slot++
	if in.OpCode.IsDWordLoad() {
		e.slot++
	}
}

func (e *encoder) jump(in asm.Instruction, to *block) {
	e.jumps = append(e.jumps, jump{len(e.insns), to})
	e.emit(in, nil)
}

// end writes what ends b, given the block that comes after it.
func (e *encoder) end(b *block, i *inst, next *block) {
	ja := asm.Instruction{OpCode: asm.OpCode(asm.JumpClass) | asm.OpCode(asm.Ja)}
	switch i.kind {
	case kExit:
		e.emit(asm.Return(), nil)
	case kJmp:
		if b.succs[0] != next {
			e.jump(ja, b.succs[0])
		}
	case kJcc:
		yes, no := b.succs[0], b.succs[1]
		if yes == no {
			if yes != next {
				e.jump(ja, yes)
			}
			return
		}
		j := *i
		if yes == next && j.invertible(e.f.opts.CPU) {
			yes, no = no, yes
			j.cond = j.cond.Not()
		}
		e.jump(e.conditional(&j), yes)
		if no != next {
			e.jump(ja, no)
		}
	}
}

var jumpOps = map[ir.Cond]asm.JumpOp{
	ir.EQ: asm.JEq, ir.NE: asm.JNE, ir.ULT: asm.JLT, ir.ULE: asm.JLE, ir.UGT: asm.JGT, ir.UGE: asm.JGE,
	ir.SLT: asm.JSLT, ir.SLE: asm.JSLE, ir.SGT: asm.JSGT, ir.SGE: asm.JSGE, condSet: asm.JSet,
}

// conditional returns the jump of i.
func (e *encoder) conditional(i *inst) asm.Instruction {
	cond, dst, src := i.cond, i.dst, i.src
	if !hasJump(e.f.opts.CPU, cond) {
		cond, dst, src = cond.Swap(), src, dst // of two registers
	}
	class := asm.JumpClass
	if !i.wide {
		class = asm.Jump32Class
	}
	op := asm.OpCode(class) | asm.OpCode(jumpOps[cond])
	in := asm.Instruction{OpCode: op, Dst: asm.Register(dst)}
	if src == noReg {
		in.Constant = i.imm
	} else {
		in.OpCode |= asm.OpCode(asm.RegSource)
		in.Src = asm.Register(src)
	}
	return in
}

func sizeOf(bytes uint8) asm.Size {
	switch bytes {
	case 1:
		return asm.Byte
	case 2:
		return asm.Half
	case 4:
		return asm.Word
	}
	return asm.DWord
}

// address returns the base and the offset of an access.
func (i *inst) address(base reg) (asm.Register, int, error) {
	off := int(i.off)
	if i.frame != nil {
		base = r10
		off += i.frame.off
	}
	if off != int(int16(off)) {
		return 0, 0, ir.Errorf(i.pos, "offset %d of an access does not fit 16 bits", off)
	}
	return asm.Register(base), off, nil
}

func class(wide bool) asm.OpCode {
	if wide {
		return asm.OpCode(asm.ALU64Class)
	}
	return asm.OpCode(asm.ALUClass)
}

// arith returns an instruction of an ALU class.
func arith(wide bool, op asm.ALUOp, dst, src reg, imm int64) asm.Instruction {
	in := asm.Instruction{OpCode: class(wide) | asm.OpCode(op), Dst: asm.Register(dst)}
	if src == noReg {
		in.Constant = imm
	} else {
		in.OpCode |= asm.OpCode(asm.RegSource)
		in.Src = asm.Register(src)
	}
	return in
}

var atomicOps = map[ir.AtomicOp][2]asm.AtomicOp{ // plain, and with the old value
	ir.AtomicAdd:     {asm.AddAtomic, asm.FetchAdd},
	ir.AtomicAnd:     {asm.AndAtomic, asm.FetchAnd},
	ir.AtomicOr:      {asm.OrAtomic, asm.FetchOr},
	ir.AtomicXor:     {asm.XorAtomic, asm.FetchXor},
	ir.AtomicXchg:    {asm.Xchg, asm.Xchg},
	ir.AtomicCmpXchg: {asm.CmpXchg, asm.CmpXchg},
}

func (e *encoder) inst(i *inst) error {
	switch i.kind {
	case kMov:
		e.emit(arith(i.wide, asm.Mov, i.dst, i.src, i.imm), nil)
	case kMovSX:
		op := map[uint8]asm.ALUOp{1: asm.MovSX8, 2: asm.MovSX16, 4: asm.MovSX32}[i.size]
		e.emit(arith(i.wide, op, i.dst, i.src, 0), nil)
	case kLdImm:
		e.emit(asm.Instruction{OpCode: asm.LoadImmOp(asm.DWord), Dst: asm.Register(i.dst), Constant: i.imm}, i.sym)
	case kLea:
		e.emit(arith(true, asm.Mov, i.dst, r10, 0), nil)
		e.emit(arith(true, asm.Add, i.dst, noReg, int64(i.frame.off)+int64(i.off)), nil)
	case kALU:
		op := i.alu
		if i.signed {
			op |= 0x100 // asm.SDiv of asm.Div, asm.SMod of asm.Mod
		}
		e.emit(arith(i.wide, op, i.dst, i.src, i.imm), nil)
	case kNeg:
		e.emit(arith(i.wide, asm.Neg, i.dst, noReg, 0), nil)
	case kSwap:
		if e.f.opts.CPU >= 4 {
			// The unconditional one, BPF_ALU64 | BPF_TO_LE | BPF_END.
			e.emit(asm.Instruction{OpCode: class(true) | asm.OpCode(asm.Swap), Dst: asm.Register(i.dst), Constant: 8 * int64(i.size)}, nil)
		} else {
			// To big endian, which is a swap since the target is little endian.
			e.emit(asm.Instruction{OpCode: class(false) | asm.OpCode(asm.BE) | asm.OpCode(asm.Swap), Dst: asm.Register(i.dst), Constant: 8 * int64(i.size)}, nil)
		}
	case kLoad:
		base, off, err := i.address(i.src)
		if err != nil {
			return err
		}
		mode := asm.MemMode
		if i.signed {
			mode = asm.MemSXMode
		}
		e.emit(asm.Instruction{OpCode: asm.OpCode(asm.LdXClass).SetMode(mode).SetSize(sizeOf(i.size)),
			Dst: asm.Register(i.dst), Src: base, Offset: int16(off)}, nil)
	case kStore:
		base, off, err := i.address(i.dst)
		if err != nil {
			return err
		}
		if i.src == noReg {
			e.emit(asm.Instruction{OpCode: asm.OpCode(asm.StClass).SetMode(asm.MemMode).SetSize(sizeOf(i.size)),
				Dst: base, Offset: int16(off), Constant: i.imm}, nil)
			return nil
		}
		e.emit(asm.Instruction{OpCode: asm.OpCode(asm.StXClass).SetMode(asm.MemMode).SetSize(sizeOf(i.size)),
			Dst: base, Src: asm.Register(i.src), Offset: int16(off)}, nil)
	case kAtomic:
		base, off, err := i.address(i.dst)
		if err != nil {
			return err
		}
		op := atomicOps[i.atomic][b2i(i.fetch)]
		e.emit(asm.Instruction{OpCode: asm.OpCode(asm.StXClass).SetMode(asm.AtomicMode).SetSize(sizeOf(i.size)).SetAtomicOp(op),
			Dst: base, Src: asm.Register(i.src), Offset: int16(off)}, nil)
	case kCall:
		in := asm.Instruction{OpCode: asm.OpCode(asm.JumpClass) | asm.OpCode(asm.Call), Constant: i.imm}
		if i.sym != nil {
			in.Src, in.Constant = asm.PseudoCall, -1
		}
		e.emit(in, i.sym)
	}
	return nil
}
