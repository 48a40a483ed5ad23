package body

import (
	"fmt"
	"strings"
)

// Bounds of an expression. What is within them compiles in milliseconds.
const (
	maxLength = 16 << 10 // bytes
	maxNodes  = 2000
	maxDepth  = 100
)

// A nodeKind is what a node of an expression is.
type nodeKind uint8

const (
	nodeNumber nodeKind = iota // text
	nodeString                 // text
	nodeIdent                  // text
	nodeCall                   // text: the function, args
	nodeIndex                  // args[0] [ args[1] ]
	nodeMember                 // args[0], op "." or "->", text: the member
	nodeUnary                  // op args[0]
	nodeBinary                 // args[0] op args[1]
	nodeCond                   // args[0] ? args[1] : args[2]
	nodeCast                   // ( typ ) args[0]
	nodeSizeof                 // sizeof args[0], or, if there is none, of typ
)

// A node is one of an expression. Parentheses leave none.
type node struct {
	kind nodeKind
	// off is where the node begins, opOff where its operator or the name of
	// its member is.
	off, opOff int
	op, text   string
	args       []*node
	typ        *typeName
	depth      int
}

// A typeName is one as it stands in a cast: an integer type, or a struct, behind
// some pointers.
type typeName struct {
	off   int
	base  string // C, of one that is no struct
	tag   string // of a struct
	stars int
}

// A parser reads an expression by recursive descent, C11 6.5, but for what changes
// something and for the comma.
type parser struct {
	toks  []token
	at    int
	nodes int
	depth int
	names map[string]bool // that are arguments, and so no types
}

// parse reads an expression. names are the names of the arguments.
func parse(src string, names map[string]bool) (n *node, err *Error) {
	if len(src) > maxLength {
		return nil, errorf(-1, "the expression is longer than %d bytes", maxLength)
	}
	toks, err := lex(src)
	if err != nil {
		return nil, err
	}
	// The one panic here is that of [parser.fail], with an *Error.
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Error:
			n, err = nil, r
		default:
			panic(r)
		}
	}()
	p := &parser{toks: toks, names: names}
	n = p.expression()
	if p.tok().kind != tokEOF {
		p.unexpected("")
	}
	return n, nil
}

func errorf(off int, format string, args ...any) *Error {
	return &Error{Off: off, Msg: fmt.Sprintf(format, args...)}
}

func (p *parser) fail(off int, format string, args ...any) { panic(errorf(off, format, args...)) }

func (p *parser) tok() token { return p.toks[p.at] }

// is tells whether the next token is a punctuator, accept takes it if so.
func (p *parser) is(punct string) bool {
	return p.tok().kind == tokPunct && p.tok().text == punct
}

func (p *parser) accept(punct string) bool {
	if !p.is(punct) {
		return false
	}
	p.at++
	return true
}

func (p *parser) expect(punct string) {
	if !p.accept(punct) {
		p.unexpected(punct)
	}
}

// unexpected fails at the next token. want is what could have been there, "" for an
// operator.
func (p *parser) unexpected(want string) {
	t := p.tok()
	if t.kind == tokPunct {
		switch t.text {
		case "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=":
			p.fail(t.off, "an expression cannot assign: %s is not supported", t.text)
		case "++", "--":
			p.fail(t.off, "an expression cannot assign: %s is not supported", t.text)
		case ",":
			p.fail(t.off, "the comma operator is not supported")
		case "{", "}", ";", "#":
			p.fail(t.off, "unexpected %s: this is an expression, not a statement", t.text)
		}
	}
	found := "end of the expression"
	switch t.kind {
	case tokEOF:
	case tokChar, tokString:
		found = fmt.Sprintf("literal %q", t.text)
	default:
		found = t.text
	}
	if len(found) > 40 {
		found = strings.ToValidUTF8(found[:40], "") + "…" // a character that was cut is left out
	}
	if want != "" {
		p.fail(t.off, "unexpected %s, want %s", found, want)
	}
	p.fail(t.off, "unexpected %s", found)
}

