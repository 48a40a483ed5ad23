package stapsdt

import (
	"fmt"
	"strconv"
	"strings"
)

// FormatArg returns the argument as a note of machine m spells it. It goes by
// the fields, not by Text, and names registers as Operand does, which every
// tracer reads: "4@%rax" rather than "4@%eax". ParseArgs of the result gives
// an argument with the same fields.
func FormatArg(m Machine, a Arg) (string, error) {
	if a.Err != nil {
		return "", fmt.Errorf("format argument: %w", a.Err)
	}
	operand, ok := formatOperand(m, &a.Operand)
	if !ok || a.Size < 1 || a.Size > maxSize {
		return "", fmt.Errorf("format argument: no spelling on %s for size %d of %+v", m, a.Size, a.Operand)
	}
	var b strings.Builder
	if a.Signed {
		b.WriteByte('-')
	}
	b.WriteString(strconv.Itoa(a.Size))
	if a.Float {
		b.WriteByte('f')
	}
	b.WriteByte('@')
	b.WriteString(operand)

	// Fields that the machine's syntax cannot carry, such as a scale on
	// riscv64, would be lost without notice.
	text := b.String()
	if back := ParseArgs(m, text); len(back) != 1 || back[0].Err != nil || back[0].Operand != a.Operand {
		return "", fmt.Errorf("format argument: no spelling on %s for %+v", m, a.Operand)
	}
	return text, nil
}

// formatOperand spells an operand in the grammar that the parser of the machine
// documents.
func formatOperand(m Machine, o *Operand) (string, bool) {
	switch m {
	case X86_64, I386:
		return formatX86(o), true
	case ARM64:
		return formatARM(o, "")
	case ARM, ARMBE:
		return formatARM(o, "#")
	case RISCV64:
		return formatBased(o, "", "", "zero")
	case S390X:
		return formatBased(o, "", "%", "r0")
	case PPC64, PPC64LE:
		return formatPPC(o)
	case MIPS64, MIPS64LE:
		// A float register "f0" is "$f0", an integer register "r4" is "$4".
		short := *o
		short.Base = strings.TrimPrefix(o.Base, "r")
		return formatBased(&short, "", "$", "0")
	}
	return "", false
}

func formatX86(o *Operand) string {
	sum := o.Symbol
	if o.SymbolBase == GOTOFF {
		sum += "@GOTOFF"
	}
	if o.Value != 0 || sum == "" && (o.Kind == Constant || o.Base+o.Index == "") {
		if sum != "" && o.Value >= 0 {
			sum += "+"
		}
		sum += strconv.FormatInt(o.Value, 10)
	}
	switch o.Kind {
	case Constant:
		return "$" + sum
	case Register:
		name := o.Base
		if o.Shift == 8 { // %ah and its like: the letter before the x
			name = name[len(name)-min(2, len(name)):]
			name = strings.TrimSuffix(name, "x") + "h"
		}
		return "%" + name
	}
	if o.SymbolBase == RIP {
		return sum + "(%rip)"
	}
	if o.Base+o.Index == "" {
		return sum
	}
	address := ""
	if o.Base != "" {
		address = "%" + o.Base
	}
	if o.Index != "" {
		address += ",%" + o.Index
		if o.Scale != 1 {
			address += "," + strconv.Itoa(o.Scale)
		}
	}
	return sum + "(" + address + ")"
}

// formatARM spells an operand of ARM or AArch64; hash stands before a number.
func formatARM(o *Operand, hash string) (string, bool) {
	value := strconv.FormatInt(o.Value, 10)
	switch {
	case o.Kind == Constant:
		return hash + value, o.Symbol == ""
	case o.Kind == Register:
		return o.Base, true
	case o.SymbolBase == Lo12:
		sum := o.Symbol
		if o.Value > 0 {
			sum += "+" + value
		} else if o.Value < 0 {
			sum += value
		}
		return "[" + o.Base + ", #:lo12:" + sum + "]", true
	case o.Symbol != "":
		return "", false
	case o.Index == "" && o.Value == 0:
		return "[" + o.Base + "]", true
	case o.Index == "":
		return "[" + o.Base + ", " + hash + value + "]", true
	case o.Scale == 1:
		return "[" + o.Base + ", " + o.Index + "]", true
	}
	for shift := range 5 {
		if o.Scale == 1<<shift {
			return fmt.Sprintf("[%s, %s, lsl %s%d]", o.Base, o.Index, hash, shift), true
		}
	}
	return "", false
}

// formatBased spells the operands n, reg, n(reg) and n(reg,reg), with prefixes
// for constants and registers; zero is the register that stands for no base.
func formatBased(o *Operand, constant, reg, zero string) (string, bool) {
	value := strconv.FormatInt(o.Value, 10)
	if o.Symbol != "" {
		return "", false
	}
	switch o.Kind {
	case Constant:
		return constant + value, true
	case Register:
		return reg + o.Base, true
	}
	base := o.Base
	if base == "" {
		base = zero
	}
	if o.Index != "" {
		return value + "(" + reg + base + "," + reg + o.Index + ")", true
	}
	return value + "(" + reg + base + ")", true
}

func formatPPC(o *Operand) (string, bool) {
	short := *o
	if !strings.HasPrefix(o.Base, "f") {
		short.Base = strings.TrimPrefix(o.Base, "r")
	}
	if o.Kind == Memory && o.Value == 0 && o.Symbol == "" {
		switch {
		case o.Index != "":
			return short.Base + "," + strings.TrimPrefix(o.Index, "r"), true
		case o.Base == "r0": // which d(0) does not mean
			return "0,0", true
		}
	}
	return formatBased(&short, "i", "", "0")
}
