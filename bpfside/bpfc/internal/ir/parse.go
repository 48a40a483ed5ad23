package ir

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Parse reads the textual form of a module, as [Module.String] writes it, with
// comments ("//" to the end of the line) and empty lines where one likes them.
// It is for tests: what it reads has the form of a module and need not make
// sense, which [Module.Check] judges. An error has the line at which it stands.
func Parse(name, text string) (*Module, error) {
	p := &parser{
		m:     &Module{Name: name},
		file:  &File{Name: name, Lines: strings.Split(text, "\n")},
		syms:  map[string]Symbol{},
		atoms: inverse[AtomicOp](atomicNames[:]),
		conds: inverse[Cond](condNames[:]),
		types: inverse[Type](typeNames[:]),
		ops:   inverse[Op](opNames[:]),
		links: inverse[Linkage](linkageNames[:]),
	}
	if err := p.declare(); err != nil {
		return nil, err
	}
	for i := range p.file.Lines {
		if err := p.line(i); err != nil {
			return nil, err
		}
	}
	if p.f != nil {
		return nil, p.errorf("func @%s has no end", p.f.Name)
	}
	return p.m, nil
}

type parser struct {
	m    *Module
	file *File
	syms map[string]Symbol
	f    *Func // the one whose body is read, nil outside
	b    *Block

	// What the body has named so far, and whether it defined it.
	values map[int]*Value
	blocks map[int]*Block
	known  map[any]bool
	// void are the values without a result: numbered at the end, above those
	// that have a number in the text.
	void []*Value

	n    int    // number of the line, from 1
	rest string // of it

	atoms map[string]AtomicOp
	conds map[string]Cond
	types map[string]Type
	ops   map[string]Op
	links map[string]Linkage
}

func (p *parser) errorf(format string, args ...any) error {
	return Errorf(Pos{File: p.file, Line: p.n}, format, args...)
}

// declare makes the symbols, so that lines can name those of later ones.
func (p *parser) declare() error {
	for i := range p.file.Lines {
		p.start(i)
		kind := p.word()
		if kind != "func" && kind != "global" {
			continue
		}
		name, err := p.symbol()
		if err != nil {
			return err
		}
		if p.syms[name] != nil {
			return p.errorf("@%s is defined twice", name)
		}
		if kind == "func" {
			p.syms[name] = &Func{Name: name}
		} else {
			p.syms[name] = &Global{Name: name}
		}
	}
	return nil
}

// start goes to line i.
func (p *parser) start(i int) {
	p.n, p.rest = i+1, p.file.Lines[i]
	p.space()
}

// space skips white space, and a comment.
func (p *parser) space() {
	p.rest = strings.TrimLeft(p.rest, " \t\r")
	if strings.HasPrefix(p.rest, "//") {
		p.rest = ""
	}
}

// accept skips the punctuation or word tok, and says whether it was there.
func (p *parser) accept(tok string) bool {
	if isNameRune(rune(tok[0])) {
		if p.peek() != tok {
			return false
		}
	} else if !strings.HasPrefix(p.rest, tok) {
		return false
	}
	p.rest = p.rest[len(tok):]
	p.space()
	return true
}

func (p *parser) expect(tok string) error {
	if !p.accept(tok) {
		return p.errorf("%q where %q is wanted", p.rest, tok)
	}
	return nil
}

// peek returns the word that comes next, "" if there is none.
func (p *parser) peek() string {
	end := strings.IndexFunc(p.rest, func(r rune) bool { return !isNameRune(r) })
	if end < 0 {
		end = len(p.rest)
	}
	return p.rest[:end]
}

func (p *parser) word() string {
	w := p.peek()
	p.rest = p.rest[len(w):]
	p.space()
	return w
}

// quoted reads a string in quotes.
func (p *parser) quoted() (string, error) {
	q, err := strconv.QuotedPrefix(p.rest)
	if err != nil {
		return "", p.errorf("%q where a quoted string is wanted", p.rest)
	}
	p.rest = p.rest[len(q):]
	p.space()
	s, err := strconv.Unquote(q)
	if err != nil {
		return "", p.errorf("%s is no string", q)
	}
	return s, nil
}

// symbol reads "@name".
func (p *parser) symbol() (string, error) {
	if err := p.expect("@"); err != nil {
		return "", err
	}
	if strings.HasPrefix(p.rest, `"`) {
		return p.quoted()
	}
	if name := p.word(); name != "" {
		return name, nil
	}
	return "", p.errorf("a symbol has no name")
}

