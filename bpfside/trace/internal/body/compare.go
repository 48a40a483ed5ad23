package body

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/nopfire/nopfire/bpfside/usdt"
)

// Text is compared by a function for each literal, which has the bytes of it in
// its instructions: a program without maps has no other place for them. It reads
// as many bytes of the traced process as it takes to tell, a piece at a time, so
// that all comparisons of an expression get along with the stack of one piece.

const (
	// maxLiteral is how long a literal may be, in bytes.
	maxLiteral = 127
	// pieceLen is how many bytes are read at a time, in a buffer of one more.
	pieceLen = 63
	// commLen is TASK_COMM_LEN, include/linux/sched.h.
	commLen = 16
	// whole is the number of bytes that a comparison of the whole takes.
	whole = -1
)

// A textKind is how the characters of a text are found.
type textKind uint8

const (
	textNUL     textKind = iota // at an address, up to a NUL
	textCounted                 // at an address, and so many
	textHeader                  // so too, as the two words at an address tell
	textComm                    // the name of the thread
)

// A comparison is one with a literal.
type comparison struct {
	kind    textKind
	literal string
	bytes   int  // that are compared, or whole
	equal   bool // rather than in order
}

// comparisons are those of all expressions, each once. Their index is part of the
// name of their function.
type comparisons []comparison

func (l *comparisons) add(c comparison) int {
	for i, other := range *l {
		if other == c {
			return i
		}
	}
	*l = append(*l, c)
	return len(*l) - 1
}

// compareText writes a comparison of x with a literal: an int, 0 if they are equal.
// equal tells that nobody asks which one comes first.
func (p *printer) compareText(x, literal *node, bytes int, equal bool) {
	s := literal.text
	if i := strings.IndexByte(s, 0); i >= 0 {
		s = s[:i] // where C's functions see its end
		if bytes > i {
			bytes = whole
		}
	}
	if len(s) > maxLiteral {
		p.fail(literal.off, false, "text to compare with is longer than %d bytes", maxLiteral)
		return
	}
	if x.kind == nodeString {
		p.fail(x.off, false, "two literals are not compared")
		return
	}
	c := comparison{literal: s, bytes: bytes, equal: equal}
	call := func(kind textKind, args string) {
		c.kind = kind
		p.write(fmt.Sprintf("text%d(%s)", p.compare.add(c), args))
	}
	t := p.typeOf(x)
	switch {
	case isComm(x):
		p.useComm()
		call(textComm, "(const char *)comm")
		return
	case isHeader(t):
		operand := p.sprint(x)
		p.mark(x.off)
		call(textHeader, "(const char *)&"+operand)
		return
	case x.kind == nodeIdent && t != nil && t.Kind == usdt.Bytes:
		i, _ := p.argument(x.text)
		if n := p.in.Args[i].Len; n > i && n < len(p.in.Args) {
			if _, ok := p.argType(n); ok {
				p.use(n)
				address := p.sprint(x)
				p.mark(x.off)
				call(textCounted, fmt.Sprintf("(const char *)(%s), (unsigned long)a%d", address, n+1))
				return
			}
		}
	}
	if t != nil && t.Kind == usdt.Struct {
		p.fail(x.off, true, "%s", p.structs.notValue(t))
	}
	operand := p.sprint(x)
	same := func(other text) bool {
		return other.expr == p.expr && other.c == operand && other.strict == (equal && !isText(t))
	}
	if !slices.ContainsFunc(p.texts, same) {
		p.texts = append(p.texts, text{p.expr, x.off, operand, equal && !isText(t)})
	}
	p.mark(x.off)
	call(textNUL, "(const char *)(long)("+operand+")")
}

// headers are the structs that strings and bytes of Go are in memory, as elfgen and
// package emit call them, with their types in Go.
var headers = map[string]string{"go_string": "string", "go_bytes": "[]byte", "go_slice": "[]byte"}

// isHeader tells whether a type is one of those: an address of bytes, a length, and
// perhaps a capacity.
func isHeader(t *usdt.Type) bool {
	if t == nil || t.Kind != usdt.Struct || headers[t.Name] == "" || len(t.Fields) < 2 {
		return false
	}
	ptr, length := t.Fields[0], t.Fields[1]
	if ptr.Offset != 0 || ptr.Type == nil || ptr.Type.Kind != usdt.Pointer || ptr.Type.Size != 8 ||
		length.Offset != 8 || length.Type == nil || length.Type.Size != 8 {
		return false
	}
	elem := ptr.Type.Elem
	return elem != nil && elem.Size == 1 && (elem.Kind == usdt.Uint || elem.Kind == usdt.Int)
}

// function returns the function of a comparison in C, with a number in its name.
//
// Words are compared as the bytes in them are, by reversing them. Where the two
// first differ is in front of what may lie behind the end of the text: the literal
// has no NUL but its last byte.
func (c comparison) function(index int) string {
	var b strings.Builder
	params := "const char *s"
	if c.kind == textCounted {
		params += ", unsigned long n"
	}
	fmt.Fprintf(&b, "static __attribute__((always_inline)) int text%d(%s)\n{\n\tunsigned long b[%d], x;\n", index, params, (pieceLen+1)/8)
	if c.kind == textHeader {
		b.WriteString("\tunsigned long head[2];\n\tif (bpf_read(head, 16, s) < 0) return -1;\n\ts = (const char *)head[0];\n\tunsigned long n = head[1];\n")
	}
	want, counted := []byte(c.literal), c.kind == textCounted || c.kind == textHeader
	switch {
	case c.bytes != whole:
		want = want[:c.bytes]
		if counted {
			fmt.Fprintf(&b, "\tif (n < %d) return -1;\n", c.bytes)
		}
	case counted:
		fmt.Fprintf(&b, "\tif (n != %d) return n < %[1]d ? -1 : 1;\n", len(want))
	default:
		want = append(want, 0)
	}
	piece := pieceLen
	if c.kind == textComm {
		want, piece = want[:min(len(want), commLen)], commLen
	}
	for at := 0; at < len(want); at += piece {
		part := want[at:min(at+piece, len(want))]
		from := "b"
		switch c.kind {
		case textComm:
			from = "s"
		case textCounted, textHeader:
			fmt.Fprintf(&b, "\tif (bpf_read(b, %d, s + %d) < 0) return -1;\n", len(part), at)
		default:
			fmt.Fprintf(&b, "\tif (bpf_read_str(b, %d, s + %d) < 0) return -1;\n", len(part)+1, at)
		}
		c.words(&b, from, part)
	}
	b.WriteString("\treturn 0;\n}\n")
	return b.String()
}

// words writes the comparison of what is at from with bytes.
func (c comparison) words(b *strings.Builder, from string, bytes []byte) {
	for off := 0; off < len(bytes); {
		size := 8
		for size > len(bytes)-off {
			size /= 2
		}
		var word [8]byte
		copy(word[:], bytes[off:off+size])
		unit := map[int]string{1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "unsigned long"}[size]
		differ := "1"
		if !c.equal {
			differ = fmt.Sprintf("__builtin_bswap64(x) < %#xul ? -1 : 1", binary.BigEndian.Uint64(word[:]))
		}
		fmt.Fprintf(b, "\tx = *(const %s *)((const char *)%s + %d);\n\tif (x != %#xul) return %s;\n",
			unit, from, off, binary.LittleEndian.Uint64(word[:]), differ)
		off += size
	}
}
