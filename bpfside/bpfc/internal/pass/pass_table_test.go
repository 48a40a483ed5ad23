package pass

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir/interp"
)

var update = flag.Bool("u", false, "rewrite what testdata/*.ir wants")

// tables has the pass of each file of testdata. A file is rows of a comment that
// says the rule, the text before, a line of "->" and the text after; rows are
// apart by lines of "===". What can be run is, before and after.
var tables = map[string]func(*ir.Func) bool{
	"combine":    func(f *ir.Func) bool { return both(combine(f), dce(f)) },
	"signs":      signs,
	"dce":        dce,
	"deadstores": deadStores,
	"facts":      facts,
	"gvn":        func(f *ir.Func) bool { return both(gvn(f), dce(f)) },
	"loads":      func(f *ir.Func) bool { return both(loads(f), dce(f)) },
	"loopvars":   func(f *ir.Func) bool { return both(loopVars(f), promote(f)) },
	"memops":     memops,
	"walkers":    func(f *ir.Func) bool { return both(walkers(f), combine(f)) },
	"promote":    func(f *ir.Func) bool { return both(promote(f), dce(f)) },
}

func both(a, b bool) bool { return a || b }

func TestTables(t *testing.T) {
	for name, run := range tables {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", name+".ir")
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			for i, row := range strings.Split(string(text), "===\n") {
				if i > 0 {
					out.WriteString("===\n")
				}
				before, want, _ := strings.Cut(row, "->\n")
				got := runRow(t, before, run)
				if got != strings.Trim(want, "\n")+"\n" && !*update {
					t.Errorf("%s\ngot:\n%swant:\n%s", before, got, want)
				}
				out.WriteString(strings.TrimRight(before, "\n") + "\n->\n" + got + "\n")
			}
			if *update {
				if err := os.WriteFile(path, bytes.TrimRight(out.Bytes(), "\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// runRow runs a pass on the functions of text and returns their text.
func runRow(t *testing.T, text string, run func(*ir.Func) bool) string {
	t.Helper()
	name, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	m, err := ir.Parse(name, text)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Check(); err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	meant := meaning(t, text)
	for _, f := range m.Funcs {
		before := f.String()
		if changed := run(f); !changed && f.String() != before {
			t.Errorf("%s\nit changed and says that it did not", text)
		}
		if err := f.Check(); err != nil {
			t.Fatalf("%s\nafter:\n%s\n%v", text, f, err)
		}
		f.Renumber()
	}
	for input, want := range meant {
		if got, err := perform(m, input.seed, input.undefined); err != nil || got != want {
			t.Errorf("%s\nseed %d: %s, %v, not %s", text, input.seed, got, err, want)
		}
	}
	var out strings.Builder
	for i, f := range m.Funcs {
		if i > 0 {
			out.WriteString("\n")
		}
		f.Fprint(&out)
	}
	return out.String()
}

// An input of a row: what its parameters and the objects that they point to
// hold, and what is in memory that was not written.
type input struct {
	seed      uint64
	undefined byte
}

// meaning runs the first function of text with some inputs and returns what it
// did, but for those with which it has no meaning.
func meaning(t *testing.T, text string) map[input]string {
	t.Helper()
	did := map[input]string{}
	for seed := range uint64(4) {
		var first string
		for i, undefined := range []byte{0, 0xa5} {
			m, err := ir.Parse("row", text)
			if err != nil {
				t.Fatal(err)
			}
			what, err := perform(m, seed, undefined)
			if err != nil {
				break
			}
			if i == 0 {
				first = what
			} else if what == first {
				did[input{seed, undefined}] = what
			}
		}
	}
	return did
}

// perform runs the first function of m, and tells what it returns and leaves in
// memory.
func perform(m *ir.Module, seed uint64, undefined byte) (string, error) {
	r := rand.New(rand.NewPCG(seed, 1))
	mc := interp.New(m)
	mc.Undefined = undefined
	mc.Steps = 1 << 12
	var args []uint64
	var objects [][]byte
	for _, p := range m.Funcs[0].Params() {
		switch x := r.Uint64() >> r.IntN(64); p.Type {
		case ir.I32:
			args = append(args, uint64(uint32(x)))
		case ir.I64:
			args = append(args, x)
		case ir.Ptr:
			object := make([]byte, 256)
			for i := range object {
				object[i] = byte(r.Uint32() >> r.IntN(32))
			}
			objects = append(objects, object)
			args = append(args, mc.Object(object))
		}
	}
	result, err := mc.Call(m.Funcs[0], args...)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("%#x", result)
	for _, o := range objects {
		text += fmt.Sprintf(" %x", o)
	}
	for _, g := range m.Globals {
		data, err := mc.Bytes(mc.Global(g), g.Size)
		if err != nil {
			return "", err
		}
		text += fmt.Sprintf(" %x", data)
	}
	return text, nil
}