// reference reads "@name" of a symbol that the module has.
func (p *parser) reference() (Symbol, error) {
	name, err := p.symbol()
	if err != nil {
		return nil, err
	}
	sym := p.syms[name]
	if sym == nil {
		return nil, p.errorf("the module has no @%s", name)
	}
	return sym, nil
}

func (p *parser) number() (int64, error) {
	sign := ""
	if strings.HasPrefix(p.rest, "-") || strings.HasPrefix(p.rest, "+") {
		sign, p.rest = p.rest[:1], p.rest[1:]
	}
	w := p.word()
	n, err := strconv.ParseInt(sign+w, 0, 64)
	if err != nil {
		// A constant may be written as the unsigned number that it is.
		u, uerr := strconv.ParseUint(w, 0, 64)
		if uerr != nil || sign != "" {
			return 0, p.errorf("%q is no number", sign+w)
		}
		n = int64(u)
	}
	return n, nil
}

// size reads a number that is at least 0 and no larger than an object can be.
func (p *parser) size() (int, error) {
	n, err := p.number()
	if err == nil && (n < 0 || n > UnrollFull) {
		err = p.errorf("%d is no size", n)
	}
	return int(n), err
}

// offset reads "+8", "-8" or nothing.
func (p *parser) offset() (int64, error) {
	if strings.HasPrefix(p.rest, "+") || strings.HasPrefix(p.rest, "-") {
		return p.number()
	}
	return 0, nil
}

// id reads a letter and a number above 0.
func (p *parser) id(letter string) (int, error) {
	w := p.word()
	digits, ok := strings.CutPrefix(w, letter)
	n, err := strconv.ParseInt(digits, 10, 32)
	if !ok || err != nil || n < 1 {
		return 0, p.errorf("%q where %s and a number is wanted", w, letter)
	}
	// No function of this form has more values than this one has characters.
	if n > 1<<20 {
		return 0, p.errorf("%s has too high a number", w)
	}
	p.f.lastID = max(p.f.lastID, int(n))
	return int(n), nil
}

func (p *parser) value() (*Value, error) {
	id, err := p.id("v")
	if err != nil {
		return nil, err
	}
	if p.values[id] == nil {
		p.values[id] = &Value{ID: id}
	}
	return p.values[id], nil
}

func (p *parser) block() (*Block, error) {
	id, err := p.id("b")
	if err != nil {
		return nil, err
	}
	if p.blocks[id] == nil {
		p.blocks[id] = &Block{ID: id, Func: p.f}
	}
	return p.blocks[id], nil
}

func (p *parser) typ() (Type, error) {
	w := p.word()
	t, ok := p.types[w]
	if !ok {
		return 0, p.errorf("%q where a type is wanted", w)
	}
	return t, nil
}

// isNumbered says whether w is letter and a number.
func isNumbered(w string, letter byte) bool {
	return len(w) > 1 && w[0] == letter && '0' <= w[1] && w[1] <= '9'
}

// line reads line i.
func (p *parser) line(i int) error {
	p.start(i)
	if p.rest == "" {
		return nil
	}
	var err error
	switch {
	case p.f != nil && p.accept("}"):
		err = p.endFunc()
	case p.f != nil && isNumbered(p.peek(), 'b'):
		err = p.blockHead()
	case p.f != nil && p.b == nil:
		err = p.errorf("%q stands in no block", p.rest)
	case p.f != nil:
		err = p.statement()
	case p.accept("global"):
		err = p.global()
	case p.accept("func"):
		err = p.funcHead()
	default:
		err = p.errorf("%q where a global or a func is wanted", p.rest)
	}
	if err == nil && p.rest != "" {
		err = p.errorf("%q is left over", p.rest)
	}
	return err
}

func (p *parser) global() error {
	sym, err := p.reference()
	if err != nil {
		return err
	}
	g := sym.(*Global)
	p.m.Globals = append(p.m.Globals, g)
	for p.rest != "" && err == nil {
		w := p.word()
		link, isLink := p.links[w]
		switch {
		case isLink:
			g.Linkage = link
		case w == "section":
			g.Section, err = p.quoted()
		case w == "size":
			g.Size, err = p.size()
		case w == "align":
			g.Align, err = p.size()
		case w == "used":
			g.Used = true
		case w == "hidden":
			g.Hidden = true
		case w == "extern":
			g.Extern = true
		case w == "const":
			g.Constant = true
		case w == "data":
			var s string
			s, err = p.quoted()
			g.Data = []byte(s)
		case w == "reloc":
			var r Reloc
			if r.Offset, err = p.size(); err == nil {
				r.Sym, err = p.reference()
			}
			g.Relocs = append(g.Relocs, r)
		default:
			err = p.errorf("%q is nothing that a global has", w+p.rest)
		}
	}
	return err
}

