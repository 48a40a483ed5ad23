package ir

// The words of the textual form. Parse inverts them, so that each is unique
// within its table.

var typeNames = [...]string{Void: "void", I32: "i32", I64: "i64", Ptr: "ptr"}

// String returns "i32" and the like.
func (t Type) String() string { return nameOf(typeNames[:], int(t)) }

var opNames = [...]string{
	OpInvalid:  "invalid",
	OpParam:    "param",
	OpConst:    "const",
	OpUndef:    "undef",
	OpAlloca:   "alloca",
	OpGlobal:   "global",
	OpFunc:     "func",
	OpAdd:      "add",
	OpSub:      "sub",
	OpMul:      "mul",
	OpUDiv:     "udiv",
	OpSDiv:     "sdiv",
	OpUMod:     "umod",
	OpSMod:     "smod",
	OpAnd:      "and",
	OpOr:       "or",
	OpXor:      "xor",
	OpShl:      "shl",
	OpLShr:     "lshr",
	OpAShr:     "ashr",
	OpCmp:      "cmp",
	OpZext:     "zext",
	OpSext:     "sext",
	OpTrunc:    "trunc",
	OpSextIn:   "sextin",
	OpPtrToInt: "ptrtoint",
	OpIntToPtr: "inttoptr",
	OpBswap:    "bswap",
	OpLoad:     "load",
	OpStore:    "store",
	OpCopy:     "copy",
	OpMove:     "move",
	OpSet:      "set",
	OpLife:     "life",
	OpAtomic:   "atomic",
	OpCall:     "call",
	OpHelper:   "helper",
	OpBarrier:  "barrier",
}

// String returns the word of the textual form.
func (op Op) String() string { return nameOf(opNames[:], int(op)) }

var condNames = [...]string{
	EQ: "eq", NE: "ne",
	ULT: "ult", ULE: "ule", UGT: "ugt", UGE: "uge",
	SLT: "slt", SLE: "sle", SGT: "sgt", SGE: "sge",
}

// String returns "eq" and the like.
func (c Cond) String() string { return nameOf(condNames[:], int(c)) }

var atomicNames = [...]string{
	AtomicAdd: "add", AtomicAnd: "and", AtomicOr: "or", AtomicXor: "xor",
	AtomicXchg: "xchg", AtomicCmpXchg: "cmpxchg",
}

// String returns "add" and the like.
func (a AtomicOp) String() string { return nameOf(atomicNames[:], int(a)) }

var termNames = [...]string{
	TermNone: "none", TermJump: "jump", TermIf: "if", TermSwitch: "switch",
	TermRet: "ret", TermUnreachable: "unreachable",
}

// String returns the word of the textual form.
func (k TermKind) String() string { return nameOf(termNames[:], int(k)) }

var linkageNames = [...]string{Static: "static", External: "external", Weak: "weak"}

// String returns "static", "external" or "weak".
func (l Linkage) String() string { return nameOf(linkageNames[:], int(l)) }

// nameOf returns names[i], or "?" where there is none.
func nameOf(names []string, i int) string {
	if i < len(names) && names[i] != "" {
		return names[i]
	}
	return "?"
}

// inverse maps each name to its index.
func inverse[T ~uint8](names []string) map[string]T {
	m := make(map[string]T, len(names))
	for i, n := range names {
		if n != "" {
			m[n] = T(i)
		}
	}
	return m
}
