// Package arity generates code that has to be written once for each number of
// arguments: the handles of packages emit and urdt. It is linked into generators
// only.
package arity

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"os"
	"strings"
	"text/template"
)

// Main is the main function of a generator: it writes what Generate returns to the
// file of the flag -o.
func Main(tmpl string, most int) {
	out := flag.String("o", "probes.go", "the file to write")
	flag.Parse()
	src, err := Generate(tmpl, most)
	if err == nil {
		err = os.WriteFile(*out, src, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// Generate executes a template with the list of the arities from 0 to most and
// formats the result as Go source.
func Generate(tmpl string, most int) ([]byte, error) {
	t, err := template.New("probes.go").Parse(tmpl)
	if err != nil {
		return nil, err
	}
	var all []Arity
	for n := range most + 1 {
		all = append(all, Arity{n})
	}
	var b bytes.Buffer
	if err := t.Execute(&b, all); err != nil {
		return nil, err
	}
	src, err := format.Source(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("format: %w\n%s", err, b.Bytes())
	}
	return src, nil
}

// An Arity is what a template sees of a number of arguments.
type Arity struct{ N int }

// each joins the expansions of a format, with %d the number of the argument,
// from 1.
func (a Arity) each(format, sep string) string {
	var parts []string
	for i := range a.N {
		parts = append(parts, strings.ReplaceAll(format, "%d", fmt.Sprint(i+1)))
	}
	return strings.Join(parts, sep)
}

// TypeParams is "[A1, A2 any]", TypeArgs "[A1, A2]"; both empty without
// arguments.
func (a Arity) TypeParams() string { return a.bracket(" any") }
func (a Arity) TypeArgs() string   { return a.bracket("") }

func (a Arity) bracket(tail string) string {
	if a.N == 0 {
		return ""
	}
	return "[" + a.each("A%d", ", ") + tail + "]"
}

// Params is "a1 A1, a2 A2", Args "a1, a2", Types "A1, A2"; what follows calls a
// function of package argument for each.
func (a Arity) Params() string    { return a.each("a%d A%d", ", ") }
func (a Arity) Args() string      { return a.each("a%d", ", ") }
func (a Arity) Types() string     { return a.each("A%d", ", ") }
func (a Arity) TypesFor() string  { return a.each(", argument.TypeFor[A%d]()", "") }
func (a Arity) Ops() string       { return a.each("argument.OpFor[A%d]()", ", ") }
func (a Arity) Addresses() string { return a.each("argument.NoEscape(unsafe.Pointer(&a%d))", ", ") }

// Results is the result list of FireFunc's parameter.
func (a Arity) Results() string {
	if a.N == 1 {
		return "A1"
	}
	return "(" + a.Types() + ")"
}

// Arguments names the number in a sentence.
func (a Arity) Arguments() string {
	if a.N == 1 {
		return "1 argument"
	}
	return fmt.Sprintf("%d arguments", a.N)
}
