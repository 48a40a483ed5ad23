package body

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nopfire/nopfire/bpfside/usdt"
)

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
		has := fmt.Sprintf("%d arguments, arg1 to arg%[1]d", len(p.in.Args))
		switch len(p.in.Args) {
		case 0:
			has = "no arguments"
		case 1:
			has = "one argument, arg1"
		}
		p.fail(n.off, true, "%s is not known: the probe has %s", n.text, has)
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
