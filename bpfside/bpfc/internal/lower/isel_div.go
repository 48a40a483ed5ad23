package lower

import (
	"github.com/cilium/ebpf/asm"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// signedDiv writes a signed division or remainder. Only v4 has them; otherwise
// the magnitudes are divided, and the sign is set after that: of a quotient the
// product of both signs, of a remainder that of the dividend. Dividing the
// lowest number by -1 comes out as the machine has it, since its magnitude is
// right as an unsigned number; so does dividing by 0.
func (s *selector) signedDiv(v *ir.Value) {
	x, y := v.Args[0], v.Args[1]
	wide := v.Type != ir.I32
	op := asm.Div
	if v.Op == ir.OpSMod {
		op = asm.Mod
	}
	t := s.own(v)
	if y.Op == ir.OpConst && truncated(y.Imm, wide) == 0 {
		if op == asm.Div {
			s.makeIn(t, remat{})
		} else {
			s.moveTo(t, x)
			if !wide && !s.low[v.ID] {
				s.clean(t)
			}
		}
		return
	}
	if s.cpu >= 4 {
		i := inst{kind: kALU, wide: wide, signed: true, alu: op, dst: t, src: noReg}
		if y.Op == ir.OpConst && (!wide || fits32(y.Imm)) {
			i.imm = truncated(y.Imm, wide)
		} else {
			i.src = s.use(y)
		}
		s.moveTo(t, x)
		s.emit(i)
		if !wide && s.widened[v.ID] {
			s.clean(t) // as tidy says
		}
		return
	}
	// Below v3 the operands are extended, and 64 bits divided.
	w := wide || s.cpu < 3
	operand := func(x *ir.Value) reg {
		t := s.temp(x)
		if !wide && s.cpu < 3 {
			s.aluImm(true, asm.LSh, t, 32)
			s.aluImm(true, asm.ArSh, t, 32)
		}
		return t
	}
	if !wide && s.cpu >= 3 && !s.negative(v, x) && !s.negative(v, y) || wide && !s.negative(v, x) && !s.negative(v, y) {
		s.unsignedDiv(v, wide, op)
		return
	}
	num := operand(x)
	sign := s.f.newReg()
	s.copy(sign, num)
	var den reg
	constant := y.Op == ir.OpConst
	magnitude := int64(0)
	if constant {
		d := truncated(y.Imm, wide)
		magnitude = d
		if d < 0 {
			magnitude = -d
			if op == asm.Div {
				s.aluImm(w, asm.Xor, sign, -1)
			}
		}
		// A magnitude above the immediates is one of an I64, or 1<<31.
		if !fits32(magnitude) || magnitude < 0 {
			constant = false
			den = s.f.newReg()
			s.makeIn(den, remat{imm: magnitude})
		}
	} else {
		den = operand(y)
		if op == asm.Div {
			s.alu(w, asm.Xor, sign, den)
		}
		s.absolute(w, den, den)
	}
	s.absolute(w, num, num)
	if constant {
		s.aluImm(w, op, num, magnitude)
	} else {
		s.alu(w, op, num, den)
	}
	s.absolute(w, sign, num)
	s.copy(t, num)
	if !wide && (s.cpu < 3 && !s.low[v.ID] || s.widened[v.ID]) {
		s.clean(t)
	}
}

// negative tells whether x may be negative where v is.
func (s *selector) negative(v, x *ir.Value) bool {
	if x.Op == ir.OpConst {
		return truncated(x.Imm, x.Type != ir.I32) < 0
	}
	if x.Type == ir.I64 && narrow(x) {
		return false
	}
	if x.Op == ir.OpLShr && x.Args[1].Op == ir.OpConst && x.Args[1].Imm&int64(8*x.Type.Size()-1) != 0 {
		return false
	}
	// Do the ways that lead here ask whether it is?
	b := v.Block
	for range maxWalk {
		preds := s.preds[b.ID]
		if len(preds) != 1 {
			return true
		}
		from := preds[0].From
		if t := &from.Term; t.Kind == ir.TermIf && t.Succs[0].To != t.Succs[1].To {
			c := t.Args[0]
			if c.Op == ir.OpCmp && c.Args[0] == x && c.Args[1].Op == ir.OpConst {
				cond, bound := c.Cond, truncated(c.Args[1].Imm, x.Type != ir.I32)
				if preds[0].Index == 1 {
					cond = cond.Not()
				}
				if (cond == ir.SGE || cond == ir.SGT || cond == ir.EQ) && bound >= 0 || cond == ir.SGT && bound == -1 {
					return false
				}
			}
		}
		b = from
	}
	return true
}

// maxWalk bounds how far back selection looks for what is known of a value.
const maxWalk = 16

// unsignedDiv writes a division of numbers that are not negative.
func (s *selector) unsignedDiv(v *ir.Value, wide bool, op asm.ALUOp) {
	x, y, t := v.Args[0], v.Args[1], s.own(v)
	if y.Op == ir.OpConst && (!wide || fits32(y.Imm)) {
		s.moveTo(t, x)
		s.aluImm(wide, op, t, truncated(y.Imm, wide))
	} else {
		src := s.use(y)
		s.moveTo(t, x)
		s.alu(wide, op, t, src)
	}
	if !wide && s.widened[v.ID] {
		s.clean(t) // as tidy says
	}
}

// absolute negates t if the sign bit of sign is set.
func (s *selector) absolute(wide bool, sign, t reg) {
	neg, done := s.f.newBlock(s.cur.depth), s.f.newBlock(s.cur.depth)
	s.end(inst{kind: kJcc, wide: wide, cond: ir.SGE, dst: sign, src: noReg}, done, neg)
	s.start(neg)
	s.emit(inst{kind: kNeg, wide: wide, dst: t, src: noReg})
	s.end(inst{kind: kJmp, dst: noReg, src: noReg}, done)
	s.start(done)
}
