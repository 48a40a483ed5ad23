package probespec

import (
	"strings"

	"github.com/nopfire/nopfire/bpfside/trace"
)

// A Dist is what a text for argdist says.
type Dist struct {
	// Text is the text, without the label.
	Text string
	// Label is what the user calls the result, "" if there is none.
	Label string
	// Clause has Path, Pattern, Where, Aggregate, the key in Capture and, for a
	// histogram, Value. The bounds of a linear histogram are not set.
	Clause trace.Clause
	// ValueName is the Value as the user has written it, without the cast to its
	// type.
	ValueName string
	// BCC tells that the text is one of bcc's argdist.
	BCC bool
}

// ParseDist reads the text of one distribution: hits are counted (trace.Count), or
// drawn into a histogram (trace.Log2Hist, trace.LinearHist).
//
//	PROBE [(CONDITION)] [EXPR, …] [#LABEL]
//	u:PATH:PROBE[()][:TYPE, …:EXPR, …[:CONDITION]] [#LABEL]
//
// Counted are hits for each combination of the expressions, or all hits if there are
// none. A histogram is one of the last expression, apart for each combination of those
// before it. In the second form, which is bcc's, each expression has a type of C, and is
// converted to it; char* makes it a string.
//
// What is wrong with the text is a *SyntaxError.
func ParseDist(text string, kind trace.Aggregate) (*Dist, error) {
	d := &Dist{Text: strings.TrimSpace(text), Clause: trace.Clause{Aggregate: kind}}
	s := &scanner{text: text}
	var err error
	if d.BCC, err = s.probe(&d.Clause, "#"); err != nil {
		return nil, err
	}
	parens := s.pos
	if d.BCC && strings.Count(d.Clause.Pattern, ":") > 1 && s.peek() != '(' {
		// A type, most likely, taken for a part of the name.
		return nil, s.errorf("u:PATH:PROBE():TYPE:EXPR", "no () behind the probe")
	}
	if err := s.condition(&d.Clause); err != nil {
		return nil, err
	}
	if s.peek() == ':' && parens < s.pos {
		err = s.bccDist(d, parens)
	} else {
		err = s.ownDist(d)
	}
	if err != nil {
		return nil, err
	}
	if kind == trace.Count {
		return d, nil
	}
	if len(d.Clause.Capture) == 0 {
		return nil, s.errorf("an expression", "a histogram of nothing")
	}
	last := len(d.Clause.Capture) - 1
	value := d.Clause.Capture[last]
	if value.String {
		return nil, errorf(text, strings.Index(text, "char"), "a number", "a histogram of strings")
	}
	d.Clause.Value, d.ValueName = value.Expr, value.Name
	if d.ValueName == "" {
		d.ValueName = value.Expr
	}
	if d.Clause.Capture = d.Clause.Capture[:last]; last == 0 {
		d.Clause.Capture = nil
	}
	return d, nil
}

// label takes the label from the end of the text, where the scanner is.
func (s *scanner) label(d *Dist) {
	d.Text = strings.TrimSpace(s.text[:s.pos])
	if s.take('#') {
		d.Label = strings.TrimSpace(s.text[s.pos:])
	}
}

// ownDist reads what stands behind probe and condition.
func (s *scanner) ownDist(d *Dist) error {
	s.blanks()
	comma := s.take(',')
	s.blanks()
	var list []span
	var err error
	if comma || s.pos < len(s.text) && s.peek() != '#' {
		if s.peek() == '"' {
			return s.errorf("expressions", "a distribution has no format")
		}
		if list, err = s.list("#"); err != nil {
			return err
		}
	}
	if d.Clause.Capture, err = s.captures(list); err != nil {
		return err
	}
	s.label(d)
	return nil
}

// bccDist reads the types, the expressions and the condition of bcc's form, from the
// colon behind the signature on, which stands at an offset.
func (s *scanner) bccDist(d *Dist, signature int) error {
	if d.Clause.Where != "" {
		return errorf(s.text, signature, "(), and arg1, arg2, … in the expressions", "a USDT probe has no signature")
	}
	d.BCC = true
	s.pos++
	types, err := s.list(":#")
	if err != nil {
		return err
	}
	if !s.take(':') {
		return s.errorf(":EXPR", "types without expressions")
	}
	list, err := s.list(":#")
	if err != nil {
		return err
	}
	switch {
	case len(list) < len(types):
		return s.errorf("", "%s for %s", count(len(types), "type"), count(len(list), "expression"))
	case len(list) > len(types):
		return errorf(s.text, list[len(types)].from, "", "%s for %s", count(len(types), "type"), count(len(list), "expression"))
	}
	if s.take(':') {
		from := s.pos
		sp, err := s.expression("#")
		if err != nil {
			return err
		}
		if sp.from == sp.to {
			return errorf(s.text, from, "", "the condition is missing")
		}
		if d.Clause.Where, err = s.rewrite(sp); err != nil {
			return err
		}
	}
	if d.Clause.Capture, err = s.captures(list); err != nil {
		return err
	}
	for i := range d.Clause.Capture {
		c := &d.Clause.Capture[i]
		if c.Name == "" {
			c.Name = c.Expr
		}
		typ := s.text[types[i].from:types[i].to]
		if isString(typ) {
			c.String = true
			continue
		}
		if strings.IndexFunc(c.Expr, func(r rune) bool { return r > 0x7f || !isWord(byte(r)) }) >= 0 {
			c.Expr = "(" + c.Expr + ")"
		}
		c.Expr = "(" + typ + ")" + c.Expr
	}
	s.label(d)
	return nil
}

// isString tells whether a type is one that bcc shows as a string.
func isString(typ string) bool {
	words := strings.Fields(strings.ReplaceAll(typ, "*", " * "))
	if len(words) > 0 && words[0] == "const" {
		words = words[1:]
	}
	return strings.Join(words, " ") == "char *"
}
