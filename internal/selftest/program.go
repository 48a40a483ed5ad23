package selftest

import (
	"testing/fstest" // a file system in memory; it does not import package testing

	"github.com/cilium/ebpf"

	"github.com/nopfire/nopfire/bpfside/bpfc"
	"github.com/nopfire/nopfire/bpfside/usdt"
)

// programFile is the name of the C text of a check.
const programFile = "check.bpf.c"

// source is a file system with one program.
func source(text string) fstest.MapFS {
	return fstest.MapFS{programFile: {Data: []byte(text)}}
}

// compile compiles the C text of a check.
func compile(t *T, text string, defines ...string) *ebpf.CollectionSpec {
	spec, err := bpfc.Compile(t.ctx, source(text), programFile, &bpfc.Options{Defines: defines})
	if err != nil {
		t.Fatalf("compile:\n%v", err)
	}
	return spec
}

// load compiles and loads a text. The collection goes with the check, but the links
// that it is attached by must be closed before.
func load(t *T, text string, defines ...string) *usdt.Collection {
	spec := compile(t, text, defines...)
	c, err := usdt.NewCollection(spec, nil)
	if err != nil {
		t.Fatalf("load:\n%v", bpfc.Explain(spec, err))
	}
	t.Cleanup(c.Close)
	return c
}

// variable returns a global variable of a program.
func variable[V any](t *T, c *usdt.Collection, name string) (v V) {
	x := c.Variables[name]
	if x == nil {
		t.Fatalf("the program has no variable %s", name)
	}
	if err := x.Get(&v); err != nil {
		t.Fatalf("variable %s: %v", name, err)
	}
	return v
}

// closeLater closes a link in the end of the check.
func closeLater(t *T, l interface{ Close() error }) {
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close link: %v", err)
		}
	})
}
