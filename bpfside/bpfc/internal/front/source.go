package front

import (
	"cmp"
	"path"
	"slices"
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
//   - A struct with attributes that points to itself points to what it is before
//     it has members. A typedef of it, which is looked up later, takes the place
//     of its name within it.
//   - Of "x ?: y" cc looks at what is between ? and : if x is a constant, and there
//     is nothing. A name is put there, see [elvis]. In a macro, which #if may use,
//     it is not.
//   - A function type without a name, as programs give it to __array and typeof,
//     is no type to cc. What a pointer to one points to is.
//
// A token that comes from a macro is where the macro is used, so the columns
// within a definition do not matter to anybody. What else moves columns is
// returned.
func rewrite(text string) (string, []insertion) {
	if !slices.ContainsFunc([]string{"...", "attribute", "volatile", "typeof", "__array", "?"}, func(s string) bool { return strings.Contains(text, s) }) {
		return text, nil
	}
	var edits []edit
	add := func(e ...edit) { edits = append(edits, e...) }
	var before, prev string // the two tokens before
	var outer declaration
	for l := (lexer{text: text}); l.next(); before, prev = prev, l.tok() {
		if l.first && l.tok() == "#" {
			start := l.start
			line := l.directive()
			if fixed := fixDirective(line); fixed != "" {
				// The lines that a continued directive took stay.
				n := strings.Count(text[start:l.end], "\n") - strings.Count(fixed, "\n")
				add(edit{start, l.end, fixed + strings.Repeat("\n", n)})
			}
			continue
		}
		outer.token(&l)
		if prev == "?" && l.tok() == ":" {
			add(edit{l.start, l.start, " " + elvis + " "})
		}
		if l.kind != lexIdent {
			continue
		}
		switch tok := l.tok(); tok {
		case "volatile", "__volatile__", "__volatile":
			if marksVolatile(before, prev, tok) {
				add(edit{l.start, l.end, volatileMark + strings.Repeat(" ", len(tok)-len(volatileMark))})
			}
		case "enum":
			add(fixEnum(l)...)
		case "struct", "union":
			if outer.plain {
				add(fixSelf(l, outer.start)...)
			}
		case "__array", "typeof", "__typeof__":
			add(fixFunctionType(l, tok != "__array")...)
			add(leadingQualifiers(l)...)
		case "__type", "__builtin_types_compatible_p":
			add(leadingQualifiers(l)...)
		}
	}
	return apply(text, edits)
}

// An edit is text that takes the place of a part of the original.
type edit struct {
	start, end int
	with       string
}

// apply makes the edits, in whatever order they are, but for one that overlaps an
// earlier one of the same place. Those that lengthen a line are returned.
func apply(text string, edits []edit) (string, []insertion) {
	if len(edits) == 0 {
		return text, nil
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	var out strings.Builder
	var inserted []insertion
	done, line, counted := 0, 1, 0
	for _, e := range edits {
		if e.start < done {
			continue
		}
		out.WriteString(text[done:e.start])
		out.WriteString(e.with)
		done = e.end
		line += strings.Count(text[counted:e.start], "\n")
		counted = e.start
		if n := len(e.with) - (e.end - e.start); n != 0 && !strings.Contains(e.with, "\n") {
			inserted = append(inserted, insertion{line, e.start - strings.LastIndexByte(text[:e.start], '\n'), n})
		}
	}
	out.WriteString(text[done:])
	return out.String(), inserted
}

// A declaration is how far the lexer is in one of file scope.
type declaration struct {
	begun bool
	start int  // of its first token
	plain bool // neither a function's body nor an initializer has begun
	depth int  // of braces
	prev  string
}

func (d *declaration) token(l *lexer) {
	tok := l.tok()
	if !d.begun {
		*d = declaration{begun: true, start: l.start, plain: true}
	}
	switch tok {
	case "{":
		d.plain = d.plain && !(d.depth == 0 && d.prev == ")")
		d.depth++
	case "}":
		d.depth--
		// A function's body ends its declaration, and so does one brace too many.
		d.begun = d.depth > 0 || d.depth == 0 && d.plain
	case "=":
		d.plain = d.plain && d.depth > 0
	case ";":
		d.begun = d.depth > 0
	}
	d.prev = tok
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

// blanks returns as many blanks as s is long, with its line feeds.
func blanks(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return ' '
	}, s)
}

// scanIdentifiers adds the identifiers of text to names.
func scanIdentifiers(text string, names map[string]bool) {
	for l := (lexer{text: text}); l.next(); {
		if l.kind == lexIdent {
			names[l.tok()] = true
		}
	}
}

// elvis returns where the program first has the operator ?: without a middle, 0 if
// it never has.
func (s *sources) elvis() (line, col int) {
	text := s.texts[path.Clean(s.in.File)]
	question := -1
	for l := (lexer{text: text}); l.next(); {
		switch {
		case l.tok() == ":" && question >= 0:
			return lineOf(text, question), question - strings.LastIndexByte(text[:question], '\n')
		case l.tok() == "?":
			question = l.start
		default:
			question = -1
		}
	}
	return 0, 0
}
