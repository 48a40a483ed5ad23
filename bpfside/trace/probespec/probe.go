package probespec

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/nopfire/nopfire/bpfside/trace"
)

// A Probe is what a text for trace says.
type Probe struct {
	// Text is the text.
	Text string
	// Clause has Path, Pattern, Where and Capture. Capture is nil if the text has
	// neither format nor expressions, and empty, but not nil, if the format shows no
	// value.
	Clause trace.Clause
	// Format is how an event is shown, nil if the text does not say.
	Format *Format
	// BCC tells that the probe is written in bcc's way.
	BCC bool
}

// ParseTrace reads the text of one probe for trace:
//
//	PROBE [(CONDITION)] ["FORMAT"[,]] [EXPR, …]
//	PROBE [(CONDITION)], EXPR, …
//
// A format needs as many expressions as it has directives. What a %s shows is captured
// as a string. An expression that begins with a parenthesis stands behind a comma, or a
// condition, unless it begins with a cast.
//
// What is wrong with the text is a *SyntaxError.
func ParseTrace(text string) (*Probe, error) {
	s := &scanner{text: text}
	p := &Probe{Text: text}
	var err error
	if p.BCC, err = s.probe(&p.Clause, ""); err != nil {
		return nil, err
	}
	if err := s.condition(&p.Clause); err != nil {
		return nil, err
	}
	s.blanks()
	comma := s.take(',')
	s.blanks()
	at := s.pos
	if s.peek() == '"' {
		if err := s.literal('"'); err != nil {
			return nil, err
		}
		if p.Format, err = parseFormat(text, at+1, s.pos); err != nil {
			return nil, err
		}
		s.pos++
		s.blanks()
		comma = s.take(',')
		s.blanks()
	}
	var list []span
	if s.pos < len(text) || comma {
		if list, err = s.list(""); err != nil {
			return nil, err
		}
	}
	if p.Clause.Capture, err = s.captures(list); err != nil {
		return nil, err
	}
	if p.Format != nil {
		if err := s.fit(p.Format, at, list, &p.Clause); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// ParseCondition reads a condition that stands alone, without parentheses: one
// expression, whose brackets and quotes are closed, so that it stays one within
// parentheses. It is returned with bcc's names replaced. What is wrong with it is a
// *SyntaxError.
func ParseCondition(text string) (string, error) {
	s := &scanner{text: text}
	sp, err := s.expression(",;")
	switch {
	case err != nil:
		return "", err
	case s.pos < len(text):
		return "", s.errorf("one expression", "%q in a condition", text[s.pos:s.pos+1])
	case sp.from == sp.to:
		return "", s.errorf("", "the condition is missing")
	}
	return s.rewrite(sp)
}

// fit gives each directive of a format its expression.
func (s *scanner) fit(f *Format, at int, list []span, c *trace.Clause) error {
	n := f.Directives()
	switch {
	case len(list) < n:
		return errorf(s.text, len(s.text), "", "the format shows %s, there %s", count(n, "value"), areExpressions(len(list)))
	case len(list) > n:
		return errorf(s.text, list[n].from, "", "the format at %d shows %s, there %s", at+1, count(n, "value"), areExpressions(len(list)))
	}
	if c.Capture == nil {
		c.Capture = []trace.Capture{}
	}
	i := 0
	for _, p := range f.pieces {
		if p.verb != 0 {
			c.Capture[i].String = p.verb == 's'
			i++
		}
	}
	return nil
}

// probe reads the probe, and tells whether it is written in bcc's way.
func (s *scanner) probe(c *trace.Clause, stops string) (bcc bool, err error) {
	s.blanks()
	if s.pos == len(s.text) {
		return false, s.errorf("PROVIDER:PROBE", "no probe")
	}
	parts, err := s.parts(stops)
	if err != nil {
		return false, err
	}
	first, n := parts[0], len(parts)
	keyword := first.text
	if first.quoted {
		keyword = ""
	}
	if what, ok := refused[keyword]; ok && (n > 2 || len(keyword) > 1 && n > 1) {
		return false, errorf(s.text, first.off, "PROVIDER:PROBE, or u:PATH:PROBE", "%s: is no USDT probe but %s", keyword, what)
	}
	switch {
	case n == 1:
		return false, errorf(s.text, first.off, fmt.Sprintf("PROVIDER:PROBE, such as %q", first.text+":*"), "%q names no probe", first.text)
	case (keyword == "u" || keyword == "usdt") && n > 2:
		if parts[1].text != everything {
			c.Path = parts[1].text
		}
		c.Pattern, err = s.pattern(parts[2:])
		return true, err
	case keyword == "urdt" && n > 2:
		for _, p := range parts[1:] {
			if p.wild >= 0 {
				return false, errorf(s.text, p.wild, "a whole name, or one in quotes",
					"tracepoints that are defined at run time are told apart by a hash of their names, so there are no wildcards; nopfire list urdt shows the registered ones")
			}
		}
		c.Pattern = keyword + ":" + join(parts[1:])
		if _, _, err := trace.ParseURDTName(c.Pattern); err != nil {
			return false, errorf(s.text, first.off, "", "%v", err)
		}
		return false, nil
	case strings.Contains(first.text, "/") || strings.Contains(first.text, ".so"): // as usdt.FindFile tells them
		c.Path = first.text
		c.Pattern, err = s.pattern(parts[1:])
		return false, err
	}
	if n > 2 { // the first is no provider: the name of a probe that has a colon is quoted
		if first.text != everything {
			if strings.ContainsAny(first.text, "*?") {
				return false, errorf(s.text, first.off, `PATH:PROVIDER:PROBE, or quotes around a PROBE with a colon`, "a wildcard in the name of a program or library")
			}
			c.Path = first.text
		}
		parts = parts[1:]
	}
	c.Pattern, err = s.pattern(parts)
	return false, err
}

// everything is bpftrace's path for everything that processes have mapped.
const everything = "*"

// refused are the kinds of probes that bcc and bpftrace have besides.
var refused = map[string]string{
	"p": "a function's entry", "r": "a function's return", "t": "a tracepoint of the kernel",
	"kprobe": "a function of the kernel", "kretprobe": "a return from a function of the kernel",
	"uprobe": "a function's entry", "uretprobe": "a function's return",
	"tracepoint": "a tracepoint of the kernel", "rawtracepoint": "a tracepoint of the kernel",
	"fentry": "a function of the kernel", "fexit": "a return from a function of the kernel",
	"kfunc": "a function of the kernel", "kretfunc": "a return from a function of the kernel",
}

// pattern returns the pattern of one or more parts: a probe, or provider and probe. The
// name of a probe may have colons.
func (s *scanner) pattern(parts []part) (string, error) {
	if len(parts) == 1 {
		return ":" + parts[0].text, nil
	}
	if strings.Contains(parts[0].text, ":") {
		return "", errorf(s.text, parts[0].off, "", "a colon in the name of a provider")
	}
	return join(parts), nil
}

func join(parts []part) string {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.text
	}
	return strings.Join(texts, ":")
}

// condition reads what stands in parentheses behind a probe, if anything does. Empty
// ones are bcc's signature of a function, and a type is the cast of an expression.
func (s *scanner) condition(c *trace.Clause) error {
	s.blanks()
	if s.peek() != '(' {
		return nil
	}
	from := s.pos
	sp, err := s.parenthesized()
	if err != nil || sp.from == sp.to {
		return err
	}
	if isType(s.text[sp.from:sp.to]) {
		s.pos = from
		return nil
	}
	s.blanks()
	if operator.MatchString(s.text[s.pos:]) {
		meant := strings.TrimRight(s.text[:from], " \t\r\n") + ", " + s.text[from:]
		return s.errorf(meant, "the parentheses behind the probe are its condition")
	}
	c.Where, err = s.rewrite(sp)
	return err
}

// operator matches what goes on with an expression and cannot begin one: somebody has
// taken the parentheses before it for a part of that.
var operator = regexp.MustCompile(`^(->|[.=<>|^/%?[]|!=|&&)`)

// captures returns what is captured by expressions, nil for none.
func (s *scanner) captures(list []span) ([]trace.Capture, error) {
	var captures []trace.Capture
	for i, sp := range list {
		if i == trace.MaxCaptures {
			return nil, errorf(s.text, sp.from, "", "more than %d expressions", trace.MaxCaptures)
		}
		expr, err := s.rewrite(sp)
		if err != nil {
			return nil, err
		}
		c := trace.Capture{Expr: expr}
		if written := s.text[sp.from:sp.to]; written != expr {
			c.Name = written
		}
		captures = append(captures, c)
	}
	return captures, nil
}
