package probespec

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxField is the largest width and precision of a directive: that of the longest
// string.
const maxField = 4096

// A Format shows values as C's printf does.
type Format struct{ pieces []piece }

// A piece is text, or a directive.
type piece struct {
	text string // if verb is 0
	verb byte
	bits uint8 // of an integer: 8, 16, 32 or 64

	minus, plus, space, sharp, zero bool

	width, prec int // prec is -1 if there is none
}

// ParseFormat reads the format of printf: the text between the quotes of C, so \n, \t,
// \\, \", \xHH, \NNN and the others of C are understood. The directives are
//
//	%[flags][width][.precision][hh|h|l|ll|j|z|t]{d|i|u|x|X|o|c}
//	%[flags][width][.precision]{s|p|f|F|e|E|g|G}
//	%%
//
// with the flags - + space # 0. A * for width or precision and %n are refused, and so
// are bcc's %K and %U. What is wrong is a *SyntaxError.
func ParseFormat(text string) (*Format, error) { return parseFormat(text, 0, len(text)) }

// Directives returns how many values the format shows.
func (f *Format) Directives() (n int) {
	for _, p := range f.pieces {
		if p.verb != 0 {
			n++
		}
	}
	return n
}

// parseFormat reads the format that stands between two places of a text.
func parseFormat(text string, from, to int) (*Format, error) {
	f := new(Format)
	var literal []byte
	flush := func() {
		if len(literal) > 0 {
			f.pieces = append(f.pieces, piece{text: string(literal)})
			literal = literal[:0]
		}
	}
	for i := from; i < to; {
		switch c := text[i]; {
		case c == '\\':
			var err error
			if literal, i, err = escape(literal, text, i, to); err != nil {
				return nil, err
			}
		case c == '%' && i+1 < to && text[i+1] == '%':
			literal = append(literal, '%')
			i += 2
		case c == '%':
			flush()
			p, next, err := directive(text, i, to)
			if err != nil {
				return nil, err
			}
			f.pieces = append(f.pieces, p)
			i = next
		default:
			literal = append(literal, c)
			i++
		}
	}
	flush()
	return f, nil
}

// escape appends what a backslash at i means, and returns the place behind it.
func escape(b []byte, text string, i, to int) ([]byte, int, error) {
	const letters, values = `abfnrtv\"'?e`, "\a\b\f\n\r\t\v\\\"'?\x1b"
	if i+1 == to {
		return nil, 0, errorf(text, i, "", "nothing behind the backslash")
	}
	c := text[i+1]
	if at := strings.IndexByte(letters, c); at >= 0 {
		return append(b, values[at]), i + 2, nil
	}
	base, digits := 8, span{i + 1, min(i+4, to)}
	if c == 'x' {
		base, digits = 16, span{i + 2, min(i+4, to)}
	}
	end := digits.from
	for end < digits.to && digit(text[end]) < base {
		end++
	}
	n, err := strconv.ParseUint(text[digits.from:end], base, 8)
	if err != nil {
		_, size := utf8.DecodeRuneInString(text[i+1 : to])
		return nil, 0, errorf(text, i, "", "%q is no escape sequence of C", text[i:i+1+size])
	}
	return append(b, byte(n)), end, nil
}

// digit returns the value of a digit, 255 for what is none.
func digit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return 255
}

const directives = "%d, %u, %x, %o, %c, %s, %p, %f, %e, %g or %%"

// directive reads the directive at i, and returns the place behind it.
func directive(text string, i, to int) (piece, int, error) {
	p := piece{prec: -1, bits: 32}
	at := i
	fail := func(want, msg string) (piece, int, error) {
		_, size := utf8.DecodeRuneInString(text[min(i, to):to])
		return p, 0, errorf(text, at, want, "%s %s", text[at:min(i+size, to)], msg)
	}
	for i++; i < to && strings.IndexByte("-+ #0", text[i]) >= 0; i++ {
		switch text[i] {
		case '-':
			p.minus = true
		case '+':
			p.plus = true
		case ' ':
			p.space = true
		case '#':
			p.sharp = true
		case '0':
			p.zero = true
		}
	}
	number := func() int {
		n := 0
		for ; i < to && text[i] >= '0' && text[i] <= '9'; i++ {
			n = min(10*n+int(text[i]-'0'), maxField+1)
		}
		return n
	}
	p.width = number()
	if i < to && text[i] == '.' {
		i++
		p.prec = number()
	}
	switch {
	case max(p.width, p.prec) > maxField:
		return fail("at most "+strconv.Itoa(maxField), "is wider than anything can be")
	case i < to && text[i] == '*':
		return fail("a number", "takes a width or precision from nowhere")
	}
	modifier := ""
	for _, m := range []string{"hh", "h", "ll", "l", "j", "z", "t", "q", "L"} {
		if strings.HasPrefix(text[i:to], m) {
			modifier = m
			i += len(m)
			break
		}
	}
	if i >= to {
		return fail(directives, "is not finished")
	}
	p.verb = text[i]
	switch p.verb {
	case 'd', 'i', 'u', 'x', 'X', 'o':
		switch modifier {
		case "hh":
			p.bits = 8
		case "h":
			p.bits = 16
		case "ll", "l", "j", "z", "t", "q":
			p.bits = 64
		}
		if p.verb == 'i' {
			p.verb = 'd'
		}
	case 'f', 'F', 'e', 'E', 'g', 'G':
		if modifier == "l" || modifier == "L" { // a double is one with both
			modifier = ""
		}
		fallthrough
	case 's', 'c', 'p':
		if modifier != "" {
			return fail("", "has a length, which is for integers")
		}
	case 'K', 'U':
		return fail("%p or %lx", "would be a symbol, which nobody looks up")
	case 'n':
		return fail("", "would write into the traced process")
	default:
		return fail(directives, "is no directive")
	}
	return p, i + 1, nil
}
