package bpfc_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nopfire/nopfire/bpfside/bpfc"
)

// Files of testdata/diag are refused. A comment "// diag: TEXT" ends each line that has
// a fault, and TEXT is a part of everything that is said of it.
func TestDiag(t *testing.T) {
	files, err := filepath.Glob("testdata/diag/*.bpf.c")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".bpf.c"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want := make(map[int]string)
			for i, line := range strings.Split(string(text), "\n") {
				if _, msg, ok := strings.Cut(line, "// diag: "); ok {
					want[i+1] = msg
				}
			}
			if len(want) == 0 {
				t.Fatal("no fault is wanted")
			}
			_, err = bpfc.Compile(context.Background(), os.DirFS("."), path, nil)
			if err == nil {
				t.Fatal("compiled")
			}
			var list bpfc.Diagnostics
			if !errors.As(err, &list) {
				t.Fatalf("no diagnostics: %v", err)
			}
			said := make(map[int]bool)
			for _, d := range list {
				msg, ok := want[d.Line]
				if !ok || d.File != path || !strings.Contains(d.Msg, msg) {
					t.Errorf("%s:%d:%d: %s, want %q", d.File, d.Line, d.Col, d.Msg, msg)
				}
				if d.Col < 1 || d.Text == "" {
					t.Errorf("no column or no source line: %+v", d)
				}
				said[d.Line] = true
			}
			for line, msg := range want {
				if !said[line] {
					t.Errorf("line %d: not refused: %s", line, msg)
				}
			}
		})
	}
}
