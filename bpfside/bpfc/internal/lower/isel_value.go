package lower

import (
	"math"
	"math/bits"

	"github.com/cilium/ebpf/asm"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// value writes the instructions of v.
func (s *selector) value(v *ir.Value) {
	switch v.Op {
	case ir.OpConst, ir.OpUndef, ir.OpGlobal, ir.OpFunc, ir.OpAlloca:
		// made where they are asked for
	case ir.OpZext, ir.OpPtrToInt, ir.OpIntToPtr, ir.OpBarrier:
		// the same register
	case ir.OpTrunc:
		if s.origin(v) == v {
			s.emit(inst{kind: kMov, dst: s.own(v), src: s.use(v.Args[0])})
		}
	case ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpAnd, ir.OpOr, ir.OpXor, ir.OpShl, ir.OpLShr, ir.OpAShr,
		ir.OpUDiv, ir.OpUMod:
		s.arith(v)
	case ir.OpSDiv, ir.OpSMod:
		s.signedDiv(v)
	case ir.OpCmp:
		if !s.fused[v.ID] && s.shifted[v.ID] == nil {
			s.truth(s.own(v), v, 1)
		}
	case ir.OpSext:
		if s.origin(v) == v {
			s.extend(s.own(v), v.Args[0], 4, true, v.Type)
		}
	case ir.OpSextIn:
		s.extend(s.own(v), v.Args[0], v.Size, v.Type == ir.I64 || s.low[v.ID], v.Type)
	case ir.OpBswap:
		t := s.own(v)
		s.moveTo(t, v.Args[0])
		s.emit(inst{kind: kSwap, size: uint8(v.Size), dst: t, src: noReg})
	case ir.OpLoad:
		s.load(v)
	case ir.OpStore:
		s.store(v)
	case ir.OpCopy:
		s.copyBytes(v)
	case ir.OpMove:
		s.moveBytes(v)
	case ir.OpSet:
		s.setBytes(v)
	case ir.OpLife:
		if obj, _, ok := s.frameAddress(v.Args[0]); ok {
			s.emit(inst{kind: kLife, dst: noReg, src: noReg, objs: []*object{obj}})
		}
	case ir.OpAtomic:
		s.atomic(v)
	case ir.OpCall:
		s.call(v, inst{kind: kCall, sym: v.Sym})
	case ir.OpHelper:
		s.call(v, inst{kind: kCall, imm: v.Imm})
	default:
		s.fail(v.Pos, "operation %v is not for the machine", v.Op)
	}
}

var aluOps = map[ir.Op]asm.ALUOp{
	ir.OpAdd: asm.Add, ir.OpSub: asm.Sub, ir.OpMul: asm.Mul, ir.OpUDiv: asm.Div, ir.OpUMod: asm.Mod,
	ir.OpAnd: asm.And, ir.OpOr: asm.Or, ir.OpXor: asm.Xor,
	ir.OpShl: asm.LSh, ir.OpLShr: asm.RSh, ir.OpAShr: asm.ArSh,
}

func (s *selector) alu(wide bool, op asm.ALUOp, dst, src reg) {
	s.emit(inst{kind: kALU, wide: wide, alu: op, dst: dst, src: src})
}

func (s *selector) aluImm(wide bool, op asm.ALUOp, dst reg, imm int64) {
	s.emit(inst{kind: kALU, wide: wide, alu: op, dst: dst, src: noReg, imm: imm})
}

// clean makes the upper half of t zero, below v3 too.
func (s *selector) clean(t reg) {
	if s.cpu >= 3 {
		s.emit(inst{kind: kMov, dst: t, src: t})
		return
	}
	s.aluImm(true, asm.LSh, t, 32)
	s.aluImm(true, asm.RSh, t, 32)
}

// arith writes an operation of two operands that the machine has.
func (s *selector) arith(v *ir.Value) {
	if _, _, ok := s.frameAddress(v); ok {
		return // made where it is asked for
	}
	x, y, op := v.Args[0], v.Args[1], v.Op
	wide := v.Type != ir.I32
	if commutes(op) && x.Op == ir.OpConst && y.Op != ir.OpConst {
		x, y = y, x
	}
	t := s.own(v)
	if y.Op == ir.OpConst {
		imm := y.Imm
		switch {
		case s.shifted[x.ID] == v:
			// 1 or 0, shifted: the one constant or the other.
			s.truth(t, x, 1<<imm)
			return
		case op == ir.OpShl || op == ir.OpLShr || op == ir.OpAShr:
			s.shift(v, t, x, imm)
			return
		case op == ir.OpUDiv && truncated(imm, wide) == 0:
			s.makeIn(t, remat{}) // the verifier refuses it, though it is defined
			return
		case op == ir.OpUMod && truncated(imm, wide) == 0:
			s.moveTo(t, x)
			if !wide && !s.low[v.ID] {
				s.clean(t)
			}
			return
		case op == ir.OpAnd && wide && s.cpu >= 3 && imm == math.MaxUint32:
			s.emit(inst{kind: kMov, dst: t, src: s.use(x)})
			return
		case op == ir.OpAnd && wide && s.cpu >= 3 && imm > math.MaxInt32 && imm < math.MaxUint32:
			s.moveTo(t, x)
			s.aluImm(false, asm.And, t, int64(int32(imm)))
			return
		case op == ir.OpSub && wide && fits32(-imm):
			s.moveTo(t, x)
			s.aluImm(true, asm.Add, t, -imm)
			return
		case op == ir.OpSub && !wide:
			s.moveTo(t, x)
			s.alu32(v, asm.Add, t, -imm)
			return
		case wide && fits32(imm):
			s.moveTo(t, x)
			s.aluImm(true, aluOps[op], t, imm)
			return
		case !wide && (s.cpu >= 3 || op != ir.OpUDiv && op != ir.OpUMod || int32(imm) >= 0):
			s.moveTo(t, x)
			s.alu32(v, aluOps[op], t, imm)
			return
		}
	}
	if op == ir.OpSub && x.Op == ir.OpConst && truncated(x.Imm, wide) == 0 {
		s.moveTo(t, y)
		s.emit(inst{kind: kNeg, wide: wide || s.cpu < 3, dst: t, src: noReg})
		s.tidy(v, t)
		return
	}
	if op == ir.OpShl || op == ir.OpLShr || op == ir.OpAShr {
		s.shiftBy(v, t, x, y)
		return
	}
	src := s.use(y)
	s.moveTo(t, x)
	s.alu(wide || s.cpu < 3, aluOps[op], t, src)
	s.cur.last().keep = v.Type == ir.Ptr
	s.tidy(v, t)
}

// truncated is x as an operand of an operation of 64 or 32 bits.
func truncated(x int64, wide bool) int64 {
	if wide {
		return x
	}
	return int64(int32(x))
}

func commutes(op ir.Op) bool {
	switch op {
	case ir.OpAdd, ir.OpMul, ir.OpAnd, ir.OpOr, ir.OpXor:
		return true
	}
	return false
}

// alu32 writes an operation of 32 bits with an immediate.
func (s *selector) alu32(v *ir.Value, op asm.ALUOp, t reg, imm int64) {
	s.aluImm(s.cpu < 3, op, t, int64(int32(imm)))
	s.tidy(v, t)
}

// tidy makes the upper half of t, the result of v, zero after an operation of 64
// bits stood in for one of 32, unless nobody reads it or it is zero anyway.
func (s *selector) tidy(v *ir.Value, t reg) {
	if v.Type == ir.I32 && s.cpu >= 3 && s.widened[v.ID] && (v.Op == ir.OpUDiv || v.Op == ir.OpUMod) {
		// It is zero, but the verifier does not know: __mark_reg_unknown of
		// adjust_scalar_min_max_vals, without the zero extension that others get.
		s.clean(t)
		return
	}
	if v.Type != ir.I32 || s.cpu >= 3 || s.low[v.ID] {
		return
	}
	if v.Op == ir.OpUDiv || v.Op == ir.OpUMod || v.Op == ir.OpLShr {
		return // of two clean operands
	}
	if s.bound(v, 6) <= math.MaxUint32 {
		return // a shift to and fro would cost what the verifier knows of it
	}
	s.clean(t)
}

// bound returns a number that the register of the I32 v does not exceed below v3,
// where an operation of 64 bits computes it, before its upper half is made zero.
// It looks back a few steps.
func (s *selector) bound(v *ir.Value, steps int) uint64 {
	const (
		clean   = math.MaxUint32
		unknown = math.MaxUint64
	)
	if v.Op == ir.OpConst {
		return uint64(int64(int32(v.Imm))) // as immediates are extended
	}
	if steps == 0 {
		return unknown
	}
	arg := func(i int) uint64 {
		n := s.bound(v.Args[i], steps-1)
		if n > clean && !s.low[v.Args[i].ID] && v.Args[i].Op != ir.OpConst {
			return clean // tidy has seen to it
		}
		return n
	}
	switch v.Op {
	case ir.OpParam, ir.OpCall:
		return clean
	case ir.OpCmp:
		return 1
	case ir.OpLoad:
		if !v.Signed {
			return 1<<(8*v.Size) - 1
		}
	case ir.OpAnd:
		return min(arg(0), arg(1))
	case ir.OpOr, ir.OpXor:
		return 1<<bits.Len64(arg(0)|arg(1)) - 1
	case ir.OpUDiv, ir.OpUMod:
		return arg(0)
	case ir.OpAdd, ir.OpMul, ir.OpShl, ir.OpLShr:
		x, y := arg(0), arg(1)
		switch {
		case x > clean || y > clean:
		case v.Op == ir.OpAdd:
			return x + y
		case v.Op == ir.OpMul:
			return x * y
		case v.Args[1].Op != ir.OpConst:
		case v.Op == ir.OpShl:
			return x << (y & 31)
		default:
			return x >> (y & 31)
		}
	}
	return unknown
}

// shift writes a shift by a constant.
func (s *selector) shift(v *ir.Value, t reg, x *ir.Value, count int64) {
	op := aluOps[v.Op]
	if v.Type != ir.I32 || s.cpu >= 3 {
		wide := v.Type != ir.I32
		mask := int64(31)
		if wide {
			mask = 63
		}
		s.moveTo(t, x)
		s.aluImm(wide, op, t, count&mask)
		return
	}
	count &= 31
	s.moveTo(t, x)
	switch v.Op {
	case ir.OpAShr:
		s.aluImm(true, asm.LSh, t, 32)
		s.aluImm(true, asm.ArSh, t, 32+count)
		s.tidy(v, t)
	default:
		s.aluImm(true, op, t, count)
		s.tidy(v, t)
	}
}

// shiftBy writes a shift by a register. The machine takes the count modulo the
// width of the operation.
func (s *selector) shiftBy(v *ir.Value, t reg, x, y *ir.Value) {
	op := aluOps[v.Op]
	if v.Type != ir.I32 || s.cpu >= 3 {
		count := s.use(y)
		s.moveTo(t, x)
		s.alu(v.Type != ir.I32, op, t, count)
		return
	}
	count := s.temp(y)
	s.aluImm(true, asm.And, count, 31)
	s.moveTo(t, x)
	if v.Op == ir.OpAShr {
		s.aluImm(true, asm.LSh, t, 32)
		s.aluImm(true, asm.ArSh, t, 32)
	}
	s.alu(true, op, t, count)
	s.tidy(v, t)
}

// extend makes t the low size bytes of x extended by their sign: to 64 bits if
// wide, else with the upper half zero.
func (s *selector) extend(t reg, x *ir.Value, size int, wide bool, to ir.Type) {
	if s.cpu >= 4 {
		s.emit(inst{kind: kMovSX, wide: wide, size: uint8(size), dst: t, src: s.use(x)})
		return
	}
	s.moveTo(t, x)
	s.extendIn(t, size, wide, to)
}

// extendIn extends the low size bytes of t below v4.
func (s *selector) extendIn(t reg, size int, wide bool, to ir.Type) {
	if to == ir.I32 && s.cpu >= 3 {
		s.aluImm(false, asm.LSh, t, int64(32-8*size))
		s.aluImm(false, asm.ArSh, t, int64(32-8*size))
		return
	}
	s.aluImm(true, asm.LSh, t, int64(64-8*size))
	s.aluImm(true, asm.ArSh, t, int64(64-8*size))
	if !wide {
		s.clean(t)
	}
}

// call passes arguments and takes the result.
func (s *selector) call(v *ir.Value, i inst) {
	if len(v.Args) > 5 {
		name := "a helper"
		if v.Sym != nil {
			name = v.Sym.SymbolName()
		}
		s.fail(v.Pos, "call of %s with %d arguments: eBPF passes at most 5", name, len(v.Args))
		return
	}
	for n, a := range v.Args {
		i.objs = s.pointees(i.objs, a)
		if !s.isMade(a) {
			s.moveTo(r1+reg(n), a)
		}
	}
	for n, a := range v.Args {
		if s.isMade(a) {
			s.moveTo(r1+reg(n), a)
		}
	}
	i.dst, i.src, i.nargs = noReg, noReg, uint8(len(v.Args))
	s.emit(i)
	clear(s.made)
	if v.Type != ir.Void {
		s.copy(s.own(v), r0)
	}
}
