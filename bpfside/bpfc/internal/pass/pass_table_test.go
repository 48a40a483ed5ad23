package pass

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

var update = flag.Bool("u", false, "rewrite what testdata/*.ir wants")

// tables has the pass of each file of testdata. A file is rows of a comment that
// says the rule, the text before, a line of "->" and the text after; rows are
// apart by lines of "===".
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
	var out strings.Builder
	for i, f := range m.Funcs {
		if i > 0 {
			out.WriteString("\n")
		}
		f.Fprint(&out)
	}
	return out.String()
}
