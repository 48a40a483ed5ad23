package stapsdt

import (
	"strconv"
	"strings"
)

// parseBased parses "d(b)" and "d(b,i)"; reg knows the registers that may be
// part of an address, and gives "" for one that reads as zero there.
func parseBased(s string, reg func(string) (string, bool), indexed bool) (Operand, string) {
	d, inner, ok := cutParens(s)
	if !ok {
		return malformed(s)
	}
	o := Operand{Kind: Memory, Scale: 1}
	if o.Value, ok = displacement(d); !ok {
		return malformed(s)
	}
	base, index, two := strings.Cut(inner, ",")
	if two && !indexed {
		return malformed(s)
	}
	if o.Base, ok = reg(strings.TrimSpace(base)); !ok {
		return unknownRegister(base)
	}
	if two {
		if o.Index, ok = reg(strings.TrimSpace(index)); !ok {
			return unknownRegister(index)
		}
	}
	return o, ""
}

// parseRISCV parses an operand of RISC-V:
//
//	n
//	a0 … by the names of the ABI or xN, and the float registers
//	n(reg)
func parseRISCV(s string) (Operand, string) {
	if v, ok := parseNumber(s); ok {
		return constant(v)
	}
	if strings.HasSuffix(s, ")") {
		return parseBased(s, riscvInteger, false)
	}
	if name, ok := riscvInteger(s); ok {
		if name == "" {
			return constant(0)
		}
		return register(name)
	}
	for _, class := range []struct {
		prefix string
		n      int
	}{{"fa", 8}, {"fs", 12}, {"ft", 12}} {
		if _, ok := numbered(s, class.prefix, class.n); ok {
			return register(s)
		}
	}
	return unknownRegister(s)
}

// riscvNames are the integer registers by number, in the names of the ABI
// (RISC-V psABI, "Integer Register Convention").
var riscvNames = [32]string{
	"zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1",
	"a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7",
	"s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11",
	"t3", "t4", "t5", "t6",
}

// riscvInteger returns the ABI name of an integer register, "" for zero.
func riscvInteger(s string) (string, bool) {
	if n, ok := numbered(s, "x", 32); ok {
		s = riscvNames[n]
	}
	if s == "zero" {
		return "", true
	}
	if s == "fp" {
		return "s0", true
	}
	for _, name := range riscvNames {
		if s == name {
			return s, true
		}
	}
	return "", false
}

// parseS390 parses an operand of z/Architecture:
//
//	n
//	%rN  %fN
//	n(%rN)  n(%rN,%rM)
func parseS390(s string) (Operand, string) {
	if v, ok := parseNumber(s); ok {
		return constant(v)
	}
	if strings.HasSuffix(s, ")") {
		return parseBased(s, s390Address, true)
	}
	name := strings.TrimPrefix(s, "%")
	for _, class := range []string{"r", "f"} {
		if _, ok := numbered(name, class, 16); ok && name != s {
			return register(name)
		}
	}
	return unknownRegister(s)
}

// s390Address returns a register of an address; %r0 reads as zero there
// (Principles of Operation, "Address Generation").
func s390Address(s string) (string, bool) {
	name, ok := strings.CutPrefix(s, "%")
	if !ok {
		return "", false
	}
	if name == "r0" {
		return "", true
	}
	_, ok = numbered(name, "r", 16)
	return name, ok
}

// parsePPC parses an operand of 64-bit POWER, where a bare number is a
// register:
//
//	in
//	N  rN  %rN, and the float registers fN %fN
//	n(N)  N,M
func parsePPC(s string) (Operand, string) {
	if digits, ok := strings.CutPrefix(s, "i"); ok {
		v, ok := parseNumber(digits)
		if !ok {
			return malformed(s)
		}
		return constant(v)
	}
	if strings.HasSuffix(s, ")") {
		return parseBased(s, ppcAddress, false)
	}
	// The indexed form: memory at the sum of two registers.
	if first, second, ok := strings.Cut(s, ","); ok {
		o := Operand{Kind: Memory, Scale: 1}
		var ok1, ok2 bool
		o.Base, ok1 = ppcAddress(strings.TrimSpace(first))
		o.Index, ok2 = ppcInteger(strings.TrimSpace(second))
		if !ok1 || !ok2 {
			return malformed(s)
		}
		if o.Base == "" {
			o.Base, o.Index = o.Index, ""
		}
		return o, ""
	}
	if name, ok := ppcInteger(s); ok {
		return register(name)
	}
	name := strings.TrimPrefix(s, "%")
	if _, ok := numbered(name, "f", 32); ok {
		return register(name)
	}
	return unknownRegister(s)
}

// ppcInteger returns the name of an integer register.
func ppcInteger(s string) (string, bool) {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "%"), "r")
	n, ok := numbered(s, "", 32)
	return "r" + strconv.Itoa(n), ok
}

// ppcAddress returns the first register of an address; register 0 reads as zero
// there (Power ISA, book I, 1.11.3).
func ppcAddress(s string) (string, bool) {
	name, ok := ppcInteger(s)
	if name == "r0" {
		name = ""
	}
	return name, ok
}

// parseMIPS parses an operand of MIPS:
//
//	n
//	$N  $sp $fp $gp $ra, and the float registers $fN
//	n($N)
func parseMIPS(s string) (Operand, string) {
	if v, ok := parseNumber(s); ok {
		return constant(v)
	}
	if strings.HasSuffix(s, ")") {
		return parseBased(s, mipsInteger, false)
	}
	if name, ok := mipsInteger(s); ok {
		if name == "" {
			return constant(0)
		}
		return register(name)
	}
	if name, ok := strings.CutPrefix(s, "$"); ok {
		if _, ok := numbered(name, "f", 32); ok {
			return register(name)
		}
	}
	return unknownRegister(s)
}

// mipsInteger returns the name of an integer register, "" for the one that
// reads as zero.
func mipsInteger(s string) (string, bool) {
	name, ok := strings.CutPrefix(s, "$")
	switch name {
	case "0", "zero":
		return "", ok
	case "gp":
		return "r28", ok
	case "sp":
		return "r29", ok
	case "fp":
		return "r30", ok
	case "ra":
		return "r31", ok
	}
	_, isNumber := numbered(name, "", 32)
	return "r" + name, ok && isNumber
}