// node counts a node and how deep it is.
func (p *parser) node(n node) *node {
	if p.nodes++; p.nodes > maxNodes {
		p.fail(n.off, "the expression has more than %d parts", maxNodes)
	}
	for i, a := range n.args {
		d := a.depth + 1
		if i == 0 && chained(&n, a) {
			d = a.depth // printed without parentheses
		}
		n.depth = max(n.depth, d)
	}
	if n.depth > maxDepth {
		p.tooDeep(n.off)
	}
	return &n
}

// chained tells whether the first operand a of n needs no parentheses, as
// operators of one kind in a row, which there may be many of.
func chained(n, a *node) bool {
	return n.kind == nodeBinary && a.kind == nodeBinary && n.op == a.op && n.op != "==" && n.op != "!="
}

func (p *parser) tooDeep(off int) {
	p.fail(off, "the expression is nested more than %d deep", maxDepth)
}

// nest is to be called before what may be nested, and its result after it.
func (p *parser) nest() func() {
	if p.depth++; p.depth > maxDepth {
		p.tooDeep(p.tok().off)
	}
	return func() { p.depth-- }
}

// conditional-expression: C11 6.5.15.
func (p *parser) expression() *node {
	defer p.nest()()
	c := p.binary(0)
	opOff := p.tok().off
	if !p.accept("?") {
		return c
	}
	yes := p.expression()
	p.expect(":")
	no := p.expression()
	return p.node(node{kind: nodeCond, off: c.off, opOff: opOff, args: []*node{c, yes, no}})
}