func (p *parser) funcHead() error {
	sym, err := p.reference()
	if err != nil {
		return err
	}
	f := sym.(*Func)
	p.m.Funcs = append(p.m.Funcs, f)
	if f.Result, err = p.typ(); err != nil {
		return err
	}
	f.Pos = Pos{File: p.file, Line: p.n}
	for p.rest != "" && err == nil {
		if p.accept("{") {
			p.f, p.b = f, nil
			p.values, p.blocks = map[int]*Value{}, map[int]*Block{}
			p.known, p.void = map[any]bool{}, nil
			break
		}
		w := p.word()
		link, isLink := p.links[w]
		switch {
		case isLink:
			f.Linkage = link
		case w == "section":
			f.Section, err = p.quoted()
		case w == "used":
			f.Used = true
		case w == "hidden":
			f.Hidden = true
		case w == "inline":
			f.Inline = InlineAlways
		case w == "noinline":
			f.Inline = InlineNever
		case w == "callback":
			f.AddrTaken = true
		default:
			err = p.errorf("%q is nothing that a func has", w+p.rest)
		}
	}
	return err
}

func (p *parser) endFunc() error {
	for id, v := range p.values {
		if !p.known[v] {
			return p.errorf("func @%s has no v%d", p.f.Name, id)
		}
	}
	for id, b := range p.blocks {
		if !p.known[b] {
			return p.errorf("func @%s has no b%d", p.f.Name, id)
		}
	}
	if len(p.f.Blocks) == 0 {
		return p.errorf("func @%s has no block", p.f.Name)
	}
	for _, v := range p.void {
		p.f.lastID++
		v.ID = p.f.lastID
	}
	p.f.End = Pos{File: p.file, Line: p.n}
	p.f, p.b = nil, nil
	return nil
}

// define takes note that x, a value or a block, has its definition here.
func (p *parser) define(x any, text string) error {
	if p.known[x] {
		return p.errorf("%s is defined twice", text)
	}
	p.known[x] = true
	return nil
}

func (p *parser) blockHead() error {
	b, err := p.block()
	if err != nil {
		return err
	}
	if err := p.define(b, fmt.Sprintf("b%d", b.ID)); err != nil {
		return err
	}
	p.f.Blocks = append(p.f.Blocks, b)
	p.b = b
	for open := p.accept("("); open; open = !p.accept(")") {
		if len(b.Params) > 0 {
			if err := p.expect(","); err != nil {
				return err
			}
		}
		v, err := p.result()
		if err != nil {
			return err
		}
		v.Op, v.Block = OpParam, b
		if strings.HasPrefix(p.rest, `"`) {
			if v.Name, err = p.quoted(); err != nil {
				return err
			}
		}
		b.Params = append(b.Params, v)
	}
	if p.accept("unroll") {
		if b.Unroll, err = p.size(); err != nil {
			return err
		}
	}
	return p.expect(":")
}

// result reads "v7 i32", which defines v7.
func (p *parser) result() (*Value, error) {
	v, err := p.value()
	if err != nil {
		return nil, err
	}
	if err := p.define(v, fmt.Sprintf("v%d", v.ID)); err != nil {
		return nil, err
	}
	v.Pos = Pos{File: p.file, Line: p.n}
	v.Type, err = p.typ()
	return v, err
}

// statement reads a value or the end of a block.
func (p *parser) statement() error {
	if p.b.Term.Kind != TermNone {
		return p.errorf("%q stands behind the end of b%d", p.rest, p.b.ID)
	}
	head := p.peek()
	for k, name := range termNames {
		if head == name && TermKind(k) != TermNone {
			p.word()
			return p.term(TermKind(k))
		}
	}
	var v *Value
	if isNumbered(head, 'v') {
		var err error
		if v, err = p.result(); err != nil {
			return err
		}
		if err := p.expect("="); err != nil {
			return err
		}
	}
	return p.operation(v)
}

