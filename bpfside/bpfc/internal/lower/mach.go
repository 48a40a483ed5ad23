package lower

import (
	"fmt"
	"strings"

	"github.com/cilium/ebpf/asm"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// The machine code that selection makes and that registers are allocated for:
// eBPF instructions in blocks that name their successors, on as many registers
// as they like. It is not in SSA form: two-address instructions write what they
// read, and each edge writes the registers that stand for the parameters of the
// block that it enters.

// A reg is a register: 0-10 are those of the machine, those from firstVirtual on
// are to be allocated.
type reg int32

const (
	noReg        reg = -1
	r0           reg = 0
	r1           reg = 1
	r5           reg = 5
	r10          reg = 10 // the frame pointer; neither allocated nor written
	numAlloc         = 10 // r0-r9 can be allocated
	firstVirtual reg = 11
)

func (r reg) virtual() bool { return r >= firstVirtual }

func (r reg) String() string {
	switch {
	case r < 0:
		return "-"
	case r.virtual():
		return fmt.Sprintf("t%d", int(r-firstVirtual))
	}
	return fmt.Sprintf("r%d", int(r))
}

// A kind says what an instruction does. The registers that it reads and writes
// are those that uses and def tell.
type kind uint8

const (
	kNop    kind = iota // deleted
	kMov                // dst = src or imm; narrow: the low half, the rest zero
	kMovSX              // dst = the low size bytes of src, sign-extended (v4)
	kLdImm              // dst = imm, or the address of sym plus imm; two slots
	kLea                // dst = the address of frame object plus off; two instructions
	kALU                // dst = dst alu (src or imm)
	kNeg                // dst = -dst
	kSwap               // dst = the low size bytes of dst reversed, the rest zero
	kLoad               // dst = size bytes at src + off
	kStore              // size bytes at dst + off = src or imm
	kAtomic             // atomic on size bytes at dst + off with src
	kCall               // helper number imm, or sym, with nargs arguments
	kJcc                // ends a block: dst cond (src or imm): succs[0], else succs[1]
	kJmp                // ends a block: succs[0]
	kExit               // ends a block
	kLife               // no code: the content of the frame objects in objs is dead here
)

// condSet holds where x & y is not 0. It has no inverse, so that a jump on it
// always takes the branch.
const condSet ir.Cond = 100

// An inst is an instruction. A memory access has its base in dst (kStore,
// kAtomic) or src (kLoad), or is to the frame object frame. An instruction whose
// src is noReg takes imm instead.
type inst struct {
	kind   kind
	wide   bool // of 64 bits; else of 32, with the upper half of dst made zero
	signed bool // kLoad: extend by the sign (v4); kALU: signed division (v4)
	fetch  bool // kAtomic: src gets the old value; r0 does from a cmpxchg
	// kLoad, kStore: volatile, stays whatever it does. kALU: dst is a pointer and
	// src is not, which has to stay so: of a sum the other way round the verifier
	// forgets whose frame the pointer is into, and what it refers to
	// (adjust_ptr_min_max_vals copies neither frameno nor ref_obj_id).
	keep   bool
	size   uint8
	nargs  uint8
	cond   ir.Cond
	alu    asm.ALUOp
	atomic ir.AtomicOp
	dst    reg
	src    reg
	off    int32
	frame  *object
	imm    int64
	sym    ir.Symbol
	objs   []*object // that it may access through pointers; that kLife is about
	pos    ir.Pos

	// Where kJcc has compared what also lives in the frame: the homes of dst and
	// src. See [Options.WriteBack].
	homeDst, homeSrc *object
}

// A block is a run of instructions whose last one, and no other, is one of
// kJcc, kJmp and kExit.
type block struct {
	id    int
	insts []inst
	succs []*block
	preds []*block
	depth int // of the loops around it
	// likely is 1 if a kJcc usually goes to succs[0], -1 if to succs[1].
	likely int8
}

// fn is a function in machine code.
type fn struct {
	src    *ir.Func
	opts   Options
	blocks []*block // the entry is first
	nregs  int      // number of registers, machine and virtual
	objs   []*object
}

// An object is a part of the frame: a variable, or the home of a register that
// was spilled.
type object struct {
	id    int
	size  int
	align int
	spill bool
	name  string // of the variable, "" if it has none
	pos   ir.Pos
	// pinned objects keep their place for the whole function: something else
	// than instructions of it may know their address.
	pinned bool
	off    int // from the frame pointer, negative, once placed
}

func (f *fn) newReg() reg {
	r := reg(f.nregs)
	f.nregs++
	return r
}

func (f *fn) newBlock(depth int) *block {
	b := &block{id: len(f.blocks), depth: depth}
	f.blocks = append(f.blocks, b)
	return b
}

func (f *fn) newObject(o object) *object {
	o.id = len(f.objs)
	f.objs = append(f.objs, &o)
	return f.objs[o.id]
}

// last returns the instruction that ends b.
func (b *block) last() *inst { return &b.insts[len(b.insts)-1] }

// def returns the register that i writes beside those that it clobbers, or
// noReg.
func (i *inst) def() reg {
	switch i.kind {
	case kMov, kMovSX, kLdImm, kLea, kALU, kNeg, kSwap, kLoad:
		return i.dst
	case kAtomic:
		switch {
		case i.atomic == ir.AtomicCmpXchg:
			return r0
		case i.fetch:
			return i.src
		}
	case kCall:
		return r0
	}
	return noReg
}

// uses appends the registers that i reads to to.
func (i *inst) uses(to []reg) []reg {
	switch i.kind {
	case kMov, kMovSX:
		if i.src != noReg {
			to = append(to, i.src)
		}
	case kALU, kJcc:
		to = append(to, i.dst)
		if i.src != noReg {
			to = append(to, i.src)
		}
	case kNeg, kSwap:
		to = append(to, i.dst)
	case kLoad:
		if i.frame == nil {
			to = append(to, i.src)
		}
	case kStore, kAtomic:
		if i.frame == nil {
			to = append(to, i.dst)
		}
		if i.src != noReg {
			to = append(to, i.src)
		}
		if i.kind == kAtomic && i.atomic == ir.AtomicCmpXchg {
			to = append(to, r0)
		}
	case kCall:
		for r := r1; r < r1+reg(i.nargs); r++ {
			to = append(to, r)
		}
	case kExit:
		if i.nargs > 0 {
			to = append(to, r0)
		}
	}
	return to
}

// readsDst tells of instructions whose dst is read: alone (the base of a store)
// or to be written (an operation).
func (i *inst) readsDst() bool {
	switch i.kind {
	case kALU, kNeg, kSwap, kJcc:
		return true
	case kStore, kAtomic:
		return i.frame == nil
	}
	return false
}

// pure tells whether i does nothing but write its dst, so that it can go if
// nobody reads that. A load may: what it loads is not asked for, unless the
// variable is volatile, which selection marks.
func (i *inst) pure() bool {
	switch i.kind {
	case kMov, kMovSX, kLdImm, kLea, kALU, kNeg, kSwap:
		return true
	case kLoad:
		return !i.keep
	}
	return false
}

// ends tells whether i ends a block.
func (i *inst) ends() bool { return i.kind == kJcc || i.kind == kJmp || i.kind == kExit }

// isCopy tells whether i copies a whole register.
func (i *inst) isCopy() bool { return i.kind == kMov && i.wide && i.src != noReg }

// link fills preds of all blocks from their succs and drops blocks that cannot
// be reached, keeping the order of the others.
func (f *fn) link() {
	seen := make(map[*block]bool, len(f.blocks))
	stack := []*block{f.blocks[0]}
	seen[f.blocks[0]] = true
	for len(stack) > 0 {
		b := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, s := range b.succs {
			if !seen[s] {
				seen[s] = true
				stack = append(stack, s)
			}
		}
	}
	kept := f.blocks[:0]
	for _, b := range f.blocks {
		if seen[b] {
			b.id, b.preds = len(kept), b.preds[:0]
			kept = append(kept, b)
		}
	}
	f.blocks = kept
	for _, b := range f.blocks {
		for _, s := range b.succs {
			s.preds = append(s.preds, b)
		}
	}
}

// String prints f as text for tests and for debugging.
func (f *fn) String() string {
	var s strings.Builder
	for _, b := range f.blocks {
		fmt.Fprintf(&s, "b%d:\n", b.id)
		for i := range b.insts {
			in := &b.insts[i]
			if in.kind == kNop {
				continue
			}
			fmt.Fprintf(&s, "\t%s", in)
			switch in.kind {
			case kJcc:
				fmt.Fprintf(&s, " b%d else b%d", b.succs[0].id, b.succs[1].id)
			case kJmp:
				fmt.Fprintf(&s, " b%d", b.succs[0].id)
			}
			s.WriteByte('\n')
		}
	}
	return s.String()
}

var aluText = map[asm.ALUOp]string{
	asm.Add: "+=", asm.Sub: "-=", asm.Mul: "*=", asm.Div: "/=", asm.Mod: "%=", asm.And: "&=",
	asm.Or: "|=", asm.Xor: "^=", asm.LSh: "<<=", asm.RSh: ">>=", asm.ArSh: "s>>=",
}

var condText = map[ir.Cond]string{
	ir.EQ: "==", ir.NE: "!=", ir.ULT: "<", ir.ULE: "<=", ir.UGT: ">", ir.UGE: ">=",
	ir.SLT: "s<", ir.SLE: "s<=", ir.SGT: "s>", ir.SGE: "s>=", condSet: "&",
}

// String prints i in the manner of the kernel's disassembler.
func (i *inst) String() string {
	src := fmt.Sprint(i.imm)
	if i.src != noReg {
		src = i.src.String()
	}
	width := ""
	if !i.wide {
		width = "w "
	}
	address := func(base reg) string {
		if i.frame != nil {
			return fmt.Sprintf("*(u%d *)(%s %+d)", 8*int(i.size), i.frame, i.off)
		}
		return fmt.Sprintf("*(u%d *)(%s %+d)", 8*int(i.size), base, i.off)
	}
	switch i.kind {
	case kMov:
		return fmt.Sprintf("%s%s = %s", width, i.dst, src)
	case kMovSX:
		return fmt.Sprintf("%s%s = (s%d)%s", width, i.dst, 8*int(i.size), src)
	case kLdImm:
		if i.sym != nil {
			return fmt.Sprintf("%s = &%s+%d", i.dst, i.sym.SymbolName(), i.imm)
		}
		return fmt.Sprintf("%s = %#x ll", i.dst, uint64(i.imm))
	case kLea:
		return fmt.Sprintf("%s = %s %+d", i.dst, i.frame, i.off)
	case kALU:
		s := ""
		if i.signed {
			s = "s"
		}
		return fmt.Sprintf("%s%s %s%s %s", width, i.dst, s, aluText[i.alu], src)
	case kNeg:
		return fmt.Sprintf("%s%s = -%s", width, i.dst, i.dst)
	case kSwap:
		return fmt.Sprintf("%s = bswap%d %s", i.dst, 8*int(i.size), i.dst)
	case kLoad:
		s := ""
		if i.signed {
			s = "s"
		}
		return fmt.Sprintf("%s = %s%s", i.dst, s, address(i.src))
	case kStore:
		return fmt.Sprintf("%s = %s", address(i.dst), src)
	case kAtomic:
		s := fmt.Sprintf("atomic %s %s %s", i.atomic, address(i.dst), src)
		if i.fetch {
			s += " fetch"
		}
		return s
	case kCall:
		if i.sym != nil {
			return fmt.Sprintf("call %s/%d", i.sym.SymbolName(), i.nargs)
		}
		return fmt.Sprintf("call #%d/%d", i.imm, i.nargs)
	case kJcc:
		return fmt.Sprintf("%sif %s %s %s", width, i.dst, condText[i.cond], src)
	case kJmp:
		return "goto"
	case kExit:
		return "exit"
	case kLife:
		s := "life"
		for _, o := range i.objs {
			s += " " + o.String()
		}
		return s
	}
	return "nop"
}

func (o *object) String() string {
	if o.spill {
		return fmt.Sprintf("spill%d", o.id)
	}
	return fmt.Sprintf("obj%d", o.id)
}
