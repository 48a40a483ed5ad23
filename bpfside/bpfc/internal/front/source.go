package front

import (
	"slices"
	"strconv"
	"strings"
)

// rewrite returns the text of a file as cc has to see it, with the same lines.
// It mends, before cc reads it, what cc would read wrongly without a word:
//
//   - A macro with a named variadic parameter: of "f(a, ##args)" cc pastes the
//     comma with the first token of args and loses the text of that. It does what
//     GNU C does for __VA_ARGS__ alone, and then only with a blank before ##.
//   - #pragma clang attribute push(__attribute__((preserve_access_index)), …):
//     nothing of it is left in the tree. A typedef of [attrPush] takes its place,
//     and one of [attrPop] that of its pop, which do stand in the tree.
//   - "volatile" of what is pointed to, in a cast and in a member, is forgotten,
//     and one declaration's qualifiers get into the typedef that others share.
//     An attribute is kept, so [volatileMark] stands for the keyword where C
//     allows one: not of a pointer itself, where cc does keep it.
//   - The attributes mode and packed of an enumeration, by which vmlinux.h says
//     how large one is, are forgotten. Its underlying type is said instead.
//   - A function type without a name, as programs give it to __array and typeof,
//     is no type to cc. What a pointer to one points to is.
//
// A token that comes from a macro is where the macro is used, so the columns
// within a definition do not matter to anybody. What else moves columns is
// returned.
func rewrite(text string) (string, []insertion) {
	if !slices.ContainsFunc([]string{"...", "attribute", "volatile", "typeof", "__array"}, func(s string) bool { return strings.Contains(text, s) }) {
		return text, nil
	}
	var out strings.Builder
	var inserted []insertion
	done := 0
	replace := func(start, end int, with string) {
		if start < done {
			return // within what is replaced already
		}
		out.WriteString(text[done:start])
		out.WriteString(with)
		done = end
	}
	insert := func(at int, s string) {
		if at < done {
			return
		}
		replace(at, at, s)
		inserted = append(inserted, insertion{lineOf(text, at), at - strings.LastIndexByte(text[:at], '\n'), len(s)})
	}
	var before, prev string // the two tokens before
	for l := (lexer{text: text}); l.next(); before, prev = prev, l.tok() {
		switch {
		case l.kind == lexPunct && l.first && l.tok() == "#":
			start := l.start
			line := l.directive()
			if fixed := fixDirective(line); fixed != "" {
				// The lines that a continued directive took stay.
				n := strings.Count(text[start:l.end], "\n") - strings.Count(fixed, "\n")
				replace(start, l.end, fixed+strings.Repeat("\n", n))
			}
		case l.kind == lexIdent && marksVolatile(before, prev, l.tok()):
			replace(l.start, l.end, volatileMark+strings.Repeat(" ", l.end-l.start-len(volatileMark)))
		case l.kind == lexIdent && l.tok() == "enum":
			attr, attrEnd, brace, base := underlyingType(l)
			if attrEnd > attr {
				replace(attr, attrEnd, blanks(text[attr:attrEnd]))
				l.end = attrEnd
			}
			if base != "" {
				insert(brace, base)
			}
		case l.kind == lexIdent && (l.tok() == "__array" || l.tok() == "typeof" || l.tok() == "__typeof__"):
			if start, params, end := functionType(l, l.tok() != "__array"); end > 0 {
				insert(start, "__typeof__(*(")
				insert(params, "(*)")
				insert(end, ")0)")
			}
			fallthrough
		case l.kind == lexIdent && (l.tok() == "__type" || l.tok() == "__builtin_types_compatible_p"):
			for _, q := range leadingQualifiers(l) {
				replace(q.start, q.end, q.with)
			}
		}
	}
	if done == 0 {
		return text, nil
	}
	out.WriteString(text[done:])
	return out.String(), inserted
}

// functionType looks at the operand of typeof, or the last one of __array, whose
// name is the current token of l. If that is a function type without a name, it
// returns where it, its parameters and what follows it begin; else 0.
//
//	__array(values, int (struct xdp_md *))
//
// An operand of typeof may be a call instead, so a keyword has to say that it is
// not.
func functionType(l lexer, keyword bool) (start, params, end int) {
	if !l.next() || l.tok() != "(" {
		return 0, 0, 0
	}
	if !keyword { // its first operand
		if !l.next() || l.kind != lexIdent || !l.next() || l.tok() != "," {
			return 0, 0, 0
		}
	}
	for words := 0; l.next(); words++ {
		switch {
		case l.kind == lexIdent && words == 0:
			start = l.start
			if keyword && !typeKeyword(l.tok()) {
				return 0, 0, 0
			}
		case l.kind == lexIdent, l.tok() == "*":
		case l.tok() == "(" && words > 0:
			params = l.start
		default:
			return 0, 0, 0
		}
		if params > 0 {
			break
		}
	}
	if !l.next() || l.kind != lexIdent && l.tok() != ")" {
		return 0, 0, 0 // (*name) is a pointer
	}
	for depth := 1; ; {
		switch l.tok() {
		case "(":
			depth++
		case ")":
			depth--
		}
		if depth == 0 {
			break
		}
		if !l.next() {
			return 0, 0, 0
		}
	}
	end = l.end
	if !l.next() || l.tok() != ")" {
		return 0, 0, 0
	}
	return start, params, end
}