// operation reads what v is, which is nil where there is no result.
func (p *parser) operation(v *Value) error {
	words := strings.Split(p.word(), ".")
	signed := words[0] == "sload"
	if signed {
		words[0] = "load"
	}
	op, ok := p.ops[words[0]]
	if !ok || op == OpInvalid || op == OpParam {
		return p.errorf("%q is no operation", words[0])
	}
	if v == nil {
		v = &Value{}
		p.void = append(p.void, v)
	}
	v.Op, v.Signed = op, signed
	v.Pos = Pos{File: p.file, Line: p.n}
	p.b.Append(v)

	suffix := words[1:]
	next := func() string {
		if len(suffix) == 0 {
			return ""
		}
		s := suffix[0]
		suffix = suffix[1:]
		return s
	}
	var err error
	size := func() {
		n, e := strconv.ParseUint(next(), 10, 31)
		if e != nil {
			err = errors.Join(err, p.errorf("%s has no size", op))
		}
		v.Size = int(n)
	}
	switch op {
	case OpCmp:
		if v.Cond, ok = p.conds[next()]; !ok {
			return p.errorf("cmp has no condition")
		}
	case OpSextIn, OpBswap, OpCopy, OpMove, OpSet:
		size()
	case OpLoad, OpStore:
		size()
		v.Align = v.Size
	case OpAtomic:
		if v.Atomic, ok = p.atoms[next()]; !ok {
			return p.errorf("atomic has no operation")
		}
		size()
		v.Align = v.Size
	case OpAlloca:
		v.Align = 8
	}
	if op == OpCopy || op == OpMove || op == OpSet {
		v.Align = 1
	}
	if err == nil && len(suffix) > 0 {
		err = p.errorf("%s has too many parts", strings.Join(words, "."))
	}
	if err == nil {
		err = p.operands(v)
	}
	if err == nil && p.accept("align") {
		v.Align, err = p.size()
	}
	v.Volatile = p.accept("volatile")
	if err == nil && strings.HasPrefix(p.rest, `"`) {
		v.Name, err = p.quoted()
	}
	return err
}

// operands reads what stands behind the word of an operation.
func (p *parser) operands(v *Value) (err error) {
	switch v.Op {
	case OpConst:
		v.Imm, err = p.number()
	case OpAlloca:
		v.Size, err = p.size()
	case OpGlobal, OpFunc:
		if v.Sym, err = p.reference(); err == nil {
			v.Imm, err = p.offset()
		}
	case OpCall:
		if v.Sym, err = p.reference(); err == nil {
			v.Args, err = p.list()
		}
	case OpHelper:
		if v.Imm, err = p.number(); err == nil {
			v.Args, err = p.list()
		}
	default:
		more := strings.HasPrefix(p.rest, "v") && !strings.HasPrefix(p.rest, "volatile")
		for more && err == nil {
			var a *Value
			if a, err = p.value(); err != nil {
				return err
			}
			v.Args = append(v.Args, a)
			if len(v.Args) == 1 {
				if v.Imm, err = p.offset(); err != nil {
					return err
				}
			}
			more = p.accept(",")
		}
	}
	return err
}

// list reads values in parentheses.
func (p *parser) list() ([]*Value, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	var args []*Value
	for !p.accept(")") {
		if len(args) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
		}
		a, err := p.value()
		if err != nil {
			return nil, err
		}
		args = append(args, a)
	}
	return args, nil
}

// edge reads "b3(v1, v2)".
func (p *parser) edge() (Edge, error) {
	to, err := p.block()
	if err != nil {
		return Edge{}, err
	}
	e := Edge{To: to}
	if strings.HasPrefix(p.rest, "(") {
		e.Args, err = p.list()
	}
	return e, err
}

func (p *parser) term(kind TermKind) error {
	t := Term{Kind: kind, Pos: Pos{File: p.file, Line: p.n}}
	for p.rest != "" {
		switch {
		case strings.HasPrefix(p.rest, "v"):
			v, err := p.value()
			if err != nil {
				return err
			}
			t.Args = append(t.Args, v)
		case strings.HasPrefix(p.rest, "b"):
			e, err := p.edge()
			if err != nil {
				return err
			}
			t.Succs = append(t.Succs, e)
		case p.accept("["):
			if err := p.cases(&t); err != nil {
				return err
			}
		case p.accept("likely"):
			t.Likely = 1
		case p.accept("unlikely"):
			t.Likely = -1
		default:
			return p.errorf("%q is nothing that the end of a block has", p.rest)
		}
		p.accept(",")
	}
	p.b.Term = t
	return nil
}

// cases reads "1: b2, 5: b3]".
func (p *parser) cases(t *Term) error {
	for !p.accept("]") {
		if len(t.Cases) > 0 {
			if err := p.expect(","); err != nil {
				return err
			}
		}
		n, err := p.number()
		if err != nil {
			return err
		}
		if err := p.expect(":"); err != nil {
			return err
		}
		e, err := p.edge()
		if err != nil {
			return err
		}
		t.Cases, t.Succs = append(t.Cases, n), append(t.Succs, e)
	}
	return nil
}
