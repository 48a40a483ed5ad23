package ir

// Op is what a [Value] does. The comments name what it reads, with p a Ptr,
// x and y two of its own type unless said otherwise.
type Op uint8

const (
	OpInvalid Op = iota

	OpParam  // parameter of a block
	OpConst  // Imm; of an I32 sign-extended. A null pointer is a Ptr with 0
	OpUndef  // any value: what an uninitialized variable holds
	OpAlloca // Ptr to an object of Size bytes, Align-aligned, in the frame
	OpGlobal // Ptr to Sym (*Global) plus Imm. Of a ".maps" global: the map, Imm is 0
	OpFunc   // Ptr: the address of Sym (*Func), for helpers that call back

	// Arithmetic of I32 or I64. Ptr: Add is p + I64, Sub is p - I64; And, Or and
	// the others take no Ptr.
	OpAdd
	OpSub
	OpMul
	OpUDiv // x / 0 is 0, as the machine has it
	OpSDiv
	OpUMod // x % 0 is x
	OpSMod
	OpAnd
	OpOr
	OpXor
	OpShl // the count is taken modulo the width, as the machine does
	OpLShr
	OpAShr

	OpCmp // I32: 1 if x Cond y, else 0; x and y of one type

	OpZext     // I64 of an I32: free
	OpSext     // I64 of an I32
	OpTrunc    // I32 of an I64
	OpSextIn   // the low Size (1, 2) bytes of x, extended by their sign to its type
	OpPtrToInt // I64 of a Ptr: free
	OpIntToPtr // Ptr of an I64: free
	OpBswap    // the low Size (2, 4, 8) bytes of x reversed, the rest zero

	OpLoad  // Size (1, 2, 4, 8) bytes at p + Imm, extended to the type
	OpStore // Size low bytes of Args[1] to Args[0] + Imm
	OpCopy  // Size bytes from Args[1] to Args[0], which do not overlap
	OpMove  // the same, and they may overlap
	OpSet   // Size bytes at Args[0] to the low byte of Args[1] (I32)
	OpLife  // the scope of the alloca Args[0] begins: its content is undefined

	// Atomic, of Size 4 or 8 at Args[0] + Imm, with Args[1]. The result is the
	// old value, or Void if nobody wants it (not of AtomicXchg and
	// AtomicCmpXchg, which compare with Args[1] and store Args[2]).
	OpAtomic

	OpCall    // Sym (*Func) with Args
	OpHelper  // helper number Imm with Args (at most 5): I64, Ptr or Void
	OpBarrier // Args[0] as if nobody knew it; without Args (Void): memory is as if written
)

// Cond is a comparison.
type Cond uint8

const (
	EQ Cond = iota + 1
	NE
	ULT
	ULE
	UGT
	UGE
	SLT
	SLE
	SGT
	SGE
)

// Not returns the condition that holds where c does not.
func (c Cond) Not() Cond {
	switch c {
	case EQ:
		return NE
	case NE:
		return EQ
	case ULT:
		return UGE
	case ULE:
		return UGT
	case UGT:
		return ULE
	case UGE:
		return ULT
	case SLT:
		return SGE
	case SLE:
		return SGT
	case SGT:
		return SLE
	case SGE:
		return SLT
	}
	return 0
}

// Swap returns the condition that y has to x where x has c to y.
func (c Cond) Swap() Cond {
	switch c {
	case ULT:
		return UGT
	case ULE:
		return UGE
	case UGT:
		return ULT
	case UGE:
		return ULE
	case SLT:
		return SGT
	case SLE:
		return SGE
	case SGT:
		return SLT
	case SGE:
		return SLE
	}
	return c
}

// AtomicOp is what [OpAtomic] does to memory.
type AtomicOp uint8

const (
	AtomicAdd AtomicOp = iota + 1
	AtomicAnd
	AtomicOr
	AtomicXor
	AtomicXchg
	AtomicCmpXchg
)
