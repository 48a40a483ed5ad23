package front

import (
	"strconv"
	"strings"
)

// fixFunctionType names the function type that typeof or __array is given; see
// functionType.
func fixFunctionType(l lexer, keyword bool) []edit {
	start, params, end := functionType(l, keyword)
	if end == 0 {
		return nil
	}
	return []edit{{start, start, "__typeof__(*("}, {params, params, "(*)"}, {end, end, ")0)"}}
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

// fixEnum gives the enumeration whose keyword is the current token of l the
// underlying type that its attributes ask for. Those before its name, which cc does
// not read, go.
//
//	enum NAME { A, B = 3 } __attribute__((mode(byte)))
func fixEnum(l lexer) (edits []edit) {
	if !l.next() {
		return edits
	}
	before := "" // what the attribute says
	if l.tok() == "__attribute__" {
		start := l.start
		before = l.attribute()
		edits = append(edits, edit{start, l.end, blanks(l.text[start:l.end])})
		if !l.next() {
			return edits
		}
	}
	if l.kind == lexIdent && !l.next() {
		return edits
	}
	if l.tok() != "{" {
		return edits
	}
	brace := l.start
	values := enumValues{known: true}
	for l.next() && l.tok() != "}" {
		if l.tok() == "{" || l.first && l.tok() == "#" {
			return edits
		}
		values.token(l.kind, l.tok())
	}
	values.end()
	after, base := "", ""
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
	if base != "" {
		edits = append(edits, edit{brace, brace, base})
	}
	return edits
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

// leadingQualifiers looks at the operands of typeof, __type and
// __builtin_types_compatible_p, whose name is the current token of l. Each that
// begins with a qualifier is no type to cc; behind the type's first word, the
// qualifier is as good.
//
//	typeof(const struct s *)
func leadingQualifiers(l lexer) (list []edit) {
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
				list = append(list, edit{start, end, with + strings.Repeat(" ", pad)})
			}
		}
		operand = depth == 1 && l.tok() == ","
	}
	return list
}

// selfPrefix is what the typedefs begin with that stand for a struct, or union,
// within itself; as long as the keyword and a blank.
var selfPrefix = map[string]string{"struct": "_bpfcs_", "union": "_bpfu_"}

// fixSelf looks at the struct or union whose keyword is the current token of l. If
// it may have attributes and names itself, a typedef goes before the declaration
// that it is in, at start, and takes the place of the name in it.
//
//	struct node { struct node *next; } __attribute__((packed));
func fixSelf(l lexer, start int) []edit {
	kind, attributes := l.tok(), false
	if !l.next() {
		return nil
	}
	for l.tok() == "__attribute__" {
		attributes = true
		l.attribute()
		if !l.next() {
			return nil
		}
	}
	name := l.tok()
	if l.kind != lexIdent || !l.next() || l.tok() != "{" {
		return nil
	}
	var edits []edit
	for depth := 1; depth > 0; {
		if !l.next() {
			return nil
		}
		switch l.tok() {
		case "{":
			depth++
		case "}":
			depth--
		case "volatile", "__volatile__", "__volatile":
			attributes = true // see volatileMark
		case kind:
			at := l.start
			probe := l
			if !probe.next() || probe.tok() != name {
				break
			}
			l = probe
			if probe.next() && probe.tok() != "{" {
				with := selfPrefix[kind] + name
				edits = append(edits, edit{at, l.end, with + strings.Repeat(" ", max(l.end-at-len(with), 0))})
			}
		}
	}
	if l.next() && l.tok() != ";" {
		attributes = true // or an object, or a macro that is one
	}
	if len(edits) == 0 || !attributes {
		return nil
	}
	return append(edits, edit{start, start, "typedef " + kind + " " + name + " " + selfPrefix[kind] + name + "; "})
}

// standsForSelf says whether a typedef is one of fixSelf.
func standsForSelf(name string) bool {
	return strings.HasPrefix(name, selfPrefix["struct"]) || strings.HasPrefix(name, selfPrefix["union"])
}
