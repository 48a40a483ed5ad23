package front

import (
	"errors"
	"fmt"

	"modernc.org/cc/v4"
)

// cc reads a program by recursive descent, and so does what reads its tree. When
// Go runs out of stack it ends the process, and nothing can be done about it
// then. So how deep source can lead is bounded before cc sees it: in the text of
// each file, and, if the macros of the program could make more of it than it says,
// in what they make.
const (
	maxNesting   = 1000   // brackets, and operators in a row; clang stops at 256 brackets
	maxStatement = 20_000 // tokens between two of , ; { }
	maxChain     = 50_000 // else, case, labels and the like in one function
)

var errTooDeep = errors.New("nested too deeply")

// complexity follows how deep a run of tokens is.
type complexity struct {
	brackets, run, statement, chain int
}

// token takes the next one and says whether it leads too deep.
func (c *complexity) token(kind lexKind, tok string) error {
	c.statement++
	if kind == lexPunct {
		c.run++
		switch tok {
		case "(", "[", "{":
			c.brackets++
			c.run = 0
		case ")", "]", "}":
			c.brackets, c.run = max(c.brackets-1, 0), 0
			if c.brackets == 0 && tok == "}" {
				c.chain = 0
			}
		case ":":
			c.chain++
		case ",", ";":
			c.run = 0
		}
		if tok == "," || tok == ";" || tok == "{" || tok == "}" {
			c.statement = 0
		}
	} else {
		c.run = 0
	}
	if kind == lexIdent {
		switch tok {
		case "if", "else", "for", "while", "do", "switch", "case", "default":
			c.chain++
		}
	}
	if c.brackets+c.run > maxNesting || c.statement > maxStatement || c.chain > maxChain {
		return errTooDeep
	}
	return nil
}

// checkDepth returns where a text gets too deep: a line, or 0.
func checkDepth(text string) (line int) {
	var c complexity
	for l := (lexer{text: text}); l.next(); {
		if c.token(l.kind, l.tok()) != nil {
			return lineOf(text, l.start)
		}
	}
	return 0
}

// macrosNest says whether the macros of the program's own files may make its text
// deeper than it is by more than maxNesting allows. One that uses n others may be as
// deep as all of these, one in another.
func (s *sources) macrosNest() bool {
	var bodies [][]lexeme
	names := map[string]bool{}
	s.reach(func(name, text string) {
		for l := (lexer{text: text}); l.hash(); {
			line := l.directive()
			if len(line) < 4 || line[1].text != "define" || line[3].text != "(" || line[3].space {
				continue
			}
			names[line[2].text] = true
			bodies = append(bodies, line[4:])
		}
	})
	factor, deepest := 1.0, 1
	for _, body := range bodies {
		uses, depth := 0, 0
		for _, t := range body {
			switch {
			case t.kind == lexIdent && names[t.text]:
				uses++
			case t.kind == lexPunct && t.text != ")" && t.text != ",":
				depth++
			}
		}
		deepest = max(deepest, depth)
		factor *= 1 + float64(uses)
	}
	return factor > 1 && factor*float64(deepest) > maxNesting
}

// checkMacros expands the macros of the whole unit, only to see how deep that
// leads.
func checkMacros(cfg *cc.Config, list []cc.Source) error {
	w := &depthWriter{}
	if err := cc.Preprocess(cfg, list, w); errors.Is(w.err, errTooDeep) {
		return w.err
	} else if err != nil {
		return nil // cc says it again, where it reads the program
	}
	return nil
}

// A depthWriter is given tokens as cc writes them, one after another.
type depthWriter struct {
	c   complexity
	err error
}

func (w *depthWriter) Write(p []byte) (int, error) {
	for l := (lexer{text: string(p)}); l.next(); {
		if err := w.c.token(l.kind, l.tok()); err != nil {
			w.err = fmt.Errorf("what the macros stand for is %w", err)
			return 0, w.err
		}
	}
	return len(p), nil
}
