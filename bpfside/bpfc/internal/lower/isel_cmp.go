package lower

import (
	"github.com/cilium/ebpf/asm"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// truth makes t what is given if the comparison v holds, else 0.
func (s *selector) truth(t reg, v *ir.Value, yes int64) {
	j, inverse := s.compare(v.Cond, v.Args[0], v.Args[1])
	no := int64(0)
	if inverse {
		yes, no = no, yes
	}
	s.makeIn(t, remat{imm: yes})
	other, done := s.f.newBlock(s.cur.depth), s.f.newBlock(s.cur.depth)
	s.end(j, done, other)
	s.start(other)
	s.makeIn(t, remat{imm: no})
	s.end(inst{kind: kJmp, dst: noReg, src: noReg}, done)
	s.start(done)
}

// compare returns a jump that is taken if x cond y, or if not in the case of
// inverse.
func (s *selector) compare(cond ir.Cond, x, y *ir.Value) (j inst, inverse bool) {
	if x.Op == ir.OpConst && y.Op != ir.OpConst {
		x, y, cond = y, x, cond.Swap()
	}
	wide := x.Type != ir.I32 || s.cpu < 3
	if (cond == ir.EQ || cond == ir.NE) && isZero(y) && x.Op == ir.OpAnd && s.uses[x.ID] == 1 &&
		(x.Type != ir.I32 || s.cpu >= 3) && s.origin(x) == x {
		a, b := x.Args[0], x.Args[1]
		if a.Op == ir.OpConst {
			a, b = b, a
		}
		j = inst{kind: kJcc, wide: wide, cond: condSet, dst: s.use(a), src: noReg}
		if b.Op == ir.OpConst && (!wide || fits32(b.Imm)) {
			j.imm = truncated(b.Imm, wide)
		} else {
			j.src = s.use(b)
		}
		return j, cond == ir.EQ
	}
	j = inst{kind: kJcc, wide: wide, cond: cond, dst: noReg, src: noReg}
	switch {
	case x.Type == ir.I32 && s.cpu < 3 && signed(cond):
		extended := func(x *ir.Value) reg {
			t := s.temp(x)
			s.aluImm(true, asm.LSh, t, 32)
			s.aluImm(true, asm.ArSh, t, 32)
			return t
		}
		j.dst = extended(x)
		if y.Op != ir.OpConst {
			j.src = extended(y)
			return j, false
		}
		j.imm = int64(int32(y.Imm))
		if !hasJump(s.cpu, cond) {
			j.cond = cond.Not()
			return j, true
		}
		return j, false
	case y.Op == ir.OpConst && !wide:
		j.imm = int64(int32(y.Imm))
	case y.Op == ir.OpConst && x.Type == ir.I32 && int32(y.Imm) >= 0:
		j.imm = int64(int32(y.Imm))
	case y.Op == ir.OpConst && x.Type != ir.I32 && fits32(y.Imm):
		j.imm = y.Imm
	default:
		j.src = s.use(y)
	}
	j.dst = s.use(x)
	if j.src == noReg && !hasJump(s.cpu, cond) {
		j.cond = cond.Not()
		return j, true
	}
	return j, false
}

// hasJump tells whether a level has the jump with an immediate: v1 has no less
// than, which with a register is greater than the other way round.
func hasJump(cpu int, c ir.Cond) bool {
	return cpu > 1 || c != ir.ULT && c != ir.ULE && c != ir.SLT && c != ir.SLE
}

func isZero(v *ir.Value) bool {
	return v.Op == ir.OpConst && truncated(v.Imm, v.Type != ir.I32) == 0
}
