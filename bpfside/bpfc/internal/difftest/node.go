package difftest

import (
	"fmt"
	"strings"
)

// Kind says what may be done to a [Node] when a program is made smaller.
type Kind uint8

const (
	// Fixed text stays as it is, with what is below it.
	Fixed Kind = iota
	// Expr is an integer without side effects: a number or another Expr can
	// stand in its place.
	Expr
	// List is a sequence of statements or declarations, any of which may go.
	List
	// Stmt is a statement, in whose place its lists can stand.
	Stmt
	// Named is a declaration of Name, which may go if nothing else names it.
	Named
)

// A Node is a piece of C: text, in which $0, $1 … stand for children. The
// children of a [List] follow each other, and it has no text.
type Node struct {
	Kind Kind
	Text string
	Name string // of [Named]
	Kids []*Node
}

// node makes a Fixed node.
func node(text string, kids ...*Node) *Node { return &Node{Text: text, Kids: kids} }

func expr(text string, kids ...*Node) *Node { return &Node{Kind: Expr, Text: text, Kids: kids} }

func stmt(text string, kids ...*Node) *Node { return &Node{Kind: Stmt, Text: text, Kids: kids} }

func list(kids ...*Node) *Node { return &Node{Kind: List, Kids: kids} }

func named(name, text string, kids ...*Node) *Node {
	return &Node{Kind: Named, Name: name, Text: text, Kids: kids}
}

// fixedf makes a leaf.
func fixedf(format string, args ...any) *Node { return node(fmt.Sprintf(format, args...)) }

// Clone returns a deep copy.
func (n *Node) Clone() *Node {
	c := *n
	c.Kids = make([]*Node, len(n.Kids))
	for i, k := range n.Kids {
		c.Kids[i] = k.Clone()
	}
	return &c
}

// Size counts the nodes of the tree.
func (n *Node) Size() int {
	size := 1
	for _, k := range n.Kids {
		size += k.Size()
	}
	return size
}

// String returns the C text, indented by its braces.
func (n *Node) String() string {
	var b strings.Builder
	n.write(&b)
	return indent(b.String())
}

func (n *Node) write(b *strings.Builder) {
	if n.Kind == List {
		for _, k := range n.Kids {
			k.write(b)
			b.WriteByte('\n')
		}
		return
	}
	text := n.Text
	for {
		i := strings.IndexByte(text, '$')
		if i < 0 {
			b.WriteString(text)
			return
		}
		b.WriteString(text[:i])
		n.Kids[text[i+1]-'0'].write(b)
		text = text[i+2:]
	}
}

// indent drops empty lines and indents the others by the braces that are open.
// No string of a generated program has a brace in it.
func indent(text string) string {
	var b strings.Builder
	depth := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		opened, closed := strings.Count(line, "{"), strings.Count(line, "}")
		leading := len(line) - len(strings.TrimLeft(line, "}"))
		b.WriteString(strings.Repeat("\t", max(0, depth-leading)))
		b.WriteString(line)
		b.WriteByte('\n')
		depth += opened - closed
	}
	return b.String()
}

// walk calls f with n and all below it, parents first.
func (n *Node) walk(f func(*Node)) {
	f(n)
	for _, k := range n.Kids {
		k.walk(f)
	}
}
