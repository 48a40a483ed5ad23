package body

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nopfire/nopfire/bpfside/usdt"
)

// A printer writes expressions as C for bpfc. What it writes is its own, with a
// name of its own for everything: nothing of what a user wrote gets there but the
// digits of numbers. Argument i is a<i+1>, a struct s_<n>, a field f_<name>, and
// every operator has its parentheses.
type printer struct {
	in      *Input
	structs *structs
	args    map[string]int // by name
	out     []byte
	marks   []mark
	err     *Error // the first of the expression

	expr    int // that is printed: see Error
	unused  int // > 0 within sizeof
	used    uint16
	pid     bool
	comm    bool
	fields  map[string]bool
	roots   []*usdt.Type
	compare comparisons
	texts   []text // operands of comparisons with literals
}

// A mark says which place of which expression stands at a place of what is
// printed.
type mark struct{ pos, expr, off int }

// A text is an operand that is compared with a literal and so has to be one.
type text struct {
	expr, off int
	c         string // the operand, printed
	strict    bool   // == rather than strcmp, which takes any number for an address
}

func newPrinter(in *Input) *printer {
	p := &printer{in: in, structs: newStructs(in.Args), args: argNames(in.Args), fields: map[string]bool{}}
	return p
}

// fail records what is wrong with the expression, unless something is already.
// other tells that it may be right for another probe.
func (p *printer) fail(off int, other bool, format string, args ...any) {
	if p.err == nil {
		p.err = errorf(off, format, args...)
		p.err.OtherProbe = other
	}
}

// sprint returns what print prints.
func (p *printer) sprint(n *node) string {
	out, marks := p.out, p.marks
	p.out, p.marks = nil, nil
	p.print(n)
	s := string(p.out)
	p.out, p.marks = out, marks
	return s
}

func (p *printer) write(s string) { p.out = append(p.out, s...) }

func (p *printer) mark(off int) {
	p.marks = append(p.marks, mark{len(p.out), p.expr, off})
}

// print writes an expression.
func (p *printer) print(n *node) {
	p.mark(n.off)
	switch n.kind {
	case nodeNumber:
		p.write("(" + n.text + ")")
	case nodeString:
		p.fail(n.off, false, "text can only be compared: with ==, !=, strcmp or strncmp")
	case nodeIdent:
		p.ident(n)
	case nodeCall:
		p.call(n)
	case nodeIndex:
		p.index(n)
	case nodeMember:
		p.member(n)
	case nodeUnary:
		p.unary(n)
	case nodeBinary:
		p.binary(n)
	case nodeCond:
		p.write("(")
		p.value(n.args[0])
		p.mark(n.opOff)
		p.write(" ? ")
		p.value(n.args[1])
		p.write(" : ")
		p.value(n.args[2])
		p.write(")")
	case nodeCast:
		p.write("((" + p.typeName(n.typ) + ")")
		p.value(n.args[0])
		p.write(")")
	case nodeSizeof:
		p.sizeof(n)
	}
}

// value writes an operand, which has to be a value to compute with: a struct is none,
// and floating point is not there.
func (p *printer) value(n *node) {
	switch t := p.typeOf(n); {
	case t == nil:
	case t.Kind == usdt.Struct:
		p.fail(n.off, true, "%s", p.structs.notValue(t))
	case t.Kind == usdt.Float && n.kind == nodeMember:
		p.fail(n.opOff, true, "field %s is %s", n.text, noFloat)
	case t.Kind == usdt.Float && n.kind != nodeIdent:
		p.fail(n.off, true, "this is %s", noFloat)
	}
	p.print(n)
}

const noFloat = "floating point, which BPF cannot compute with: it can only stand alone"

// typeName returns a type that the user names in C.
func (p *printer) typeName(t *typeName) string {
	s := t.base
	if t.tag != "" {
		st, err := p.structs.find(t.tag)
		if err != nil {
			p.fail(t.off, true, "%v", err)
			return "int"
		}
		p.roots = append(p.roots, st)
		s = p.structs.ref(st)
	}
	return s + " " + strings.Repeat("*", t.stars)
}

func (p *printer) index(n *node) {
	if isComm(n.args[0]) {
		p.write("comm_at(comm, ")
		p.useComm()
		p.value(n.args[1])
		p.write(")")
		return
	}
	p.write("(")
	p.pointer(n.args[0])
	p.mark(n.opOff)
	p.write("[")
	p.value(n.args[1])
	p.write("])")
}

func isComm(n *node) bool { return n.kind == nodeIdent && n.text == "comm" }

func (p *printer) useComm() {
	if p.unused == 0 {
		p.comm = true
	}
}

