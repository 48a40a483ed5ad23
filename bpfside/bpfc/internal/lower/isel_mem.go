package lower

import (
	"math"

	"github.com/cilium/ebpf/asm"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// maxInline is the number of stores that a copy or a fill may take. It is the
// limit of clang, which makes no loops of them either.
const maxInline = 128

// frameObjects makes an object of each alloca and finds which values may point
// into it. A pointer that is stored, or passed to a function, pins its objects.
func (s *selector) frameObjects(order []*ir.Block) {
	s.points = make([]bitset, s.src.NumIDs())
	for _, b := range order {
		for _, v := range b.Values {
			if v.Op != ir.OpAlloca {
				continue
			}
			// An alignment that lets copies and fills take whole registers.
			align := max(v.Align, 1)
			for align < 8 && align*2 <= v.Size {
				align *= 2
			}
			s.objs[v] = s.f.newObject(object{size: v.Size, align: align, name: v.Name, pos: v.Pos})
		}
	}
	n := len(s.f.objs)
	if n == 0 {
		return
	}
	for v, o := range s.objs {
		s.points[v.ID] = newBitset(n)
		s.points[v.ID].add(o.id)
	}
	flow := func(to, from *ir.Value) bool {
		if s.points[from.ID] == nil {
			return false
		}
		if s.points[to.ID] == nil {
			s.points[to.ID] = newBitset(n)
		}
		return s.points[to.ID].union(s.points[from.ID])
	}
	for changed := true; changed; {
		changed = false
		for _, b := range order {
			for _, v := range b.Values {
				switch v.Op {
				case ir.OpLoad, ir.OpCmp, ir.OpAlloca, ir.OpAtomic:
					continue
				}
				if v.Type == ir.Void {
					continue
				}
				for _, a := range v.Args {
					changed = flow(v, a) || changed
				}
			}
			for _, e := range b.Term.Succs {
				for i, p := range e.To.Params {
					changed = flow(p, e.Args[i]) || changed
				}
			}
		}
	}
	pin := func(v *ir.Value) {
		for _, o := range s.pointees(nil, v) {
			o.pinned = true
		}
	}
	for _, b := range order {
		for _, v := range b.Values {
			switch v.Op {
			case ir.OpStore:
				pin(v.Args[1])
			case ir.OpAtomic:
				for _, a := range v.Args[1:] {
					pin(a)
				}
			case ir.OpCall:
				for _, a := range v.Args {
					pin(a)
				}
			}
		}
	}
}

// pointees appends the objects that v may point into to to.
func (s *selector) pointees(to []*object, v *ir.Value) []*object {
	if p := s.points[v.ID]; p != nil {
		p.each(func(i int) { to = append(to, s.f.objs[i]) })
	}
	return to
}

// frameAddress tells which object v points into, and where, if that is constant.
func (s *selector) frameAddress(v *ir.Value) (*object, int32, bool) {
	off := int64(0)
	for {
		switch v.Op {
		case ir.OpAlloca:
			if s.objs[v] == nil || off != int64(int32(off)) {
				s.fail(v.Pos, "variable %s is addressed out of its bounds, or declared where nobody comes", v.Name)
				return new(object), 0, true
			}
			return s.objs[v], int32(off), true
		case ir.OpPtrToInt, ir.OpIntToPtr, ir.OpBarrier:
			if len(v.Args) == 0 {
				return nil, 0, false
			}
			v = v.Args[0]
		case ir.OpAdd, ir.OpSub:
			if v.Args[1].Op != ir.OpConst || v.Type == ir.I32 {
				return nil, 0, false
			}
			if v.Op == ir.OpAdd {
				off += v.Args[1].Imm
			} else {
				off -= v.Args[1].Imm
			}
			v = v.Args[0]
		default:
			return nil, 0, false
		}
	}
}

// A place is an address of an access: an object of the frame or a register, and
// an offset.
type place struct {
	frame *object
	base  reg
	off   int32
	align int // that is known of the address
	objs  []*object
	ctx   bool // it may be the context of a program, which takes no immediates
}

// place finds the address p plus off, of which align is known.
func (s *selector) place(p *ir.Value, off int64, align, size int) place {
	if obj, o, ok := s.frameAddress(p); ok {
		off += int64(o)
		if off != int64(int16(off)) {
			s.fail(s.pos, "access at offset %d of variable %s, which has %d bytes", off, variable(obj), obj.size)
			return place{base: r10, align: 8}
		}
		known := obj.align
		for known > 1 && off%int64(known) != 0 {
			known /= 2
		}
		return place{frame: obj, base: noReg, off: int32(off), align: max(known, align)}
	}
	a := place{align: max(align, 1), objs: s.pointees(nil, p)}
	for {
		p = s.origin(p)
		if p.Op != ir.OpAdd || p.Args[1].Op != ir.OpConst || !inRange(off+p.Args[1].Imm, size) {
			break
		}
		off += p.Args[1].Imm
		p = p.Args[0]
	}
	a.ctx = p.Op == ir.OpParam && p.Block == s.src.Entry()
	switch {
	case p.Op == ir.OpGlobal && inRange(off+p.Imm, size):
		// One address serves all parts of a variable.
		a.base = s.make(remat{sym: p.Sym})
		a.off = int32(off + p.Imm)
	case inRange(off, size):
		a.base, a.off = s.use(p), int32(off)
	default:
		a.base = s.temp(p)
		if fits32(off) {
			s.aluImm(true, asm.Add, a.base, off)
		} else {
			s.alu(true, asm.Add, a.base, s.make(remat{imm: off}))
		}
	}
	return a
}

// inRange tells whether size bytes from off on are within the offsets that
// instructions have.
func inRange(off int64, size int) bool {
	return off >= math.MinInt16 && off+int64(size) <= math.MaxInt16
}

func variable(o *object) string {
	if o.name == "" {
		return "without a name"
	}
	return o.name
}

// at returns a, further by n bytes.
func (a place) at(n int) place {
	a.off += int32(n)
	return a
}

func (s *selector) loadFrom(t reg, a place, size int) {
	s.emit(inst{kind: kLoad, size: uint8(size), dst: t, src: a.base, frame: a.frame, off: a.off, objs: a.objs})
}

func (s *selector) storeTo(a place, size int, src reg) {
	s.emit(inst{kind: kStore, size: uint8(size), dst: a.base, src: src, frame: a.frame, off: a.off, objs: a.objs})
}

func (s *selector) storeImm(a place, size int, imm int64) {
	if a.ctx {
		s.storeTo(a, size, s.make(remat{imm: imm}))
		return
	}
	s.emit(inst{kind: kStore, size: uint8(size), dst: a.base, src: noReg, frame: a.frame, off: a.off, objs: a.objs, imm: imm})
}

func (s *selector) load(v *ir.Value) {
	a := s.place(v.Args[0], v.Imm, v.Align, v.Size)
	t := s.own(v)
	clean := v.Type == ir.I32 && !s.low[v.ID]
	if a.align >= v.Size && v.Signed && s.cpu >= 4 && !clean && v.Size < 8 {
		s.emit(inst{kind: kLoad, size: uint8(v.Size), signed: true, keep: v.Volatile,
			dst: t, src: a.base, frame: a.frame, off: a.off, objs: a.objs})
		return
	}
	if a.align >= v.Size {
		s.loadFrom(t, a, v.Size)
		s.cur.last().keep = v.Volatile
	} else {
		// From the low part on, since t may not be written before the last use
		// of the base: it is a register of its own.
		part := a.align
		s.loadFrom(t, a, part)
		s.cur.last().keep = v.Volatile
		for n := part; n < v.Size; n += part {
			high := s.f.newReg()
			s.loadFrom(high, a.at(n), part)
			s.cur.last().keep = v.Volatile
			s.aluImm(true, asm.LSh, high, int64(8*n))
			s.alu(true, asm.Or, t, high)
		}
	}
	if s.loadsSign(v) {
		s.extendIn(t, v.Size, true, ir.I64)
		return
	}
	if v.Signed && v.Size < v.Type.Size() {
		if s.cpu >= 4 {
			s.emit(inst{kind: kMovSX, wide: v.Type == ir.I64, size: uint8(v.Size), dst: t, src: t})
			return
		}
		s.extendIn(t, v.Size, !clean, v.Type)
	}
}

func (s *selector) store(v *ir.Value) {
	a := s.place(v.Args[0], v.Imm, v.Align, v.Size)
	x := v.Args[1]
	if x.Op == ir.OpUndef && !v.Volatile {
		return
	}
	part := min(a.align, v.Size)
	if v.Volatile {
		from := len(s.cur.insts)
		defer func() {
			for k := from; k < len(s.cur.insts); k++ {
				s.cur.insts[k].keep = true
			}
		}()
	}
	if x.Op == ir.OpConst && (v.Size < 8 || part < 8 || fits32(x.Imm)) {
		for n := 0; n < v.Size; n += part {
			s.storeImm(a.at(n), part, truncateTo(x.Imm>>(8*n), part))
		}
		return
	}
	src := s.use(x)
	for n := 0; n < v.Size; n += part {
		t := src
		if n > 0 {
			t = s.f.newReg()
			s.copy(t, src)
			s.aluImm(true, asm.RSh, t, int64(8*n))
		}
		s.storeTo(a.at(n), part, t)
	}
}

// truncateTo returns the low size bytes of x as an immediate has them.
func truncateTo(x int64, size int) int64 {
	switch size {
	case 1:
		return int64(uint8(x))
	case 2:
		return int64(uint16(x))
	}
	return int64(int32(x))
}

// pieces cuts size bytes at an address of the alignment into accesses and calls
// f for each, or fails if they are too many.
func (s *selector) pieces(v *ir.Value, align int, f func(off, size int)) bool {
	unit := min(8, max(align, 1))
	n := 0
	for rest, u := v.Size, unit; rest > 0; n++ {
		for u > rest {
			u /= 2
		}
		rest -= u
	}
	if n > maxInline {
		s.fail(v.Pos, "%v of %d bytes at an alignment of %d takes %d stores, more than %d: copy in a loop, or align the object",
			v.Op, v.Size, align, n, maxInline)
		return false
	}
	for off, u := 0, unit; off < v.Size; off += u {
		for u > v.Size-off {
			u /= 2
		}
		f(off, u)
	}
	return true
}

// copyBytes writes OpCopy: part by part through a register.
func (s *selector) copyBytes(v *ir.Value) {
	dst := s.place(v.Args[0], 0, v.Align, v.Size)
	src := s.place(v.Args[1], 0, v.Align, v.Size)
	s.pieces(v, min(dst.align, src.align), func(off, size int) {
		t := s.f.newReg()
		s.loadFrom(t, src.at(off), size)
		s.storeTo(dst.at(off), size, t)
	})
}

// moveBytes writes OpMove: everything is loaded before anything is stored.
func (s *selector) moveBytes(v *ir.Value) {
	dst := s.place(v.Args[0], 0, v.Align, v.Size)
	src := s.place(v.Args[1], 0, v.Align, v.Size)
	align := min(dst.align, src.align)
	var parts []reg
	if !s.pieces(v, align, func(off, size int) {
		t := s.f.newReg()
		s.loadFrom(t, src.at(off), size)
		parts = append(parts, t)
	}) {
		return
	}
	s.pieces(v, align, func(off, size int) {
		s.storeTo(dst.at(off), size, parts[0])
		parts = parts[1:]
	})
}

// setBytes writes OpSet.
func (s *selector) setBytes(v *ir.Value) {
	dst := s.place(v.Args[0], 0, v.Align, v.Size)
	const ones = 0x0101010101010101
	x := v.Args[1]
	if x.Op == ir.OpConst {
		pattern := int64(uint64(uint8(x.Imm)) * ones)
		s.pieces(v, dst.align, func(off, size int) {
			imm := truncateTo(pattern, size)
			if size == 8 && imm != pattern {
				s.storeTo(dst.at(off), size, s.make(remat{imm: pattern}))
				return
			}
			s.storeImm(dst.at(off), size, imm)
		})
		return
	}
	t := s.temp(x)
	if dst.align > 1 && v.Size > 1 {
		s.aluImm(true, asm.And, t, 0xff)
		s.alu(true, asm.Mul, t, s.make(remat{imm: ones}))
	}
	s.pieces(v, dst.align, func(off, size int) { s.storeTo(dst.at(off), size, t) })
}

// atomic writes OpAtomic. What returns the old value came with Linux 5.12 and
// clang's v3, as did what clang has for 32 bits beside addition.
func (s *selector) atomic(v *ir.Value) {
	fetch := v.Type != ir.Void || v.Atomic == ir.AtomicXchg || v.Atomic == ir.AtomicCmpXchg
	if s.cpu < 3 && (fetch || v.Size == 4 && v.Atomic != ir.AtomicAdd) {
		what := "that returns the old value"
		if !fetch {
			what = "of 32 bits"
		}
		s.fail(v.Pos, "atomic %v %s needs CPU level v3, not v%d", v.Atomic, what, s.cpu)
		return
	}
	a := s.place(v.Args[0], v.Imm, v.Size, v.Size)
	i := inst{kind: kAtomic, atomic: v.Atomic, fetch: fetch, size: uint8(v.Size),
		dst: a.base, frame: a.frame, off: a.off, objs: a.objs}
	switch {
	case v.Atomic == ir.AtomicCmpXchg:
		i.src = s.use(v.Args[2])
		s.moveTo(r0, v.Args[1])
		s.emit(i)
		if v.Type != ir.Void {
			s.copy(s.own(v), r0)
		}
	case fetch:
		i.src = s.f.newReg()
		if v.Type != ir.Void {
			i.src = s.own(v)
		}
		s.moveTo(i.src, v.Args[1])
		s.emit(i)
	default:
		i.src = s.use(v.Args[1])
		s.emit(i)
	}
}
