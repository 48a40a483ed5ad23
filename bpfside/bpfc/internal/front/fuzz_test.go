package front

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/cilium/ebpf/btf"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// FuzzTranslate holds that whatever the text is, translating it ends, and ends
// with a module that is sound or with an error of the program.
func FuzzTranslate(f *testing.F) {
	seeds, err := filepath.Glob("testdata/globals/*.c")
	if err != nil {
		f.Fatal(err)
	}
	dialect, err := filepath.Glob("../../testdata/d*/*.bpf.c")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range append(seeds, dialect...) {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Add("#define CALL(name, args...) int name(int first, ##args) { return 0; }\nCALL(f, struct s *x)")
	f.Add("int f(int *") // cc waits for what does not come
	f.Add("struct s { int *")
	f.Add("int x[] = { [0 ... 3] = 1, [2].a = 5 };")
	headers := os.DirFS("../../../include")
	f.Fuzz(func(t *testing.T, src string) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		m, err := Translate(ctx, Input{
			FS:            fstest.MapFS{"prog.bpf.c": {Data: []byte(src)}},
			File:          "prog.bpf.c",
			System:        headers,
			SystemInclude: []string{".", "system", "system/bpf"},
			Arch:          "amd64",
			Kernel:        func() (*btf.Spec, error) { return nil, fs.ErrNotExist },
			Vmlinux:       func(map[string]bool) (string, error) { return "typedef unsigned int __u32;\n", nil },
		})
		if ctx.Err() != nil {
			t.Fatal("it takes longer than a program may")
		}
		if err != nil {
			var errs ir.Errors
			if !errors.As(err, &errs) {
				t.Fatalf("error %v is not one of the program", err)
			}
			return
		}
		for _, fn := range m.Funcs {
			if err := fn.Check(); err != nil {
				t.Errorf("%s: %v", fn.Name, err)
			}
		}
	})
}