func (p *printer) unary(n *node) {
	x := n.args[0]
	switch {
	case n.op == "&" && !inProcess(x):
		p.fail(n.off, false, "this has no address in the traced process")
	case n.op == "*" && isComm(x):
		p.print(&node{kind: nodeIndex, off: n.off, opOff: n.off, args: []*node{x, {kind: nodeNumber, off: n.off, text: "0"}}})
		return
	}
	p.write("(" + n.op)
	switch n.op {
	case "*":
		p.pointer(x)
	case "&":
		p.print(x)
	default:
		p.value(x)
	}
	p.write(")")
}

func (p *printer) binary(n *node) {
	x, y := n.args[0], n.args[1]
	if n.op == "==" || n.op == "!=" {
		of, literal := x, y
		if x.kind == nodeString {
			of, literal = y, x
		}
		switch {
		case literal.kind == nodeString:
			p.write("(")
			p.compareText(of, literal, whole, true)
			p.write(" " + n.op + " 0)")
			return
		case isComm(x) || isComm(y) || p.isText(x) && p.isText(y):
			p.fail(n.opOff, true, "text can be compared with a literal only, and neither of the two is one")
		}
	}
	p.write("(")
	p.chain(n, x)
	p.mark(n.opOff)
	p.write(" " + n.op + " ")
	p.constantCount(n, y)
	p.value(y)
	p.write(")")
}

// chain writes the first operand of n.
func (p *printer) chain(n, x *node) {
	if !chained(n, x) {
		p.value(x)
		return
	}
	p.mark(x.off)
	p.chain(x, x.args[0])
	p.mark(x.opOff)
	p.write(" " + x.op + " ")
	p.constantCount(x, x.args[1])
	p.value(x.args[1])
}

// constantCount refuses what has no value in C and that no program can do.
func (p *printer) constantCount(n, y *node) {
	v, ok := constant(y)
	switch {
	case !ok:
	case (n.op == "/" || n.op == "%") && v == 0:
		p.fail(n.opOff, false, "division by zero")
	case (n.op == "<<" || n.op == ">>") && v > 63:
		p.fail(n.opOff, false, "shift by %s bits", y.text)
	}
}

// constant returns the value of a number.
func constant(n *node) (uint64, bool) {
	if n.kind != nodeNumber || strings.HasPrefix(n.text, "-") {
		return 0, false
	}
	return parseUint(strings.TrimRight(n.text, "ul"))
}

func (p *printer) sizeof(n *node) {
	if n.typ != nil {
		p.write("(sizeof(" + p.typeName(n.typ) + "))")
		return
	}
	x := n.args[0]
	switch {
	case isComm(x):
		p.write("(16ul)")
		return
	case x.kind == nodeString:
		p.write(fmt.Sprintf("(%dul)", len(x.text)+1))
		return
	}
	p.unused++
	p.write("(sizeof(")
	p.print(x)
	p.write("))")
	p.unused--
}

// call writes what may be called.
func (p *printer) call(n *node) {
	want := map[string]int{"strcmp": 2, "STRCMP": 2, "strncmp": 3}[n.text]
	switch {
	case want == 0:
		p.fail(n.off, false, "function %s is not known: there are strcmp, strncmp and STRCMP", n.text)
		return
	case len(n.args) != want:
		p.fail(n.off, false, "%s takes %d arguments, not %d", n.text, want, len(n.args))
		return
	}
	x, y := n.args[0], n.args[1]
	sign := ""
	if y.kind != nodeString {
		x, y = y, x
		sign = "-"
	}
	if y.kind != nodeString {
		p.fail(n.off, false, "%s of two strings that are not literals is not supported", n.text)
		return
	}
	how := whole
	if n.text == "strncmp" {
		v, ok := constant(n.args[2])
		if !ok {
			p.fail(n.args[2].off, false, "the third argument of strncmp has to be a number")
			return
		}
		if v <= uint64(len(y.text)) {
			how = int(v)
		}
	}
	p.write("(")
	if n.text == "STRCMP" {
		// bcc's: true if the text begins with the literal, for it compares
		// as many bytes as that has.
		p.compareText(x, y, len(y.text), false)
		p.write(" == 0)")
		return
	}
	p.write(sign)
	p.compareText(x, y, how, false)
	p.write(")")
}

// printable quotes a name that is not plain: what a file calls its fields must not
// move the cursor of a terminal.
func printable(s string) string {
	for _, r := range s {
		if !strconv.IsPrint(r) || r == '\ufffd' {
			return strconv.Quote(s)
		}
	}
	return s
}
