package probespec

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/nopfire/nopfire/bpfside/trace"
)

// Append appends the text that the format makes of values, and returns the longer
// slice. It has the bytes of strings as they are in the traced program: AppendPrintable is
// for terminals.
//
// Numbers are converted as in C: an integer directive shows as many bits as its length
// says, 32 without one, so that %d of -1 is -1 whatever its type, and %x of it ffffffff.
// Width and precision of %s count characters.
//
// Where C knows no answer, this is what stands there: %s shows a value of any type; %c a
// character of Unicode beyond 255; %x of a string or of bytes each byte; %f the value of
// an integer; NULL for %s is (null). A value that is not fit otherwise is shown as
// !(type value), and one that could not be read as !(reason). "…" follows a string that
// was cut when it was read. Values that the format has no directive for are not shown,
// and a value that is missing is !(missing).
func (f *Format) Append(b []byte, values []trace.Value) []byte { return f.append(b, values, false) }

// AppendPrintable appends the same text with everything that comes from the traced
// program made printable: bytes that are not UTF-8 and characters that do something rather
// than show something become escape sequences of C, and nothing moves the cursor of a
// terminal. The text of the format itself is the user's, and left as it is.
func (f *Format) AppendPrintable(b []byte, values []trace.Value) []byte {
	return f.append(b, values, true)
}

func (f *Format) append(b []byte, values []trace.Value, escape bool) []byte {
	i := 0
	for k := range f.pieces {
		p := &f.pieces[k]
		switch {
		case p.verb == 0:
			b = append(b, p.text...)
			continue
		case i >= len(values):
			b = append(b, "!(missing)"...)
		default:
			b = p.append(b, &values[i], escape)
		}
		i++
	}
	return b
}

// append appends one value.
func (p *piece) append(b []byte, v *trace.Value, escape bool) []byte {
	if v.Err != nil {
		return appendText(b, v.String(), escape)
	}
	switch p.verb {
	case 's':
		return p.appendString(b, v, escape)
	case 'c':
		if x, ok := word(v.Value); ok {
			return p.appendChar(b, x, escape)
		}
	case 'f', 'F', 'e', 'E', 'g', 'G':
		if x, ok := float(v.Value); ok {
			return p.appendFloat(b, x)
		}
	case 'x', 'X':
		switch x := v.Value.(type) {
		case string:
			return p.appendHex(b, []byte(x))
		case []byte:
			return p.appendHex(b, x)
		}
		fallthrough
	default:
		if x, ok := word(v.Value); ok {
			return p.appendWord(b, x)
		}
	}
	b = append(b, "!("...)
	b = appendText(b, v.Type, escape)
	b = append(b, ' ')
	b = appendText(b, v.String(), escape)
	return append(b, ')')
}

// word returns the 64 bits of what is an integer to C.
func word(value any) (uint64, bool) {
	switch x := value.(type) {
	case int64:
		return uint64(x), true
	case uint64:
		return x, true
	case bool:
		if x {
			return 1, true
		}
		return 0, true
	case trace.Pointer:
		return uint64(x), true
	}
	return 0, false
}

// float returns a number as a float.
func float(value any) (float64, bool) {
	switch x := value.(type) {
	case float64:
		return x, true
	case int64:
		return float64(x), true
	case uint64:
		return float64(x), true
	}
	return 0, false
}

// appendWord appends an integer.
func (p *piece) appendWord(b []byte, x uint64) []byte {
	var buf [24]byte
	digits, sign := buf[:0], ""
	switch p.verb {
	case 'p':
		return p.appendNumber(b, "0x", strconv.AppendUint(digits, x, 16))
	case 'd':
		n := int64(x<<(64-p.bits)) >> (64 - p.bits)
		switch {
		case n < 0:
			sign = "-"
			x = -uint64(n)
		case p.plus:
			sign = "+"
			x = uint64(n)
		case p.space:
			sign = " "
			x = uint64(n)
		default:
			x = uint64(n)
		}
		digits = strconv.AppendUint(digits, x, 10)
	default:
		x = x << (64 - p.bits) >> (64 - p.bits)
		base := map[byte]int{'u': 10, 'x': 16, 'X': 16, 'o': 8}[p.verb]
		digits = strconv.AppendUint(digits, x, base)
		switch {
		case p.verb == 'X':
			digits = bytes.ToUpper(digits)
			if p.sharp && x != 0 {
				sign = "0X"
			}
		case p.sharp && p.verb == 'x' && x != 0:
			sign = "0x"
		case p.sharp && p.verb == 'o' && x != 0 && p.prec <= len(digits):
			sign = "0"
		}
	}
	if x == 0 && p.prec == 0 && !(p.sharp && p.verb == 'o') {
		digits = digits[:0]
	}
	return p.appendNumber(b, sign, digits)
}

