package body

import (
	"fmt"
	"strings"
)

// A tokenKind is what a token is.
type tokenKind uint8

const (
	tokEOF tokenKind = iota
	tokIdent
	tokNumber
	tokChar
	tokString
	tokPunct
)

// A token is a token of C, C11 6.4. Text of a character or string literal is what
// it stands for, of others what was written.
type token struct {
	kind tokenKind
	off  int
	text string
}

// puncts are the punctuators of C, the longer before those that they begin with.
// Those that no expression has are here too: for a message that names them.
var puncts = []string{
	"<<=", ">>=", "...",
	"->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
	"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=",
	"(", ")", "[", "]", "{", "}", ".", "+", "-", "*", "/", "%", "<", ">", "&", "|", "^", "!", "~", "?", ":", "=", ",", ";", "#",
}

// lex returns the tokens of an expression; the last one is of kind tokEOF.
func lex(src string) ([]token, *Error) {
	var toks []token
	for i := 0; ; {
		for i < len(src) && strings.IndexByte(" \t\n\v\f\r", src[i]) >= 0 {
			i++
		}
		if i == len(src) {
			return append(toks, token{kind: tokEOF, off: i}), nil
		}
		t := token{off: i}
		switch c := src[i]; {
		case isLetter(c):
			t.kind = tokIdent
			for i < len(src) && (isLetter(src[i]) || isDigit(src[i])) {
				i++
			}
			t.text = src[t.off:i]
		case isDigit(c) || c == '.' && i+1 < len(src) && isDigit(src[i+1]):
			// A preprocessing number, C11 6.4.8, which is looked at later.
			t.kind = tokNumber
			for i < len(src) && (isLetter(src[i]) || isDigit(src[i]) || src[i] == '.' ||
				(src[i] == '+' || src[i] == '-') && strings.IndexByte("eEpP", src[i-1]) >= 0 && !isHex(src[t.off:i])) {
				i++
			}
			t.text = src[t.off:i]
		case c == '"' || c == '\'':
			text, n, err := unquote(src[i:], c)
			if err != nil {
				err.Off += i
				return nil, err
			}
			t.kind, t.text = tokString, text
			if c == '\'' {
				t.kind = tokChar
			}
			i += n
		default:
			t.kind = tokPunct
			for _, p := range puncts {
				if strings.HasPrefix(src[i:], p) {
					t.text = p
					break
				}
			}
			if t.text == "" {
				return nil, errorf(i, "unexpected character %s", quoteFirst(src[i:]))
			}
			i += len(t.text)
		}
		toks = append(toks, t)
	}
}

func isLetter(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isHex tells whether a number is hexadecimal: an e in it is a digit.
func isHex(s string) bool {
	return strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X")
}

// quoteFirst quotes the first character of s.
func quoteFirst(s string) string {
	for i := range s {
		if i > 0 {
			return fmt.Sprintf("%q", s[:i])
		}
	}
	return fmt.Sprintf("%q", s)
}

// escapes are the simple escape sequences of C, C11 6.4.4.4, and GNU's \e.
var escapes = map[byte]byte{
	'\'': '\'', '"': '"', '?': '?', '\\': '\\',
	'a': '\a', 'b': '\b', 'e': 0x1b, 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v',
}

// unquote returns what the literal that src begins with stands for, and how many
// bytes it has itself. quote is its first and its last character.
func unquote(src string, quote byte) (text string, n int, err *Error) {
	var b strings.Builder
	for i := 1; i < len(src); {
		c := src[i]
		switch {
		case c == quote:
			return b.String(), i + 1, nil
		case c == '\n' || c == 0:
			return "", 0, errorf(i, "unexpected character %q in a literal", c)
		case c != '\\':
			b.WriteByte(c)
			i++
			continue
		}
		value, size, ok := escape(src[i+1:])
		if !ok {
			return "", 0, errorf(i, "unknown escape sequence")
		}
		b.WriteByte(value)
		i += 1 + size
	}
	return "", 0, errorf(0, "the literal does not end")
}

// escape returns what follows a backslash stands for, and its length.
func escape(src string) (value byte, n int, ok bool) {
	if src == "" {
		return 0, 0, false
	}
	if v, ok := escapes[src[0]]; ok {
		return v, 1, true
	}
	base, digits := 8, src
	if src[0] == 'x' {
		base, n, digits = 16, 1, src[1:]
	}
	v, count := 0, 0
	for count < len(digits) && (base == 16 || count < 3) {
		d := strings.IndexByte("0123456789abcdef0123456789ABCDEF", digits[count])
		if d < 0 || d%16 >= base {
			break
		}
		d %= 16
		if v = v*base + d; v > 0xff {
			return 0, 0, false
		}
		count++
	}
	return byte(v), n + count, count > 0
}
