package front

import "strings"

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
