package bpfc_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/nopfire/nopfire/bpfside/bpfc"
	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// onLibbpf are the files that depend on macros of the headers, and use none that is
// newer than libbpf 1.1.
var onLibbpf = []string{
	"bpf_prog", "bpf_usdt", "bpf_urdt", "callbacks", "const_volatile", "core_queries", "core_read", "core_relocated",
	"data_sections", "endian", "helpers", "kconfig", "map_hash", "map_in_map", "printing", "uprobe", "urdt_lean", "volatile",
}

// The real headers of libbpf, where they are in the include path, do as ours do: clang
// and bpfc come to the same with them.
func TestDialectOnLibbpfHeaders(t *testing.T) {
	testutils.NeedBPF(t)
	clang := testutils.Oracle(t, "clang-14", "clang")
	const libbpf = "/usr/include/bpf"
	if _, err := os.Stat(libbpf + "/bpf_helpers.h"); err != nil {
		testutils.SkipOrFail(t, "no libbpf headers: %v", err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "bpf"), os.DirFS(libbpf)); err != nil {
		t.Fatal(err)
	}
	flags := append([]string{"-I" + dir}, dialectHeaders(t)...)
	for _, name := range onLibbpf {
		t.Run(name, func(t *testing.T) {
			path := "testdata/dialect/" + name + ".bpf.c"
			f, err := readDialect(path)
			if err != nil {
				t.Fatal(err)
			}
			f.needKernel(t)
			f.parallel(t)
			theirs := f.execute(t, buildByClang(t, clang, flags, path))
			f.check(t, theirs)

			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name+".bpf.c"), text, 0o644); err != nil {
				t.Fatal(err)
			}
			object, err := bpfc.CompileELF(context.Background(), os.DirFS(dir), name+".bpf.c", &bpfc.Options{Include: []string{"."}})
			if err != nil {
				t.Fatalf("bpfc: %v", err)
			}
			spec, err := usdt.LoadCollectionSpecFromReader(bytes.NewReader(object))
			if err != nil {
				t.Fatal(err)
			}
			ours := f.execute(t, spec)
			f.check(t, ours)
			compare(t, theirs, ours)
		})
	}
}
