package probespec

import (
	"strings"
)

// A scanner walks through a text.
type scanner struct {
	text string
	pos  int
}

// errorf returns an error at the place where the scanner is.
func (s *scanner) errorf(want, format string, args ...any) error {
	return errorf(s.text, s.pos, want, format, args...)
}

// blanks skips blanks.
func (s *scanner) blanks() {
	for s.pos < len(s.text) && isBlank(s.text[s.pos]) {
		s.pos++
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// peek returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	if s.pos < len(s.text) {
		return s.text[s.pos]
	}
	return 0
}

// take skips the next byte if it is c.
func (s *scanner) take(c byte) bool {
	if s.pos < len(s.text) && s.text[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

// A part is what stands between two colons of a probe.
type part struct {
	text   string
	off    int  // in the whole text
	quoted bool // in quotes, so no keyword
	wild   int  // where its first wildcard is, if it is not quoted; else -1
}

// parts reads the parts of a probe up to a blank, a parenthesis, a comma, the text of a
// format or one of stops.
func (s *scanner) parts(stops string) ([]part, error) {
	var parts []part
	for {
		p, err := s.part(stops)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
		if !s.take(':') {
			return parts, nil
		}
	}
}

// part reads one part.
func (s *scanner) part(stops string) (part, error) {
	p := part{off: s.pos, wild: -1}
	if s.take('"') {
		p.quoted = true
		text, err := s.quoted(p.off)
		p.text = text
		if err == nil && s.pos < len(s.text) && !strings.ContainsRune(": \t\r\n(,"+stops, rune(s.peek())) {
			err = s.errorf("a colon or a blank", "text directly behind a quoted part")
		}
		return p, err
	}
	var b strings.Builder
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		if isBlank(c) || strings.IndexByte(":(),\"", c) >= 0 || strings.IndexByte(stops, c) >= 0 {
			if c != ',' || !s.inPath(p.off) {
				break
			}
		}
		if c == '\\' {
			if s.pos++; s.pos == len(s.text) {
				return p, s.errorf("", "nothing behind the backslash")
			}
			c = s.text[s.pos]
		} else if (c == '*' || c == '?') && p.wild < 0 {
			p.wild = s.pos
		}
		b.WriteByte(c)
		s.pos++
	}
	p.text = b.String()
	return p, nil
}

// inPath tells whether the comma where the scanner is belongs to the path that began at
// from: so it does if the path goes on to a colon.
func (s *scanner) inPath(from int) bool {
	if !strings.Contains(s.text[from:s.pos], "/") {
		return false
	}
	rest := s.text[s.pos:]
	end := strings.IndexAny(rest, " \t\r\n(\"?:")
	return end >= 0 && rest[end] == ':'
}

// quoted reads up to the closing quote, the opening one at from has been read. A
// backslash takes the special meaning of the byte behind it.
func (s *scanner) quoted(from int) (string, error) {
	var b strings.Builder
	for ; s.pos < len(s.text); s.pos++ {
		switch c := s.text[s.pos]; c {
		case '"':
			s.pos++
			return b.String(), nil
		case '\\':
			if s.pos++; s.pos == len(s.text) {
				return "", errorf(s.text, from, "", "no closing quote")
			}
			b.WriteByte(s.text[s.pos])
		default:
			b.WriteByte(c)
		}
	}
	return "", errorf(s.text, from, "", "no closing quote")
}

// A span is a piece of the text.
type span struct{ from, to int }

// trim returns the span without blanks at both ends.
func (s *scanner) trim(sp span) span {
	for sp.from < sp.to && isBlank(s.text[sp.from]) {
		sp.from++
	}
	for sp.to > sp.from && isBlank(s.text[sp.to-1]) {
		sp.to--
	}
	return sp
}

// parenthesized reads from an opening parenthesis, where the scanner is, to the one that
// closes it, and returns what is between them.
func (s *scanner) parenthesized() (span, error) {
	s.pos++
	sp, err := s.expression(")")
	s.pos++ // the closing one, which expression has found
	return sp, err
}

// expression skips an expression of C, up to a byte of stops that is not within
// brackets, a string or a character constant, or to the end. A colon belongs to a
// question mark before it, if there is one. With ")" in stops the end of the text is no
// end.
func (s *scanner) expression(stops string) (span, error) {
	from := s.pos
	var open []int // offsets of brackets
	questions := []int{0}
	for ; s.pos < len(s.text); s.pos++ {
		c := s.text[s.pos]
		depth := len(open)
		if depth == 0 && strings.IndexByte(stops, c) >= 0 && (c != ':' || questions[0] == 0) {
			return s.trim(span{from, s.pos}), nil
		}
		switch c {
		case '(', '[', '{':
			open = append(open, s.pos)
			questions = append(questions, 0)
		case ')', ']', '}':
			if depth == 0 {
				return span{}, s.errorf("", "%q closes nothing", string(c))
			}
			if opening := s.text[open[depth-1]]; opening != map[byte]byte{')': '(', ']': '[', '}': '{'}[c] {
				return span{}, s.errorf("", "%q does not close %q", string(c), string(opening))
			}
			open, questions = open[:depth-1], questions[:depth]
		case '?':
			questions[depth]++
		case ':':
			questions[depth] = max(questions[depth]-1, 0)
		case '"', '\'':
			if err := s.literal(c); err != nil {
				return span{}, err
			}
		}
	}
	switch {
	case len(open) > 0:
		at := open[len(open)-1]
		return span{}, errorf(s.text, at, "", "%q is not closed", s.text[at:at+1])
	case strings.Contains(stops, ")"):
		return span{}, errorf(s.text, from-1, "", `"(" is not closed`)
	}
	return s.trim(span{from, s.pos}), nil
}

// literal goes to the quote that ends a string or a character constant.
func (s *scanner) literal(quote byte) error {
	from := s.pos
	for s.pos++; s.pos < len(s.text); s.pos++ {
		switch s.text[s.pos] {
		case '\\':
			s.pos++
		case quote:
			return nil
		}
	}
	s.pos = len(s.text)
	return errorf(s.text, from, "", "no closing quote")
}

// list reads expressions between commas, up to a byte of stops. An empty one is an
// error, and so is an empty list.
func (s *scanner) list(stops string) ([]span, error) {
	var list []span
	for {
		s.blanks()
		at := s.pos
		sp, err := s.expression("," + stops)
		if err != nil {
			return nil, err
		}
		if sp.from == sp.to {
			return nil, errorf(s.text, at, "", "an expression is missing")
		}
		list = append(list, sp)
		if !s.take(',') {
			return list, nil
		}
	}
}