func typeKeyword(s string) bool {
	switch s {
	case "void", "char", "short", "int", "long", "signed", "unsigned", "_Bool", "struct", "union", "enum", "const":
		return true
	}
	return false
}

// An insertion is n bytes before what stands at a place in the original.
type insertion struct{ line, col, n int }

// original returns the column that a column of a line of the rewritten text has in
// the original.
func original(inserted []insertion, line, col int) int {
	for _, i := range inserted {
		if i.line == line && col >= i.col {
			col = max(col-i.n, i.col)
		}
	}
	return col
}

// underlyingType looks at the enumeration whose keyword is the current token of l
// and returns what has to stand before its brace; "" if nothing. An attribute
// before its name, which cc does not read, is from attr to attrEnd.
//
//	enum NAME { A, B = 3 } __attribute__((mode(byte)))
func underlyingType(l lexer) (attr, attrEnd, brace int, base string) {
	if !l.next() {
		return
	}
	before := "" // what the attribute says
	if l.tok() == "__attribute__" {
		attr = l.start
		before = l.attribute()
		attrEnd = l.end
		if !l.next() {
			return
		}
	}
	if l.kind == lexIdent && !l.next() {
		return
	}
	if l.tok() != "{" {
		return
	}
	brace = l.start
	values := enumValues{known: true}
	for l.next() && l.tok() != "}" {
		if l.tok() == "{" || l.first && l.tok() == "#" {
			return
		}
		values.token(l.kind, l.tok())
	}
	values.end()
	after := ""
	if l.next() && l.tok() == "__attribute__" {
		after = l.attribute()
	}
	for _, word := range strings.Fields(before + " " + after) {
		switch strings.Trim(word, "_") {
		case "packed":
			base = values.smallest()
		case "byte", "QI":
			base = values.of("char")
		case "HI":
			base = values.of("short")
		case "SI":
			base = values.of("int")
		case "word", "DI":
			base = values.of("long")
		}
	}
	return
}

// blanks returns as many blanks as s is long, with its line feeds.
func blanks(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return ' '
	}, s)
}

// A replacement is what stands for a part of the text that is as long.
type replacement struct {
	start, end int
	with       string
}

// leadingQualifiers looks at the operands of typeof, __type and
// __builtin_types_compatible_p, whose name is the current token of l. Each that
// begins with a qualifier is no type to cc; behind the type's first word, the
// qualifier is as good.
//
//	typeof(const struct s *)
func leadingQualifiers(l lexer) (list []replacement) {
	if !l.next() || l.tok() != "(" {
		return nil
	}
	text := l.text
	operand := true // the next token is the first of one
	for depth := 1; depth > 0 && l.next(); {
		switch tok := l.tok(); {
		case tok == "(":
			depth++
		case tok == ")":
			depth--
		case operand && (tok == "const" || tok == "volatile"):
			start, quals := l.start, ""
			for l.tok() == "const" || l.tok() == "volatile" {
				if l.tok() == "volatile" {
					quals += " " + volatileMark
				} else {
					quals += " const"
				}
				if !l.next() {
					return list
				}
			}
			if l.kind != lexIdent {
				return list
			}
			spec, end := l.start, l.end
			if w := l.tok(); w == "struct" || w == "union" || w == "enum" {
				if !l.next() || l.kind != lexIdent {
					return list
				}
				end = l.end
			}
			with := text[spec:end] + quals
			if pad := end - start - len(with); pad >= 0 && !strings.Contains(text[start:end], "\n") {
				list = append(list, replacement{start, end, with + strings.Repeat(" ", pad)})
			}
		}
		operand = depth == 1 && l.tok() == ","
	}
	return list
}

// enumValues are the values of an enumeration, as far as its tokens say them.
type enumValues struct {
	known    bool // all of them
	min, max int64
	next     int64
	negative bool
	state    int // 0: nothing yet, 1: a name, 2: "=", 3: a value
	minus    bool
}

func (e *enumValues) token(kind lexKind, tok string) {
	switch {
	case tok == ",":
		e.end()
	case tok == "-":
		e.negative, e.minus = true, !e.minus
		e.known = e.known && e.state == 2
	case e.state == 0 && kind == lexIdent:
		e.state = 1
	case e.state == 1 && tok == "=":
		e.state = 2
	case e.state == 2 && kind == lexNumber:
		n, err := strconv.ParseInt(strings.TrimRight(tok, "uUlL"), 0, 64)
		e.known = e.known && err == nil
		e.next, e.state = n, 3
		if e.minus {
			e.next = -n
		}
	default:
		e.known = false
	}
}

