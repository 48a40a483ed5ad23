package stapsdt

import "fmt"

// An Arg is one argument of a probe: where its value is found when the probe
// is hit.
type Arg struct {
	// Text is the argument as the note spells it, for instance "-4@%eax".
	Text string

	// Size is the number of bytes of the value. Values of 1, 2, 4 and 8
	// bytes are read as integers; others, which occur where a struct is
	// passed by value, are opaque bytes: see Opaque.
	Size int
	// Signed tells that the value is a signed integer.
	Signed bool
	// Float tells that the note marks the value as floating point (Nf@).
	Float bool

	Operand Operand

	// Err is the reason why the argument cannot be understood, nil for a
	// good one, else an *ArgError. A bad argument keeps its place: its
	// neighbours keep their numbers.
	Err error
}

// Opaque tells that the value is no integer or float of a size that machines
// have, but bytes.
func (a Arg) Opaque() bool {
	switch a.Size {
	case 1, 2, 4, 8:
		return false
	}
	return true
}

// An ArgError says why an argument of a note cannot be understood.
type ArgError struct {
	// Text is the argument.
	Text string
	// Msg is the reason.
	Msg string
}

func (e *ArgError) Error() string {
	const shown = 200
	if len(e.Text) > shown {
		return fmt.Sprintf("argument %q…: %s", e.Text[:shown], e.Msg)
	}
	return fmt.Sprintf("argument %q: %s", e.Text, e.Msg)
}

// OperandKind tells the forms of an operand apart.
type OperandKind uint8

// The forms of an operand.
const (
	// Constant is an immediate value: Value + address of Symbol.
	Constant OperandKind = iota + 1
	// Register is the value of a register: Base.
	Register
	// Memory is the value at Base + Index*Scale + Value + address of
	// Symbol, with the exceptions of SymbolBase.
	Memory
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
	// Symbol names the symbol whose address is part of the operand, ""
	// for none.
	Symbol string
	// SymbolBase tells how the address of Symbol counts.
	SymbolBase SymbolBase
}

// A SymbolBase tells how the address of a symbol enters a memory operand.
type SymbolBase string

// The ways in which a symbol is named.
const (
	// Absolute is the address itself.
	Absolute SymbolBase = ""
	// RIP is the address itself, spelled relative to the instruction:
	// "sym(%rip)" on x86-64. It holds wherever the file is loaded.
	RIP SymbolBase = "rip"
	// GOTOFF is the distance of the symbol from the global offset table,
	// whose address is in the base register: "sym@GOTOFF(%ebx)" on i386.
	GOTOFF SymbolBase = "GOTOFF"
	// Lo12 is the low 12 bits of the address plus Value, whose other bits
	// are in the base register: "[x0, #:lo12:sym]" on arm64.
	Lo12 SymbolBase = "lo12"
)
