package lower

import (
	"math"
	"slices"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// Selection walks the blocks in reverse postorder and writes instructions for
// each value in turn. What costs nothing to make again has no register of its
// own: constants become immediates, addresses of the frame become part of an
// access, comparisons become part of the jump that asks for them. Those
// instructions whose result nobody asked for in the end are removed afterwards
// (see simplify), which saves keeping accounts here.

type selector struct {
	f    *fn
	src  *ir.Func
	cpu  int
	cur  *block
	pos  ir.Pos
	err  *ir.Error
	regs []reg // by ID of the value
	uses []int // by ID of the value: how many ask for it
	// low are the I32 values of which nobody reads the upper half of the
	// register, so that it may hold anything.
	low   []bool
	fused []bool // comparisons that jumps alone ask for
	// shifted has the shift by a constant that alone asks for a comparison.
	shifted []*ir.Value
	preds   [][]ir.Pred
	// widened are the I32 values that become addresses, or may, as 64 bits.
	widened []bool
	// sexted are those that are extended by their sign.
	sexted []bool
	first  map[*ir.Block]*block
	objs   map[*ir.Value]*object // of each alloca
	// points tells into which objects of the frame a value may point, by ID.
	points []bitset
	// made are the registers of the current block that hold what can be made
	// again, until a call: beyond it they would compete for r6-r9. left are those
	// of a block at its end.
	made map[remat]reg
	left map[*ir.Block]map[remat]reg
}

// A remat is what can be made again from nothing: a constant or an address.
type remat struct {
	sym ir.Symbol
	imm int64
}

func selectFunc(src *ir.Func, opts Options) (*fn, error) {
	n := src.NumIDs()
	s := &selector{
		f:       &fn{src: src, opts: opts, nregs: int(firstVirtual)},
		src:     src,
		cpu:     opts.CPU,
		regs:    make([]reg, n),
		uses:    make([]int, n),
		low:     make([]bool, n),
		fused:   make([]bool, n),
		shifted: make([]*ir.Value, n),
		preds:   src.Preds(),
		widened: make([]bool, n),
		sexted:  make([]bool, n),
		first:   map[*ir.Block]*block{},
		objs:    map[*ir.Value]*object{},
		left:    map[*ir.Block]map[remat]reg{},
	}
	for i := range s.regs {
		s.regs[i] = noReg
	}
	order := src.Reachable()
	s.survey(order)
	s.findShifted(order)
	s.frameObjects(order)
	_, innermost := src.Loops(src.Dominators())
	for _, b := range order {
		depth := 0
		if l := innermost[b.ID]; l != nil {
			depth = l.Depth
		}
		s.first[b] = s.f.newBlock(depth)
	}
	for i, b := range order {
		s.cur = s.first[b]
		// What has been made on the only way here is still there.
		s.made = map[remat]reg{}
		if p := s.preds[b.ID]; len(p) == 1 {
			for r, t := range s.left[p[0].From] {
				if r.sym != nil {
					s.made[r] = t
				}
			}
		}
		if i == 0 {
			s.entry()
		}
		for _, v := range b.Values {
			s.pos = v.Pos
			s.value(v)
		}
		s.pos = b.Term.Pos
		s.term(b)
		s.left[b] = s.made
	}
	if s.err != nil {
		return nil, s.err
	}
	return s.f, nil
}

// survey finds who reads what.
func (s *selector) survey(order []*ir.Block) {
	for i := range s.low {
		s.low[i], s.fused[i] = true, true
	}
	use := func(v *ir.Value, low, jump bool) {
		s.uses[v.ID]++
		s.low[v.ID] = s.low[v.ID] && low
		s.fused[v.ID] = s.fused[v.ID] && jump
	}
	for _, b := range order {
		for _, v := range b.Values {
			for i, a := range v.Args {
				use(a, s.readsLow(v, i), false)
				s.widened[a.ID] = s.widened[a.ID] || v.Op == ir.OpZext
				s.sexted[a.ID] = s.sexted[a.ID] || v.Op == ir.OpSext
			}
		}
		for _, a := range b.Term.Args {
			use(a, b.Term.Kind != ir.TermRet && s.cpu >= 3, b.Term.Kind == ir.TermIf)
		}
		for _, e := range b.Term.Succs {
			for _, a := range e.Args {
				use(a, false, false)
				s.widened[a.ID] = true
			}
		}
	}
}

// findShifted finds comparisons whose result is shifted, as a logarithm of 2 does.
func (s *selector) findShifted(order []*ir.Block) {
	for _, b := range order {
		for _, v := range b.Values {
			if v.Op != ir.OpShl || v.Args[1].Op != ir.OpConst || v.Args[1].Imm < 0 || v.Args[1].Imm > 30 {
				continue
			}
			x := v.Args[0]
			if x.Op == ir.OpCmp && s.uses[x.ID] == 1 && x.Block == b {
				s.shifted[x.ID] = v
			}
		}
	}
}

// readsLow tells whether v reads the lower half alone of its argument i, an I32.
func (s *selector) readsLow(v *ir.Value, i int) bool {
	alu32 := s.cpu >= 3
	switch v.Op {
	case ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpAnd, ir.OpOr, ir.OpXor, ir.OpShl, ir.OpSDiv, ir.OpSMod:
		return v.Type == ir.I32
	case ir.OpLShr, ir.OpUDiv, ir.OpUMod:
		return v.Type == ir.I32 && alu32
	case ir.OpAShr:
		return v.Type == ir.I32
	case ir.OpCmp:
		return v.Args[0].Type == ir.I32 && (alu32 || signed(v.Cond))
	case ir.OpSext, ir.OpSextIn:
		return true
	case ir.OpBswap:
		return v.Size <= 4
	case ir.OpStore:
		return i == 1 && v.Size <= 4
	case ir.OpAtomic:
		return i == 1 && v.Size <= 4 && v.Atomic != ir.AtomicCmpXchg
	}
	return false
}

func signed(c ir.Cond) bool { return c >= ir.SLT && c <= ir.SGE }

func (s *selector) fail(pos ir.Pos, format string, args ...any) {
	if s.err == nil {
		s.err = ir.Errorf(pos, format, args...)
	}
}

func (s *selector) emit(i inst) {
	i.pos = s.pos
	s.cur.insts = append(s.cur.insts, i)
}

// start makes b the block that code goes to.
func (s *selector) start(b *block) { s.cur = b }

// end ends the current block.
func (s *selector) end(i inst, succs ...*block) {
	s.emit(i)
	s.cur.succs = succs
}

// entry moves the parameters of the function out of r1-r5.
func (s *selector) entry() {
	params := s.src.Params()
	if len(params) > 5 {
		s.fail(s.src.Pos, "function %s has %d parameters: eBPF passes at most 5", s.src.Name, len(params))
		return
	}
	// The caller is ours, and has the upper half zero, or it is the kernel: of a
	// callback, or of a function that the verifier checks for every caller.
	foreign := s.src.AddrTaken || s.src.Section == "" && s.src.Linkage != ir.Static && !s.src.Hidden
	s.pos = s.src.Pos
	for i, p := range params {
		s.copy(s.own(p), r1+reg(i))
	}
	for _, p := range params {
		if foreign && p.Type == ir.I32 {
			s.clean(s.own(p))
		}
	}
}

// own returns the register that v itself is kept in.
func (s *selector) own(v *ir.Value) reg {
	if s.regs[v.ID] == noReg {
		s.regs[v.ID] = s.f.newReg()
	}
	return s.regs[v.ID]
}

// origin follows v to the value whose register it shares.
func (s *selector) origin(v *ir.Value) *ir.Value {
	for {
		switch v.Op {
		case ir.OpZext, ir.OpPtrToInt, ir.OpIntToPtr, ir.OpBarrier:
		case ir.OpTrunc:
			if !s.low[v.ID] && !narrow(v.Args[0]) {
				return v
			}
		case ir.OpSext:
			if !s.loadsSign(v.Args[0]) {
				return v
			}
		default:
			return v
		}
		if len(v.Args) == 0 {
			return v
		}
		v = v.Args[0]
	}
}

// loadsSign tells of an I32 whose load extends the sign to 64 bits, since somebody
// asks for that, and nobody for an upper half of zero.
func (s *selector) loadsSign(v *ir.Value) bool {
	return v.Op == ir.OpLoad && v.Signed && v.Type == ir.I32 && s.low[v.ID] && s.sexted[v.ID] && v.Align >= v.Size
}

// narrow tells of an I64 whose upper half is known to be zero.
func narrow(v *ir.Value) bool {
	switch v.Op {
	case ir.OpZext:
		return true
	case ir.OpLoad:
		return v.Size <= 4 && !v.Signed
	case ir.OpConst:
		return uint64(v.Imm) <= math.MaxUint32
	case ir.OpAnd:
		return narrow(v.Args[0]) || narrow(v.Args[1])
	case ir.OpLShr:
		return v.Args[1].Op == ir.OpConst && v.Args[1].Imm&63 >= 32
	case ir.OpBswap:
		return v.Size <= 4
	}
	return false
}

// use returns a register that holds v. It may not be written.
func (s *selector) use(v *ir.Value) reg {
	v = s.origin(v)
	if r, ok := s.rematOf(v); ok {
		return s.make(r)
	}
	if obj, off, ok := s.frameAddress(v); ok {
		t := s.f.newReg()
		s.emit(inst{kind: kLea, dst: t, src: noReg, frame: obj, off: off})
		return t
	}
	return s.own(v)
}

// rematOf tells what makes v again, if something does.
func (s *selector) rematOf(v *ir.Value) (remat, bool) {
	switch v.Op {
	case ir.OpConst:
		if v.Type == ir.I32 {
			return remat{imm: int64(uint32(v.Imm))}, true
		}
		return remat{imm: v.Imm}, true
	case ir.OpUndef:
		return remat{}, true
	case ir.OpGlobal, ir.OpFunc:
		return remat{sym: v.Sym, imm: v.Imm}, true
	}
	return remat{}, false
}

// make returns a register that holds what r makes.
func (s *selector) make(r remat) reg {
	if t, ok := s.made[r]; ok {
		return t
	}
	t := s.f.newReg()
	s.makeIn(t, r)
	s.made[r] = t
	return t
}

// makeIn makes r in t.
func (s *selector) makeIn(t reg, r remat) {
	switch {
	case r.sym != nil:
		s.emit(inst{kind: kLdImm, dst: t, src: noReg, sym: r.sym, imm: r.imm})
	case fits32(r.imm):
		s.emit(inst{kind: kMov, wide: true, dst: t, src: noReg, imm: r.imm})
	case uint64(r.imm) <= math.MaxUint32 && s.cpu >= 3:
		s.emit(inst{kind: kMov, dst: t, src: noReg, imm: int64(int32(r.imm))})
	default:
		s.emit(inst{kind: kLdImm, dst: t, src: noReg, imm: r.imm})
	}
}

func fits32(x int64) bool { return x == int64(int32(x)) }

// moveTo makes t hold v.
func (s *selector) moveTo(t reg, v *ir.Value) {
	v = s.origin(v)
	if r, ok := s.rematOf(v); ok {
		s.makeIn(t, r)
		return
	}
	if obj, off, ok := s.frameAddress(v); ok {
		s.emit(inst{kind: kLea, dst: t, src: noReg, frame: obj, off: off})
		return
	}
	s.copy(t, s.own(v))
}

// isMade tells of values that moveTo makes from nothing.
func (s *selector) isMade(v *ir.Value) bool {
	v = s.origin(v)
	if _, ok := s.rematOf(v); ok {
		return true
	}
	_, _, ok := s.frameAddress(v)
	return ok
}

func (s *selector) copy(dst, src reg) {
	s.emit(inst{kind: kMov, wide: true, dst: dst, src: src})
}

// temp returns a new register that holds v and may be written.
func (s *selector) temp(v *ir.Value) reg {
	t := s.f.newReg()
	s.moveTo(t, v)
	return t
}

// parallelCopy gives each register of dst the value of the same index, as if at
// once.
func (s *selector) parallelCopy(dst []reg, vals []*ir.Value) {
	type move struct{ dst, src reg }
	var moves []move
	for i, v := range vals {
		if s.isMade(v) {
			continue
		}
		if src := s.own(s.origin(v)); src != dst[i] {
			moves = append(moves, move{dst[i], src})
		}
	}
	for len(moves) > 0 {
		free := slices.IndexFunc(moves, func(m move) bool {
			return !slices.ContainsFunc(moves, func(o move) bool { return o.src == m.dst })
		})
		if free >= 0 {
			s.copy(moves[free].dst, moves[free].src)
			moves = slices.Delete(moves, free, free+1)
			continue
		}
		// Each of them is read by another: a circle. Save one and go on.
		t := s.f.newReg()
		s.copy(t, moves[0].dst)
		for i := range moves {
			if moves[i].src == moves[0].dst {
				moves[i].src = t
			}
		}
	}
	for i, v := range vals {
		if s.isMade(v) {
			s.moveTo(dst[i], v)
		}
	}
}

// edge returns the block that a jump along e goes to: the one that e enters, or
// one that sets its parameters first.
func (s *selector) edge(e ir.Edge) *block {
	if len(e.Args) == 0 {
		return s.first[e.To]
	}
	saved := s.cur
	b := s.f.newBlock(min(saved.depth, s.first[e.To].depth))
	s.start(b)
	s.enter(e)
	s.start(saved)
	return b
}

// enter ends the current block with a jump along e.
func (s *selector) enter(e ir.Edge) {
	dst := make([]reg, len(e.Args))
	for i, p := range e.To.Params {
		dst[i] = s.own(p)
	}
	s.parallelCopy(dst, e.Args)
	s.end(inst{kind: kJmp, dst: noReg, src: noReg}, s.first[e.To])
}

func (s *selector) term(b *ir.Block) {
	t := &b.Term
	switch t.Kind {
	case ir.TermJump:
		s.enter(t.Succs[0])
	case ir.TermIf:
		s.branch(t)
	case ir.TermSwitch:
		s.switchOn(t)
	case ir.TermRet:
		exit := inst{kind: kExit, dst: noReg, src: noReg, nargs: 1}
		switch {
		case len(t.Args) > 0:
			s.moveTo(r0, t.Args[0])
		case s.src.Linkage == ir.Static && !s.src.AddrTaken && s.src.Section == "":
			exit.nargs = 0
		default:
			s.makeIn(r0, remat{}) // the verifier wants a result of whomever the kernel calls
		}
		s.end(exit)
	default:
		// The verifier does not know that this cannot be reached.
		s.makeIn(r0, remat{})
		s.end(inst{kind: kExit, dst: noReg, src: noReg, nargs: 1})
	}
}

// branch ends the current block with a conditional jump.
func (s *selector) branch(t *ir.Term) {
	if t.Succs[0].To == t.Succs[1].To && slices.Equal(t.Succs[0].Args, t.Succs[1].Args) {
		s.enter(t.Succs[0])
		return
	}
	var (
		j       inst
		inverse bool
	)
	v := t.Args[0]
	if v.Op == ir.OpCmp && s.fused[v.ID] {
		j, inverse = s.compare(v.Cond, v.Args[0], v.Args[1])
	} else {
		j, inverse = s.compare(ir.NE, v, &ir.Value{Op: ir.OpConst, Type: v.Type})
	}
	yes, no, likely := s.edge(t.Succs[0]), s.edge(t.Succs[1]), t.Likely
	if inverse {
		yes, no, likely = no, yes, -likely
	}
	s.cur.likely = likely
	s.end(j, yes, no)
}

// switchOn ends the current block with a jump for each case. The passes make
// better ones; this is for what they leave.
func (s *selector) switchOn(t *ir.Term) {
	v := t.Args[0]
	for i, c := range t.Cases {
		j, inverse := s.compare(ir.EQ, v, &ir.Value{Op: ir.OpConst, Type: v.Type, Imm: c})
		to, next := s.edge(t.Succs[i+1]), s.f.newBlock(s.cur.depth)
		if inverse {
			s.end(j, next, to)
		} else {
			s.end(j, to, next)
		}
		s.start(next)
	}
	s.enter(t.Succs[0])
}