// levels are the binary operators by how tight they bind: C11 6.5.5 to 6.5.14.
var levels = map[string]int{
	"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5,
	"==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
	"<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}

// binary reads operators that bind tighter than level.
func (p *parser) binary(level int) *node {
	x := p.cast()
	for {
		t := p.tok()
		l := levels[t.text]
		if t.kind != tokPunct || l <= level {
			return x
		}
		p.at++
		y := p.binary(l)
		x = p.node(node{kind: nodeBinary, off: x.off, opOff: t.off, op: t.text, args: []*node{x, y}})
	}
}

// cast-expression: C11 6.5.4.
func (p *parser) cast() *node {
	if !p.is("(") || !p.startsType(p.at+1) {
		return p.unary()
	}
	defer p.nest()()
	off := p.tok().off
	p.at++
	typ := p.typeName()
	p.expect(")")
	if p.is("{") {
		p.fail(off, "compound literals are not supported")
	}
	if typ.stars == 0 && (typ.base == "void" || typ.tag != "") {
		p.fail(off, "cannot cast to %s", typ)
	}
	x := p.cast()
	return p.node(node{kind: nodeCast, off: off, opOff: off, typ: typ, args: []*node{x}})
}

// unary-expression: C11 6.5.3.
func (p *parser) unary() *node {
	t := p.tok()
	switch {
	case t.kind == tokPunct && strings.Contains(" ! ~ - + * & ", " "+t.text+" "):
		defer p.nest()()
		p.at++
		x := p.cast()
		return p.node(node{kind: nodeUnary, off: t.off, opOff: t.off, op: t.text, args: []*node{x}})
	case t.kind == tokIdent && t.text == "sizeof":
		defer p.nest()()
		p.at++
		n := node{kind: nodeSizeof, off: t.off, opOff: t.off}
		if p.is("(") && p.startsType(p.at+1) {
			p.at++
			n.typ = p.typeName()
			p.expect(")")
			if n.typ.stars == 0 && n.typ.base == "void" {
				p.fail(t.off, "void has no size")
			}
		} else {
			n.args = []*node{p.unary()}
		}
		return p.node(n)
	}
	return p.postfix()
}

// postfix-expression: C11 6.5.2.
func (p *parser) postfix() *node {
	x := p.primary()
	for {
		t := p.tok()
		switch {
		case p.accept("["):
			i := p.expression()
			p.expect("]")
			x = p.node(node{kind: nodeIndex, off: x.off, opOff: t.off, args: []*node{x, i}})
		case p.accept("."), p.accept("->"):
			name := p.tok()
			if name.kind != tokIdent {
				p.unexpected("the name of a field")
			}
			p.at++
			x = p.node(node{kind: nodeMember, off: x.off, opOff: name.off, op: t.text, text: name.text, args: []*node{x}})
		case p.is("("):
			if x.kind != nodeIdent || x.off != p.toks[p.at-1].off {
				p.fail(t.off, "only functions that have a name can be called")
			}
			x = p.call(x)
		default:
			return x
		}
	}
}

// call reads the arguments of a function.
func (p *parser) call(f *node) *node {
	n := node{kind: nodeCall, off: f.off, opOff: f.off, text: f.text}
	p.expect("(")
	for !p.accept(")") {
		if len(n.args) > 0 {
			p.expect(",")
		}
		n.args = append(n.args, p.expression())
	}
	return p.node(n)
}

// primary-expression: C11 6.5.1.
func (p *parser) primary() *node {
	t := p.tok()
	n := node{off: t.off, opOff: t.off, text: t.text}
	switch t.kind {
	case tokNumber:
		text, err := number(t)
		if err != nil {
			panic(err)
		}
		n.kind, n.text = nodeNumber, text
	case tokChar:
		if len(t.text) != 1 {
			p.fail(t.off, "a character constant has one character")
		}
		n.kind, n.text = nodeNumber, fmt.Sprint(int8(t.text[0])) // char is signed
	case tokString:
		n.kind = nodeString
		for p.toks[p.at+1].kind == tokString {
			p.at++
			n.text += p.tok().text
		}
	case tokIdent:
		n.kind = nodeIdent
		if why := notExpression[t.text]; why != "" {
			p.fail(t.off, "%s: %s", t.text, why)
		}
	default:
		if !p.accept("(") {
			p.unexpected("a value")
		}
		if p.is("{") {
			p.fail(t.off, "statement expressions are not supported")
		}
		x := p.expression()
		p.expect(")")
		return x
	}
	p.at++
	return p.node(n)
}

// notExpression says of keywords of C why they are none.
var notExpression = func() map[string]string {
	m := map[string]string{}
	for _, s := range strings.Fields("break case continue default do else for goto if return switch while typedef asm __asm __asm__") {
		m[s] = "this is an expression, not a statement"
	}
	for _, s := range strings.Fields("auto const enum extern inline register restrict static union volatile float double typeof __typeof __typeof__ _Alignas _Alignof _Atomic _Generic _Noreturn _Static_assert _Thread_local") {
		m[s] = "not supported"
	}
	for s := range typeWords {
		m[s] = "a type is no value: a cast has it in parentheses"
	}
	return m
}()

// number returns the text of an integer constant of C, with 0b of C23: C11 6.4.4.1.
func number(t token) (string, *Error) {
	s := strings.ToLower(t.text)
	digits := strings.TrimRight(s, "ul")
	base := "0123456789"
	rest := digits
	switch {
	case strings.HasPrefix(s, "0x"):
		base, rest = "0123456789abcdef", digits[2:]
	case strings.HasPrefix(s, "0b"):
		base, rest = "01", digits[2:]
	case strings.HasPrefix(s, "0") && len(digits) > 1:
		base, rest = "01234567", digits[1:]
	}
	if strings.Contains(s, ".") || base == "0123456789" && strings.Contains(s, "e") {
		return "", errorf(t.off, "floating point is not supported: BPF has none")
	}
	if rest == "" || strings.Trim(rest, base) != "" {
		return "", errorf(t.off, "%.40s is not a number", t.text)
	}
	switch s[len(digits):] {
	case "", "u", "l", "ul", "lu", "ll", "ull", "llu":
	default:
		return "", errorf(t.off, "%.40s is not a number", t.text)
	}
	if v, ok := parseUint(digits); !ok {
		return "", errorf(t.off, "%.40s does not fit into 64 bits", t.text)
	} else if base == "0123456789" && v > 1<<63-1 && !strings.Contains(s[len(digits):], "u") {
		s += "u" // what compilers take it for, with a warning
	}
	return s, nil
}
