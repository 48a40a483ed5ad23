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
	out     strings.Builder
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

// argNames returns the indexes of the arguments by all their names: argN first. An
// argument whose name is a word of C, or means something else, has no other.
func argNames(args []Arg) map[string]int {
	names := make(map[string]int, 2*len(args))
	for i := range args {
		names["arg"+strconv.Itoa(i+1)] = i
	}
	for i := range args {
		name := args[i].Name
		if _, dup := names[name]; !dup && isIdentifier(name) && builtins[name] == "" && notExpression[name] == "" && name != "sizeof" {
			names[name] = i
		}
	}
	return names
}

func isIdentifier(s string) bool {
	for i := range len(s) {
		if !isLetter(s[i]) && (i == 0 || !isDigit(s[i])) {
			return false
		}
	}
	return s != ""
}

// builtins are the names that every probe has, in C. They come before the names of
// arguments: a condition is to mean the same for every probe.
var builtins = map[string]string{
	"pid":   "pid",
	"tid":   "tid",
	"uid":   "uid()",
	"cpu":   "cpu()",
	"ts":    "ts()",
	"comm":  "comm",
	"true":  "1",
	"false": "0",
	"NULL":  "((void *)0)",
}

// argName returns the name of an argument that there surely is.
func (p *printer) argName(i int) string {
	if i >= 0 && i < len(p.in.Args) {
		if j, ok := p.args[p.in.Args[i].Name]; ok && j == i {
			return p.in.Args[i].Name
		}
	}
	return "arg" + strconv.Itoa(i+1)
}

// argument returns the index of the argument that a name stands for.
func (p *printer) argument(name string) (int, bool) {
	i, ok := p.args[name]
	return i, ok
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
	p.out, p.marks = strings.Builder{}, nil
	p.print(n)
	s := p.out.String()
	p.out, p.marks = out, marks
	return s
}

func (p *printer) write(s string) { p.out.WriteString(s) }

