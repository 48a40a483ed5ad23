package body

import (
	"strconv"
	"strings"
)

// parseUint reads the digits of an integer constant.
func parseUint(s string) (uint64, bool) {
	base := 10
	switch {
	case strings.HasPrefix(s, "0x"):
		base, s = 16, s[2:]
	case strings.HasPrefix(s, "0b"):
		base, s = 2, s[2:]
	case strings.HasPrefix(s, "0") && len(s) > 1:
		base, s = 8, s[1:]
	}
	v, err := strconv.ParseUint(s, base, 64)
	return v, err == nil
}

// typeWords are the words that types are made of, of which integer types have
// several: C11 6.7.2.
var typeWords = map[string]bool{
	"char": true, "short": true, "int": true, "long": true, "signed": true, "unsigned": true,
	"_Bool": true, "bool": true, "void": true, "struct": true,
}

// typedefs are types that have a name in C's headers, or in the kernel's: an
// argument of such a name comes before them.
var typedefs = map[string]string{
	"int8_t": "signed char", "int16_t": "short", "int32_t": "int", "int64_t": "long",
	"uint8_t": "unsigned char", "uint16_t": "unsigned short", "uint32_t": "unsigned int", "uint64_t": "unsigned long",
	"u8": "unsigned char", "u16": "unsigned short", "u32": "unsigned int", "u64": "unsigned long",
	"s8": "signed char", "s16": "short", "s32": "int", "s64": "long",
	"__u8": "unsigned char", "__u16": "unsigned short", "__u32": "unsigned int", "__u64": "unsigned long",
	"__s8": "signed char", "__s16": "short", "__s32": "int", "__s64": "long",
	"size_t": "unsigned long", "ssize_t": "long", "intptr_t": "long", "uintptr_t": "unsigned long",
	"off_t": "long", "pid_t": "int",
}

// startsType tells whether a type begins at token i.
func (p *parser) startsType(i int) bool {
	t := p.toks[i]
	if t.kind != tokIdent {
		return false
	}
	switch t.text {
	case "const", "volatile", "union", "enum", "float", "double":
		return true
	}
	return typeWords[t.text] || typedefs[t.text] != "" && !p.names[t.text]
}

// typeName reads one: words in any order, and stars.
func (p *parser) typeName() *typeName {
	t := &typeName{off: p.tok().off}
	count := map[string]int{}
	for ; p.tok().kind == tokIdent; p.at++ {
		word := p.tok().text
		switch {
		case word == "const" || word == "volatile":
			continue
		case word == "union" || word == "enum" || word == "float" || word == "double":
			p.fail(p.tok().off, "%s: no such type is known", word)
		case word == "struct":
			p.at++
			t.tag = p.tag()
			p.at--
			count[word]++
		case typeWords[word]:
			count[word]++
		case typedefs[word] != "" && len(count) == 0:
			t.base = typedefs[word]
			count[word]++
		default:
			p.unexpected("")
		}
	}
	if t.base == "" && t.tag == "" {
		t.base = integer(count)
	} else if len(count) > 1 {
		t.base, t.tag = "", ""
	}
	if t.base == "" && t.tag == "" {
		p.fail(t.off, "this is not a type")
	}
	for p.is("*") || p.tok().kind == tokIdent && (p.tok().text == "const" || p.tok().text == "volatile") {
		if p.is("*") {
			t.stars++
		}
		p.at++
	}
	if t.stars > maxStars {
		p.fail(t.off, "a type with more than %d pointers", maxStars)
	}
	return t
}

// maxStars bounds how many pointers lead to what a cast names.
const maxStars = 8

// tag reads the name of a struct, which may be one of Go: main.order.
func (p *parser) tag() string {
	if p.tok().kind != tokIdent {
		p.unexpected("the name of a struct")
	}
	name := p.tok().text
	for p.at++; p.is(".") && p.toks[p.at+1].kind == tokIdent; p.at += 2 {
		name += "." + p.toks[p.at+1].text
	}
	return name
}

// integer returns the type that words spell, "" if they spell none.
func integer(count map[string]int) string {
	n := 0
	for _, c := range count {
		n += c
	}
	take := func(word string, most int) int {
		c := min(count[word], most)
		n -= c
		return c
	}
	for _, whole := range []string{"void", "_Bool", "bool"} {
		if take(whole, 1) == 1 {
			if n != 0 {
				return ""
			}
			return strings.Replace(whole, "bool", "_Bool", 1)
		}
	}
	unsigned, signed := take("unsigned", 1), take("signed", 1)
	long, short, char, plain := take("long", 2), take("short", 1), take("char", 1), take("int", 1)
	if n != 0 || unsigned+signed > 1 || short+char > 1 || long > 0 && short+char > 0 || char+plain > 1 ||
		unsigned+signed+long+short+char+plain == 0 {
		return ""
	}
	name := "int"
	switch {
	case long > 0:
		name = strings.Repeat("long ", long-1) + "long"
	case short > 0:
		name = "short"
	case char > 0 && signed > 0:
		name = "signed char"
	case char > 0:
		name = "char"
	}
	if unsigned > 0 {
		name = "unsigned " + name
	}
	return name
}

// String spells the type as C does.
func (t *typeName) String() string {
	s := t.base
	if t.tag != "" {
		s = "struct " + t.tag
	}
	if t.stars > 0 {
		s += " " + strings.Repeat("*", t.stars)
	}
	return s
}
