package stapsdt

import (
	"fmt"
	"strings"
)

// parseX86 parses an operand in AT&T syntax (GNU as manual, "i386-Syntax" and
// "i386-Memory"):
//
//	$n  $sym+n
//	%reg
//	expr  expr(%base)  expr(%base,%index)  expr(%base,%index,scale)  expr(,%index,scale)
//	expr = term { ("+" | "-") term }, of numbers and at most one symbol
func parseX86(m Machine, s string) (Operand, string) {
	switch {
	case s[0] == '$':
		value, symbol, base, msg := parseSum(s[1:])
		if msg == "" && base != Absolute {
			return malformed(s)
		}
		return Operand{Kind: Constant, Value: value, Symbol: symbol}, msg
	case s[0] == '%':
		if strings.Contains(s, ":") {
			return Operand{}, "memory relative to a segment"
		}
		name, shift, ok := x86Register(m, s[1:])
		if !ok {
			return unknownRegister(s[1:])
		}
		return Operand{Kind: Register, Base: name, Shift: shift}, ""
	}

	o := Operand{Kind: Memory, Scale: 1}
	expr := s
	if strings.HasSuffix(s, ")") {
		var inner string
		expr, inner, _ = cutParens(s)
		if msg := o.x86Address(m, inner); msg != "" {
			return Operand{}, msg
		}
	}
	if expr != "" {
		var msg string
		o.Value, o.Symbol, o.SymbolBase, msg = parseSum(expr)
		if msg != "" {
			return Operand{}, msg
		}
	}
	if o.Base == "rip" {
		if o.Symbol == "" || o.SymbolBase != Absolute || o.Index != "" {
			return Operand{}, "relative to the instruction without a symbol"
		}
		o.Base, o.SymbolBase = "", RIP
	}
	return o, ""
}

// x86Address parses "%base,%index,scale".
func (o *Operand) x86Address(m Machine, s string) string {
	if strings.TrimSpace(s) == "" {
		return "no register between parentheses"
	}
	parts := strings.Split(s, ",")
	if len(parts) > 3 {
		return fmt.Sprintf("malformed address %q", s)
	}
	for i, p := range parts {
		p = strings.TrimSpace(p)
		if i == 2 {
			switch p {
			case "1", "2", "4", "8":
				o.Scale = int(p[0] - '0')
			default:
				return fmt.Sprintf("scale %q", p)
			}
			continue
		}
		if p == "" && i == 0 && len(parts) > 1 {
			continue // (,%index,scale)
		}
		name, ok := strings.CutPrefix(p, "%")
		if ok {
			var full string
			// A register of another width would cut the address.
			full, _, ok = x86Register(m, name)
			ok = ok && full == name && !strings.HasPrefix(full, "xmm")
		}
		if !ok {
			return fmt.Sprintf("address register %q", p)
		}
		if i == 0 {
			o.Base = name
		} else {
			o.Index = name
		}
	}
	return ""
}

// x86Register returns the canonical name of a register, which is that of the
// whole register of the machine, and the bits by which %ah and its like stand
// above bit 0.
func x86Register(m Machine, name string) (full string, shift int, ok bool) {
	letter := ""
	switch name {
	case "al", "ax", "eax", "rax":
		letter = "ax"
	case "bl", "bx", "ebx", "rbx":
		letter = "bx"
	case "cl", "cx", "ecx", "rcx":
		letter = "cx"
	case "dl", "dx", "edx", "rdx":
		letter = "dx"
	case "ah", "bh", "ch", "dh":
		letter, shift = name[:1]+"x", 8
	case "si", "esi", "rsi", "sil":
		letter = "si"
	case "di", "edi", "rdi", "dil":
		letter = "di"
	case "bp", "ebp", "rbp", "bpl":
		letter = "bp"
	case "sp", "esp", "rsp", "spl":
		letter = "sp"
	case "rip":
		letter = "ip"
	}
	if letter != "" {
		if m == I386 {
			// No r registers, and no low bytes of si, di, bp, sp.
			return "e" + letter, shift, name[0] != 'r' && (len(name) < 3 || name[2] != 'l')
		}
		return "r" + letter, shift, true
	}
	vectors := 8
	if m == X86_64 {
		vectors = 32 // with AVX-512
		number := name
		if len(name) > 2 {
			switch name[len(name)-1] {
			case 'd', 'w', 'b', 'l': // gcc writes %r8b, Intel r8l
				number = name[:len(name)-1]
			}
		}
		if n, ok := numbered(number, "r", 16); ok && n >= 8 {
			return number, 0, true
		}
	}
	if _, ok := numbered(name, "xmm", vectors); ok {
		return name, 0, true
	}
	return "", 0, false
}
