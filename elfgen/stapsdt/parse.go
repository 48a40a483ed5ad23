package stapsdt

import (
	"fmt"
	"strconv"
	"strings"
)

// The argument string of a note is text for the assembler, as the compiler
// printed the operands of the probe into it (sys/sdt.h, _SDT_ASM_ARGS):
//
//	args    = "" | ":" … | arg { blank arg }
//	arg     = [ [ "-" ] size [ "f" ] "@" ] operand
//	operand = a constant, register or memory operand of the machine
//
// A negative size means signed, no size means an unsigned word. Operands have
// blanks in them where the assembler of the machine puts some ("[x0, 8]").

// maxParsed bounds what a hostile string can cost. BPF_USDT_MAX_ARG_CNT is 12,
// and sys/sdt.h stops at 12 as well.
const maxParsed = 64

// maxOperand bounds the length of an argument. The longest one known names a C++
// variable with 300 bytes.
const maxOperand = 4096

// maxSize bounds the size of an argument: a struct by value, at most.
const maxSize = 1 << 16

// ParseArgs parses the argument string of a note of a file for machine m. It
// returns an Arg for every argument; a faulty one has Err set, and its
// neighbours are what they would be without it. Of more than 64 arguments the
// last that is returned says so.
func ParseArgs(m Machine, s string) []Arg {
	if strings.HasPrefix(s, ":") {
		return nil // how some assemblers spell "no arguments"
	}
	var args []Arg
	if n := strings.Count(s[:min(len(s), maxOperand)], "@"); n > 0 {
		args = make([]Arg, 0, min(n, maxParsed)) // right nearly always
	}
	for {
		s = strings.TrimLeft(s, " \t")
		if s == "" {
			return args
		}
		end := argEnd(s)
		if len(args) == maxParsed-1 && strings.TrimLeft(s[end:], " \t") != "" {
			return append(args, Arg{Text: s[:end], Err: &ArgError{s[:end], "too many arguments"}})
		}
		args = append(args, parseArg(m, s[:end]))
		s = s[end:]
	}
}

// argEnd returns where the first argument of s ends: at a blank outside of
// brackets. A bracket that is never closed ends where the next argument seems
// to start.
func argEnd(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '[', '(':
			depth++
		case ']', ')':
			depth--
		case ' ', '\t':
			if depth <= 0 || startsSized(s[i+1:]) {
				return i
			}
		}
	}
	return len(s)
}

// startsSized tells whether s starts with a size and an @. It looks no further
// than that: argEnd asks at every blank.
func startsSized(s string) bool {
	s = strings.TrimPrefix(s, "-")
	n := 0
	for n < len(s) && isDigit(s[n], 10) {
		n++
	}
	return n > 0 && strings.HasPrefix(strings.TrimPrefix(s[n:], "f"), "@")
}

// parseArg parses one argument.
func parseArg(m Machine, text string) Arg {
	a := Arg{Text: text, Size: m.WordSize()}
	fail := func(msg string) Arg {
		a.Operand = Operand{}
		a.Err = &ArgError{text, msg}
		return a
	}
	if len(text) > maxOperand {
		return fail(fmt.Sprintf("longer than %d bytes", maxOperand))
	}
	operand := text
	if startsSized(text) {
		size, rest, _ := strings.Cut(text, "@")
		operand = rest
		size, a.Signed = strings.CutPrefix(size, "-")
		size, a.Float = strings.CutSuffix(size, "f")
		n, err := strconv.Atoi(size)
		if err != nil || n < 1 || n > maxSize {
			return fail("size out of range")
		}
		a.Size = n
	} else if i := strings.IndexByte(text, '@'); i >= 0 && !strings.HasPrefix(text[i:], "@GOTOFF") {
		return fail("malformed size")
	}
	if operand == "" {
		return fail("no operand")
	}
	var msg string
	switch m {
	case X86_64, I386:
		a.Operand, msg = parseX86(m, operand)
	case ARM64:
		a.Operand, msg = parseARM64(operand)
	case ARM, ARMBE:
		a.Operand, msg = parseARM(operand)
	case RISCV64:
		a.Operand, msg = parseRISCV(operand)
	case S390X:
		a.Operand, msg = parseS390(operand)
	case PPC64, PPC64LE:
		a.Operand, msg = parsePPC(operand)
	case MIPS64, MIPS64LE:
		a.Operand, msg = parseMIPS(operand)
	default:
		msg = "unknown machine"
	}
	if msg != "" {
		return fail(msg)
	}
	return a
}