// end is where an enumerator ends.
func (e *enumValues) end() {
	if e.state != 0 {
		e.min, e.max = min(e.min, e.next), max(e.max, e.next)
		e.next++
	}
	e.state, e.minus = 0, false
}

func (e *enumValues) of(name string) string {
	if e.negative {
		return ": signed " + name + " "
	}
	return ": unsigned " + name + " "
}

// smallest returns the type of a packed one; "" if that cannot be told.
func (e *enumValues) smallest() string {
	switch {
	case !e.known:
		return ""
	case e.min >= -1<<7 && e.max < 1<<7, e.min >= 0 && e.max < 1<<8:
		return e.of("char")
	case e.min >= -1<<15 && e.max < 1<<15, e.min >= 0 && e.max < 1<<16:
		return e.of("short")
	case e.min >= -1<<31 && e.max < 1<<31, e.min >= 0 && e.max < 1<<32:
		return e.of("int")
	}
	return e.of("long")
}

// volatileMark is the macro of builtin.h that stands for volatile; as long as
// that is, so that columns stay.
const volatileMark = "_bpfcvol"

// marksVolatile says whether tok is the keyword and of what a declaration, a cast
// or a member begins with: not of a pointer, and not of an asm statement.
func marksVolatile(before, prev, tok string) bool {
	if tok != "volatile" && tok != "__volatile__" && tok != "__volatile" {
		return false
	}
	switch prev {
	case "*", "asm", "__asm__", "__asm", "[", "static":
		return prev == "static" && before != "["
	case "const", "restrict", "__restrict", "__restrict__", "__const":
		return before != "*"
	}
	return true
}

// fixDirective returns what stands for a directive; "" for itself.
func fixDirective(line []lexeme) string {
	switch {
	case len(line) > 2 && line[1].text == "define":
		return fixDefine(line)
	case len(line) > 4 && line[1].text == "pragma" && line[2].text == "clang" && line[3].text == "attribute":
		return fixAttribute(line)
	}
	return ""
}

// The names of the typedefs that stand where an attribute begins and ceases to
// be that of every struct and union.
const (
	attrPush = "__bpfc_push_preserve_access_index"
	attrPop  = "__bpfc_pop_attribute"
)

// fixAttribute returns what stands for a #pragma clang attribute; "" for one
// that is not known here.
func fixAttribute(line []lexeme) string {
	var words []string
	for _, t := range line[4:] {
		if t.kind != lexSpace {
			words = append(words, t.text)
		}
	}
	switch s := strings.Join(words, " "); {
	case s == "pop":
		return "typedef int " + attrPop + ";"
	case strings.HasPrefix(s, "push ( __attribute__ ( ( preserve_access_index ) ) , apply_to = record"):
		return "typedef int " + attrPush + ";"
	}
	return ""
}

// fixDefine returns the definition of a macro as cc expands it rightly; "" if it
// does so as it is.
//
//	#define NAME(a, args...) body
//	#define NAME(a, ...) body
func fixDefine(line []lexeme) string {
	param, params, body := "__VA_ARGS__", []lexeme(nil), line[3:]
	head := line[2].text
	changed := false
	if len(body) > 0 && body[0].text == "(" && !body[0].space {
		end := 1
		for end < len(body) && body[end].text != ")" {
			end++
		}
		if end == len(body) {
			return ""
		}
		params, body = body[1:end], body[end+1:]
		if n := len(params); n > 1 && params[n-1].text == "..." && params[n-2].kind == lexIdent {
			param = params[n-2].text
			params = append(params[:n-2:n-2], params[n-1])
			changed = true
		}
		head += "("
		for _, t := range params {
			head += t.text
		}
		head += ")"
	}
	var out strings.Builder
	out.WriteString("#define " + head)
	before, prev := "", ""
	for i, t := range body {
		if i == 0 || t.space || t.lines > 0 {
			out.WriteByte(' ')
		} else if t.text == "##" && prev == "," {
			out.WriteByte(' ')
			changed = true
		}
		for range t.lines {
			out.WriteString("\\\n")
		}
		switch {
		case t.kind == lexIdent && t.text == param:
			out.WriteString("__VA_ARGS__")
		case t.kind == lexIdent && marksVolatile(before, prev, t.text):
			out.WriteString(volatileMark)
			changed = true
		default:
			out.WriteString(t.text)
		}
		before, prev = prev, t.text
	}
	if !changed {
		return ""
	}
	return out.String()
}

// scanIdentifiers adds the identifiers of text to names.
func scanIdentifiers(text string, names map[string]bool) {
	for l := (lexer{text: text}); l.next(); {
		if l.kind == lexIdent {
			names[l.tok()] = true
		}
	}
}
