package stapsdt

import (
	"fmt"
	"strconv"
	"strings"
)

// parseARM64 parses an operand of AArch64:
//
//	n  #n
//	xN  wN  sp  xzr, and the vector registers bN hN sN dN qN vN
//	[xN]  [xN, n]  [xN, xM]  [xN, xM, lsl n]  [xN, #:lo12:sym]
func parseARM64(s string) (Operand, string) {
	if v, ok := parseNumber(strings.TrimPrefix(s, "#")); ok {
		return constant(v)
	}
	if inner, ok := cutBrackets(s); ok {
		return parseARMAddress(inner, arm64Address)
	}
	if s[0] == '[' {
		return malformed(s)
	}
	if s == "xzr" || s == "wzr" {
		return constant(0)
	}
	name, ok := arm64Register(s)
	if !ok {
		return unknownRegister(s)
	}
	return register(name)
}

// arm64Register returns the canonical name of a register: that of all its bits.
func arm64Register(s string) (string, bool) {
	switch s {
	case "sp", "wsp":
		return "sp", true
	case "lr":
		return "x30", true
	case "fp":
		return "x29", true
	}
	for _, class := range []struct {
		prefix string
		n      int
		full   string
	}{
		{"x", 31, "x"}, {"w", 31, "x"},
		{"v", 32, "v"}, {"q", 32, "v"}, {"d", 32, "v"}, {"s", 32, "v"}, {"h", 32, "v"}, {"b", 32, "v"},
	} {
		if n, ok := numbered(s, class.prefix, class.n); ok {
			return class.full + strconv.Itoa(n), true
		}
	}
	return "", false
}

// arm64Address returns the name of a register that may be part of an address.
func arm64Address(s string) (string, bool) {
	name, ok := arm64Register(s)
	return name, ok && name == s && name[0] != 'v'
}

// parseARM parses an operand of 32-bit ARM:
//
//	#n
//	rN  sb sl fp ip sp lr pc, and the vector registers sN dN
//	[rN]  [rN, #n]  [rN, rM]  [rN, rM, lsl #n]
func parseARM(s string) (Operand, string) {
	if digits, ok := strings.CutPrefix(s, "#"); ok {
		v, ok := parseNumber(digits)
		if !ok {
			return malformed(s)
		}
		return constant(v)
	}
	if inner, ok := cutBrackets(s); ok {
		return parseARMAddress(inner, armCore)
	}
	if s[0] == '[' {
		return malformed(s)
	}
	if name, ok := armCore(s); ok {
		return register(name)
	}
	for _, prefix := range []string{"s", "d"} {
		if _, ok := numbered(s, prefix, 32); ok {
			return register(s)
		}
	}
	return unknownRegister(s)
}

// armCore returns the canonical name of a core register: r0 to r12, sp, lr,
// pc (Procedure Call Standard for the Arm Architecture, table 2).
func armCore(s string) (string, bool) {
	switch s {
	case "sp", "lr", "pc":
		return s, true
	case "sb":
		return "r9", true
	case "sl":
		return "r10", true
	case "fp":
		return "r11", true
	case "ip":
		return "r12", true
	}
	n, ok := numbered(s, "r", 16)
	switch n {
	case 13:
		return "sp", ok
	case 14:
		return "lr", ok
	case 15:
		return "pc", ok
	}
	return "r" + strconv.Itoa(n), ok
}

// cutBrackets returns what stands between the brackets of s.
func cutBrackets(s string) (string, bool) {
	inner, open := strings.CutPrefix(s, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	return inner, open && closed && !strings.ContainsAny(inner, "[]")
}

// parseARMAddress parses the inside of the brackets; reg knows the registers.
func parseARMAddress(s string, reg func(string) (string, bool)) (Operand, string) {
	parts := strings.Split(s, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	o := Operand{Kind: Memory, Scale: 1}
	var ok bool
	if o.Base, ok = reg(parts[0]); !ok {
		return Operand{}, fmt.Sprintf("address register %q", parts[0])
	}
	if len(parts) == 1 {
		return o, ""
	}
	offset := strings.TrimPrefix(parts[1], "#")
	if o.Value, ok = parseNumber(offset); ok && len(parts) == 2 {
		return o, ""
	}
	o.Value = 0
	if symbol, ok := strings.CutPrefix(offset, ":lo12:"); ok && len(parts) == 2 {
		var msg string
		o.Value, o.Symbol, o.SymbolBase, msg = parseSum(symbol)
		if msg == "" && (o.Symbol == "" || o.SymbolBase != Absolute) {
			msg = fmt.Sprintf("malformed symbol %q", symbol)
		}
		if msg != "" {
			return Operand{}, msg
		}
		o.SymbolBase = Lo12
		return o, ""
	}
	if o.Index, ok = reg(parts[1]); !ok {
		return Operand{}, fmt.Sprintf("offset %q", parts[1])
	}
	switch len(parts) {
	case 2:
		return o, ""
	case 3:
		// Extensions of a narrow index (sxtw) have no place in an Operand.
		amount, ok := strings.CutPrefix(parts[2], "lsl ")
		shift, isNumber := parseNumber(strings.TrimPrefix(strings.TrimSpace(amount), "#"))
		if ok && isNumber && shift >= 0 && shift <= 4 {
			o.Scale = 1 << shift
			return o, ""
		}
	}
	return Operand{}, fmt.Sprintf("index %q", strings.Join(parts[1:], ", "))
}
