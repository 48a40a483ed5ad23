package front

import "strings"

type lexKind uint8

const (
	lexIdent lexKind = iota + 1
	lexNumber
	lexText  // a string or a character
	lexPunct // one character, "..." or "##"
	lexSpace // a blank, a comment or a spliced line; only within a directive
)

// A lexer cuts a file into preprocessing tokens, as far as those that look at a
// file before cc does need to know: not into C's operators.
type lexer struct {
	text       string
	start, end int // of the token
	kind       lexKind
	first      bool // of its line, but for blanks
	space      bool // something stands between it and the one before
	lines      int  // spliced lines between the two

	begun bool
	fresh bool // at the start of a line
}

// A lexeme is a token that is kept.
type lexeme struct {
	kind  lexKind
	text  string
	space bool
	lines int
}

func (l *lexer) tok() string { return l.text[l.start:l.end] }

// next goes to the next token and says whether there is one.
func (l *lexer) next() bool {
	if !l.begun {
		l.begun, l.fresh = true, true
	}
	l.space, l.lines = false, 0
	i := l.end
	for i < len(l.text) {
		switch c := l.text[i]; {
		case c == '\n':
			l.fresh = true
			i++
		case c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f':
			i++
		case c == '\\' && newline(l.text[i+1:]) > 0:
			l.lines++
			i += 1 + newline(l.text[i+1:])
		case strings.HasPrefix(l.text[i:], "//"):
			i = lineComment(l.text, i)
		case strings.HasPrefix(l.text[i:], "/*"):
			end := blockComment(l.text, i)
			l.lines += strings.Count(l.text[i:end], "\n")
			i = end
		default:
			l.take(i)
			return true
		}
		l.space = true
	}
	l.start, l.end = i, i
	return false
}

// take makes the token that begins at i the current one.
func (l *lexer) take(i int) {
	l.first, l.fresh = l.fresh, false
	l.start = i
	switch c := l.text[i]; {
	case letter(c):
		l.kind = lexIdent
		for i < len(l.text) && (letter(l.text[i]) || digit(l.text[i])) {
			i++
		}
	case digit(c):
		l.kind = lexNumber
		for i < len(l.text) && (letter(l.text[i]) || digit(l.text[i]) || l.text[i] == '.') {
			i++
		}
	case c == '"' || c == '\'':
		l.kind = lexText
		i = literal(l.text, i)
	default:
		l.kind = lexPunct
		switch {
		case strings.HasPrefix(l.text[i:], "..."):
			i += 3
		case strings.HasPrefix(l.text[i:], "##"):
			i += 2
		default:
			i++
		}
	}
	l.end = i
}

// hash goes to the next # that a line begins with, without a look at what is in
// between, which may be a comment, and says whether there is one.
func (l *lexer) hash() bool {
	for i := l.end; ; i++ {
		n := strings.IndexByte(l.text[i:], '#')
		if n < 0 {
			l.end = len(l.text)
			return false
		}
		i += n
		line := strings.LastIndexByte(l.text[:i], '\n') + 1
		if strings.Trim(l.text[line:i], " \t") == "" {
			l.begun = true
			l.take(i)
			return true
		}
	}
}

// directive returns the tokens of the directive whose # is the current token,
// and leaves the lexer at its end, before the line feed.
func (l *lexer) directive() []lexeme {
	line := []lexeme{{kind: lexPunct, text: "#"}}
	end := l.end
	for {
		probe := *l
		if !probe.next() || probe.first {
			break
		}
		*l = probe
		line = append(line, lexeme{l.kind, l.tok(), l.space, l.lines})
		end = l.end
	}
	l.end = end
	return line
}

// attribute returns the words of the attribute whose keyword is the current token,
// and leaves the lexer at its last parenthesis.
func (l *lexer) attribute() (words string) {
	for depth := 0; l.next(); {
		switch l.tok() {
		case "(":
			depth++
		case ")":
			if depth--; depth == 0 {
				return words
			}
		}
		if l.kind == lexIdent {
			words += l.tok() + " "
		}
		if depth == 0 {
			return words
		}
	}
	return words
}

// include returns the header that the directive whose # is the current token
// includes.
func (l *lexer) include() (header string, quoted, ok bool) {
	probe := *l
	if !probe.next() || probe.first {
		return "", false, false
	}
	if w := probe.tok(); w != "include" && w != "include_next" {
		return "", false, false
	}
	rest := l.text[probe.end:]
	if i := strings.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	rest = strings.TrimLeft(rest, " \t")
	if rest == "" || rest[0] != '"' && rest[0] != '<' {
		return "", false, false
	}
	closing := byte('"')
	if rest[0] == '<' {
		closing = '>'
	}
	n := strings.IndexByte(rest[1:], closing)
	if n < 0 {
		return "", false, false
	}
	l.end = l.start + len("#")
	return rest[1 : 1+n], closing == '"', true
}

// lineOf returns the line that the i-th byte of text is in, counted from 1.
func lineOf(text string, i int) int { return strings.Count(text[:i], "\n") + 1 }

func letter(c byte) bool {
	return c == '_' || c == '$' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// newline returns the length of the line feed that s begins with, or 0.
func newline(s string) int {
	switch {
	case strings.HasPrefix(s, "\n"):
		return 1
	case strings.HasPrefix(s, "\r\n"):
		return 2
	}
	return 0
}

// lineComment returns where the comment that begins at i ends: before its line
// feed, which a backslash takes into it.
func lineComment(s string, i int) int {
	for ; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i += newline(s[i+1:])
		case '\n':
			return i
		}
	}
	return len(s)
}

func blockComment(s string, i int) int {
	n := strings.Index(s[i+2:], "*/")
	if n < 0 {
		return len(s)
	}
	return i + 2 + n + 2
}

// literal returns where the string or character that begins at i ends: at the
// latest with its line.
func literal(s string, i int) int {
	quote := s[i]
	for i++; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if n := newline(s[i+1:]); n > 0 {
				i += n
			} else {
				i++
			}
		case quote:
			return i + 1
		case '\n':
			return i
		}
	}
	return len(s)
}