func (p *printer) mark(off int) {
	p.marks = append(p.marks, mark{p.out.Len(), p.expr, off})
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

func (p *printer) ident(n *node) {
	if c, ok := builtins[n.text]; ok {
		switch {
		case n.text == "comm":
			p.fail(n.off, false, "comm is text: it can stand alone, be compared with text, or be indexed")
		case p.unused > 0: // sizeof wants the type alone
		case n.text == "pid" || n.text == "tid":
			p.pid = true
		}
		p.write(c)
		return
	}
	i, ok := p.argument(n.text)
	if !ok {
		p.unknown(n)
		return
	}
	a := &p.in.Args[i]
	if _, ok := p.argType(i); !ok {
		if isFloat(a) {
			p.fail(n.off, true, "%s is %s", n.text, noFloat)
		}
		p.fail(n.off, true, "%s is a value of %d bytes, which BPF cannot compute with: it can only stand alone", n.text, a.Size)
		return
	}
	p.use(i)
	p.write("a" + strconv.Itoa(i+1))
}

// use notes that an argument is looked at.
func (p *printer) use(i int) {
	if p.unused == 0 {
		p.used |= 1 << i
	}
	if t := p.in.Args[i].Type; t != nil {
		p.roots = append(p.roots, t)
	}
}

// unknown says that there is nothing of a name.
func (p *printer) unknown(n *node) {
	if digits, ok := strings.CutPrefix(n.text, "arg"); ok && digits != "" && strings.Trim(digits, "0123456789") == "" {
		p.fail(n.off, true, "%s is not known: the probe has %d arguments, from arg1 on", n.text, len(p.in.Args))
		return
	}
	var names []string
	for i := range p.in.Args {
		names = append(names, p.argName(i))
	}
	p.fail(n.off, true, "%s is not known%s", n.text, suggest(n.text, "the arguments are", "the probe has no arguments", names))
}

// argType returns the type of an argument in C: a declaration of it, as name; not
// ok if there is none.
func (p *printer) argType(i int) (declaration string, ok bool) {
	name := "a" + strconv.Itoa(i+1)
	a := &p.in.Args[i]
	t := a.Type
	switch {
	case isFloat(a):
		return "", false
	case t != nil && t.Kind != usdt.Unknown && t.Kind != usdt.Struct && t.Kind != usdt.Array:
		_, ok := scalar(t)
		return p.structs.declare(t, name), ok
	}
	c, ok := integers[a.Size]
	switch {
	case !a.Signed:
		c = "unsigned " + c
	case a.Size == 1:
		c = "signed char"
	}
	return c + " " + name, ok
}

func isFloat(a *Arg) bool {
	if a.Type != nil && a.Type.Kind != usdt.Unknown {
		return a.Type.Kind == usdt.Float
	}
	return a.Float
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

// member writes x.f and x->f. Where the type of x is known, what is wrong with it
// is said here, by the names that the user knows.
func (p *printer) member(n *node) {
	x := n.args[0]
	p.fields[n.text] = true
	t := p.typeOf(x)
	s := t
	if n.op == "->" {
		switch {
		case t == nil:
		case t.Kind == usdt.Pointer || t.Kind == usdt.Array:
			s = t.Elem
		case t.Kind == usdt.Struct:
			p.fail(n.opOff, true, "%s is a struct, not a pointer to one: use a dot", printable(p.structs.name(t)))
		case isText(t):
			p.fail(n.opOff, true, "a string has no fields")
		default:
			p.fail(n.opOff, true, "a number has no fields: cast it to a pointer to a struct")
		}
	}
	switch {
	case t == nil:
	case s == nil || s.Kind == usdt.Unknown:
		p.fail(n.opOff, true, "what this points to is not known")
	case n.op == "." && (s.Kind == usdt.Pointer || s.Kind == usdt.String || s.Kind == usdt.Bytes):
		p.fail(n.opOff, true, "this is a pointer: use ->")
	case s.Kind != usdt.Struct:
		p.fail(n.opOff, true, "this is no struct, and has no fields")
	default:
		m, ok := field(s, n.text)
		switch {
		case !ok:
			var names []string
			for _, m := range members(s) {
				names = append(names, printable(m.name))
			}
			p.fail(n.opOff, true, "%s has no field %s%s", printable(p.structs.name(s)), n.text, suggest(n.text, "it has", "its fields are not known", names))
		case m.typ.Kind == usdt.Unknown:
			p.fail(n.opOff, true, "the type of field %s is not known", n.text)
		}
	}
	p.write("(")
	if n.op == "->" {
		p.pointer(x)
	} else {
		p.print(x)
	}
	p.mark(n.opOff)
	p.write(n.op + "f_" + n.text + ")")
}

// pointer writes an expression that is to be one. A pointer of a process of 32 bits
// is a number before that.
func (p *printer) pointer(n *node) {
	t := p.typeOf(n)
	if t != nil && t.Kind == usdt.Pointer && (t.Elem == nil || t.Elem.Kind == usdt.Unknown) {
		p.fail(n.off, true, "what this points to is not known")
	}
	if t == nil || t.Size != 4 || t.Kind != usdt.Pointer && !isText(t) {
		p.value(n)
		return
	}
	wide := *t
	wide.Size = 8
	p.write("((" + p.structs.declare(&wide, "") + ")(unsigned long)")
	p.print(n)
	p.write(")")
}

// typeOf returns the type of an expression that leads through arguments, fields and
// casts to structs; nil of all others, which the compiler types.
func (p *printer) typeOf(n *node) *usdt.Type {
	switch n.kind {
	case nodeIdent:
		if i, ok := p.argument(n.text); ok && builtins[n.text] == "" {
			t := p.in.Args[i].Type
			if t == nil {
				return &usdt.Type{Kind: usdt.Uint, Size: p.in.Args[i].Size}
			}
			return t
		}
	case nodeCast:
		if n.typ.tag != "" {
			if st, err := p.structs.find(n.typ.tag); err == nil {
				for range n.typ.stars {
					st = &usdt.Type{Kind: usdt.Pointer, Size: 8, Elem: st}
				}
				return st
			}
		}
	case nodeMember:
		t := p.typeOf(n.args[0])
		if t != nil && n.op == "->" {
			t = t.Elem
		}
		if t != nil && t.Kind == usdt.Struct {
			if m, ok := field(t, n.text); ok {
				return m.typ
			}
		}
	case nodeIndex:
		if t := p.typeOf(n.args[0]); t != nil {
			return t.Elem
		}
	case nodeUnary:
		t := p.typeOf(n.args[0])
		switch {
		case t == nil:
		case n.op == "*":
			return t.Elem
		case n.op == "&":
			return &usdt.Type{Kind: usdt.Pointer, Size: 8, Elem: t}
		}
	case nodeBinary:
		if t := p.typeOf(n.args[0]); t != nil && (n.op == "+" || n.op == "-") && t.Kind == usdt.Pointer && t.Elem != nil {
			if u := p.typeOf(n.args[1]); u == nil || u.Kind != usdt.Pointer {
				return t
			}
		}
	}
	return nil
}

// isText tells whether an expression is text by its type.
func (p *printer) isText(n *node) bool {
	t := p.typeOf(n)
	return isText(t) || isHeader(t)
}

// isText tells whether a type is that of an address of text.
func isText(t *usdt.Type) bool {
	return t != nil && (t.Kind == usdt.String || t.Kind == usdt.Error || t.Kind == usdt.Bytes)
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

// inProcess tells whether what an expression designates is memory of the traced
// process.
func inProcess(n *node) bool {
	switch n.kind {
	case nodeMember:
		return n.op == "->" || inProcess(n.args[0])
	case nodeIndex:
		return !isComm(n.args[0]) && !isComm(n.args[1])
	case nodeUnary:
		return n.op == "*" && !isComm(n.args[0])
	}
	return false
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
