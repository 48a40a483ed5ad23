// Package body compiles the expressions of a clause into a function of BPF: the
// condition, and the values that are captured. It does not know how arguments are
// found, nor what becomes of the values: its caller puts a program around the
// function that loads the arguments into a Hit on its stack, calls the function, and
// does something with the values that it finds there.
//
//	expressions, arguments with their types → C → bpfc → instructions
package body

import (
	"github.com/cilium/ebpf/asm"

	"github.com/nopfire/nopfire/bpfside/usdt"
)

// The Hit that the function is called with, by its address in R1. It lies on the
// stack of the caller. All members are 64 bits wide.
const (
	// OffArgs is where the arguments are: argument i, counted from 0, at
	// OffArgs + 8*i, extended to 64 bits by its sign. Only those of
	// Function.Args need to be there.
	OffArgs = 0
	MaxArgs = 12
	// OffPID and OffTID are the process and the thread, as the session numbers
	// them, if Function.NeedsPID.
	OffPID = OffArgs + 8*MaxArgs
	OffTID = OffPID + 8
	// OffValues is where the function leaves the values, in their order.
	OffValues = OffTID + 8
	MaxValues = 13
	// Size is the size of the whole.
	Size = OffValues + 8*MaxValues
	// StackLeft is how much stack the function may use itself: 512 bytes are for
	// all frames (MAX_BPF_STACK, include/linux/filter.h).
	StackLeft = 160
)

// An Arg is an argument of the probe.
type Arg struct {
	// Name is its name, from the metadata, besides argN; "" if there is none.
	Name string
	// Type is its type from the metadata; nil if there is none.
	Type *usdt.Type
	// Size, Signed and Float are what the note says of it.
	Size          int
	Signed, Float bool
	// Len is the index of the argument that holds the number of bytes, for a Type
	// of kind usdt.Bytes, as in usdt.Param: 0 stands for none.
	Len int
}

// Input is what is to be compiled.
type Input struct {
	Args []Arg
	// Where is the condition, "" for none.
	Where string
	// Values are expressions.
	Values []string
}

// A Function is the result.
type Function struct {
	// Insns are the instructions, the first with the symbol Symbol; functions
	// that it calls stand behind it. It uses no map and keeps to R1-R5 and its
	// own frame. It returns 0 if the hit is not wanted, else 1.
	Insns asm.Instructions
	// Stack is how much stack it uses, in bytes, at most StackLeft.
	Stack int
	// WhereArgs are the arguments, one bit each, that the condition looks at.
	WhereArgs uint16
	NeedsPID  bool
	Values    []Value
}

// Symbol is the name of the function.
const Symbol = "nopfire_body"

// A Value is what is known of the value of an expression.
type Value struct {
	Kind Kind
	// Size is the size of its type in bytes: 1, 2, 4 or 8. The value in the Hit is
	// extended to 64 bits.
	Size int
	// Type spells the type for people, as trace.Value.Type has it: "int32",
	// "uint64", "bool", "string", "*main.order".
	Type string
	// Args are the arguments, one bit each, that it looks at.
	Args uint16
	// Arg is the index of the argument that the expression is, in full, -1
	// if it is anything else. Comm tells that it is the name of the thread. For
	// both the function leaves no value.
	Arg  int
	Comm bool
}

// A Kind is what a value is.
type Kind uint8

// The kinds.
const (
	Int Kind = iota
	Uint
	Bool
	Pointer
	// String is the address, in the traced process, of characters that end in a
	// NUL: of type char *.
	String
	// Header is the address, in the traced process, of two words: the address of
	// bytes, and their number. It is a string or a []byte of Go in a struct, and
	// Type tells which.
	Header
	// Float is the bits of a floating point number of Size bytes, 4 or 8.
	Float
)

// An Error says what is wrong with an expression.
type Error struct {
	// Expr is the index of the expression in Values, -1 for Where.
	Expr int
	// Off is the place in the expression, in bytes; -1 if it is not known.
	Off int
	Msg string
	// OtherProbe tells that the expression may fit another probe: what is wrong
	// lies in the names or the types of the arguments of this one.
	OtherProbe bool
}

// Error returns the message.
func (e *Error) Error() string { return e.Msg }