// appendChar appends a character: a byte as in C, or one of Unicode beyond them.
func (p *piece) appendChar(b []byte, x uint64, escape bool) []byte {
	char := string([]byte{byte(x)})
	if x > 0xff && x <= unicode.MaxRune {
		char = string(rune(x))
	}
	from := len(b)
	return p.fill(appendText(b, char, escape), from)
}

// appendNumber appends a number with sign or prefix, filled up to the width.
func (p *piece) appendNumber(b []byte, sign string, digits []byte) []byte {
	zeros := max(p.prec-len(digits), 0)
	fill := max(p.width-len(sign)-zeros-len(digits), 0)
	switch {
	case p.minus:
	case p.zero && p.prec < 0:
		zeros, fill = fill, 0
	default:
		b = appendFill(b, ' ', fill)
	}
	b = append(b, sign...)
	b = appendFill(b, '0', zeros)
	b = append(b, digits...)
	if p.minus {
		b = appendFill(b, ' ', fill)
	}
	return b
}

// appendFloat appends a float as C does, whose precision is 6 unless said otherwise.
func (p *piece) appendFloat(b []byte, x float64) []byte {
	sign := ""
	switch {
	case math.Signbit(x) && !math.IsNaN(x):
		sign = "-"
		x = -x
	case p.plus:
		sign = "+"
	case p.space:
		sign = " "
	}
	prec := p.prec
	if prec < 0 {
		prec = 6
	}
	var buf [64]byte
	digits := buf[:0]
	verb := p.verb | 0x20
	q := *p
	q.prec = -1 // it has been seen to
	switch {
	case math.IsNaN(x):
		digits = append(digits, "nan"...)
		q.zero = false
	case math.IsInf(x, 0):
		digits = append(digits, "inf"...)
		q.zero = false
	case p.sharp:
		digits = fmt.Appendf(digits, "%#.*"+string(rune(verb)), prec, x)
	default:
		if verb == 'g' {
			prec = max(prec, 1)
		}
		digits = strconv.AppendFloat(digits, x, verb, prec, 64)
	}
	if p.verb != verb {
		digits = bytes.ToUpper(digits)
	}
	return q.appendNumber(b, sign, digits)
}

// appendHex appends bytes as hexadecimal digits, two each.
func (p *piece) appendHex(b []byte, x []byte) []byte {
	digits := hex.AppendEncode(nil, x)
	if p.verb == 'X' {
		digits = bytes.ToUpper(digits)
	}
	from := len(b)
	return p.fill(append(b, digits...), from)
}

// appendString appends a value as a string.
func (p *piece) appendString(b []byte, v *trace.Value, escape bool) []byte {
	from := len(b)
	switch x := v.Value.(type) {
	case string:
		b = appendText(b, p.cut(x), escape)
	case []byte:
		b = appendText(b, p.cut(string(x)), escape)
	case nil:
		b = append(b, "(null)"...)
	default:
		return p.fill(appendText(b, v.String(), escape), from)
	}
	if v.Truncated {
		b = append(b, "…"...)
	}
	return p.fill(b, from)
}

// cut returns as many characters as the precision allows.
func (p *piece) cut(s string) string {
	if p.prec < 0 || len(s) <= p.prec {
		return s
	}
	n := 0
	for i := range s {
		if n == p.prec {
			return s[:i]
		}
		n++
	}
	return s
}

// fill fills what stands in b from an offset on up to the width, in characters.
func (p *piece) fill(b []byte, from int) []byte {
	if p.width == 0 {
		return b
	}
	n := max(p.width-utf8.RuneCount(b[from:]), 0)
	b = appendFill(b, ' ', n)
	if !p.minus && n > 0 {
		copy(b[from+n:], b[from:len(b)-n])
		for i := range n {
			b[from+i] = ' '
		}
	}
	return b
}

func appendFill(b []byte, c byte, n int) []byte {
	for range n {
		b = append(b, c)
	}
	return b
}

// appendText appends text of the traced program, with what is not printable as its
// escape sequence if escape says so.
func appendText(b []byte, s string, escape bool) []byte {
	if !escape {
		return append(b, s...)
	}
	const digits = "0123456789abcdef"
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < 0x7f {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if (r != utf8.RuneError || n > 1) && strconv.IsPrint(r) {
			i += n
			continue
		}
		b = append(b, s[from:i]...)
		switch {
		case r == utf8.RuneError && n == 1:
			b = append(b, '\\', 'x', digits[c>>4], digits[c&15])
		default:
			quoted := strconv.QuoteRune(r)
			b = append(b, quoted[1:len(quoted)-1]...)
		}
		i += n
		from = i
	}
	return append(b, s[from:]...)
}
