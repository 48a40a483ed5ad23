package stapsdt

// An Arg is one argument of a probe: where its value is found when the probe
// is hit.
type Arg struct {
	// Text is the argument as the note spells it, for instance "-4@%eax".
	Text string

	// Size is the number of bytes of the value. Values of 1, 2, 4 and 8
	// bytes are read as integers; others are opaque bytes.
	Size int
	// Signed tells that the value is a signed integer.
	Signed bool
	// Float tells that the note marks the value as floating point (Nf@).
	Float bool

	Operand Operand

	// Err is the reason why the argument cannot be understood, nil for a
	// good one. A bad argument keeps its place: its neighbours keep their
	// numbers.
	Err error
}

// OperandKind tells the forms of an operand apart.
type OperandKind uint8

// The forms of an operand.
const (
	// Constant is an immediate value: Value.
	Constant OperandKind = iota + 1
	// Register is the value of a register: Base.
	Register
	// Memory is the value at Base + Index*Scale + Value + address of
	// Symbol.
	Memory
	// Pair is a value in two registers, Base first (ppc64 "Ra,Rb").
	Pair
)

// An Operand says where a value stands.
type Operand struct {
	Kind OperandKind
	// Value is the constant, or the displacement of a memory operand, in
	// two's complement.
	Value int64
	// Base and Index name registers in their full-width canonical spelling
	// ("rax", "x0", "r3"), "" for none.
	Base, Index string
	// Scale multiplies Index; 1 if the note gives none.
	Scale int
	// Shift is the number of bits by which the register value is moved
	// right before it is cut to Size: 8 for %ah, else 0.
	Shift int
	// Symbol names the symbol whose address is part of a memory operand, ""
	// for none. SymbolBase tells what it is relative to: "" (absolute),
	// "rip", or "GOTOFF".
	Symbol, SymbolBase string
}