// The parsers of operands return an Operand, or a reason in the second value.

func constant(v int64) (Operand, string) { return Operand{Kind: Constant, Value: v}, "" }

func register(name string) (Operand, string) { return Operand{Kind: Register, Base: name}, "" }

func unknownRegister(name string) (Operand, string) {
	return Operand{}, fmt.Sprintf("unknown register %q", name)
}

func malformed(s string) (Operand, string) {
	return Operand{}, fmt.Sprintf("malformed operand %q", s)
}

// cutNumber cuts a number with an optional sign off the front of s. It may be
// decimal or hexadecimal (0x), and as large as 2^64-1: a compiler prints
// constants of unsigned types so.
func cutNumber(s string) (v int64, rest string, ok bool) {
	digits := s
	neg := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		neg = s[0] == '-'
		digits = s[1:]
	}
	base := 10
	if len(digits) > 2 && digits[0] == '0' && digits[1]|0x20 == 'x' {
		base = 16
		digits = digits[2:]
	}
	n := 0
	for n < len(digits) && isDigit(digits[n], base) {
		n++
	}
	u, err := strconv.ParseUint(digits[:n], base, 64)
	if err != nil || neg && u > 1<<63 {
		return 0, s, false
	}
	if neg {
		u = -u
	}
	return int64(u), digits[n:], true
}

func isDigit(c byte, base int) bool {
	if '0' <= c && c <= '9' {
		return true
	}
	return base == 16 && 'a' <= c|0x20 && c|0x20 <= 'f'
}

// parseNumber parses a number that is all of s.
func parseNumber(s string) (int64, bool) {
	v, rest, ok := cutNumber(s)
	return v, ok && rest == ""
}

// numbered parses prefix and a number below n without leading zeros, as in
// "r12".
func numbered(s, prefix string, n int) (int, bool) {
	digits, ok := strings.CutPrefix(s, prefix)
	if !ok || digits == "" || len(digits) > 2 || digits[0] == '0' && digits != "0" {
		return 0, false
	}
	v, err := strconv.Atoi(digits)
	return v, err == nil && v >= 0 && digits[0] != '-' && digits[0] != '+' && v < n
}

// cutParens splits "d(inner)" into d and inner.
func cutParens(s string) (outside, inner string, ok bool) {
	i := strings.IndexByte(s, '(')
	if i < 0 || !strings.HasSuffix(s, ")") {
		return "", "", false
	}
	return s[:i], s[i+1 : len(s)-1], true
}

// displacement parses what stands before the parenthesis of a memory operand,
// which may be nothing.
func displacement(s string) (int64, bool) {
	if s == "" {
		return 0, true
	}
	return parseNumber(s)
}

// parseSum parses a sum of numbers and at most one symbol.
func parseSum(s string) (value int64, symbol string, base SymbolBase, msg string) {
	bad := func(what string) (int64, string, SymbolBase, string) {
		return 0, "", "", what
	}
	if s == "" {
		return bad("no value")
	}
	for rest := s; rest != ""; {
		if n, after, ok := cutNumber(rest); ok && (after == "" || after[0] == '+' || after[0] == '-') {
			value += n
			rest = after
			continue
		}
		term, signed := strings.CutPrefix(rest, "+")
		if !signed && rest != s || symbol != "" {
			return bad(fmt.Sprintf("malformed value %q", s))
		}
		n := 0
		for n < len(term) && isSymbolByte(term[n], n) {
			n++
		}
		symbol, rest = term[:n], term[n:]
		if symbol == "" {
			return bad(fmt.Sprintf("malformed value %q", s))
		}
		if reloc, ok := strings.CutPrefix(rest, "@"); ok {
			if reloc, ok = strings.CutPrefix(reloc, "GOTOFF"); !ok {
				return bad(fmt.Sprintf("relocation %q", rest))
			}
			base, rest = GOTOFF, reloc
		}
		if rest != "" && rest[0] != '+' && rest[0] != '-' {
			return bad(fmt.Sprintf("malformed value %q", s))
		}
	}
	return value, symbol, base, ""
}

// isSymbolByte tells whether c may stand at place i of a symbol name, in
// the assembler's unquoted spelling (GNU as manual, "Symbol Names"). A dollar in
// front would be the mark of a constant.
func isSymbolByte(c byte, i int) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_', c == '.', c >= 0x80:
		return true
	}
	return i > 0 && ('0' <= c && c <= '9' || c == '$')
}
