//go:build linux && (amd64 || arm64)

package selftests

import (
	"context"
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/bpfside/bpfc"
	"github.com/nopfire/nopfire/internal/testutils"
)

// A builder makes a BPF object of a file in C and returns the path of the object,
// which lives as long as the test. The flags are macros, -DNAME=VALUE, and -I.
type builder func(t testing.TB, file string, flags ...string) string

// builders build the same programs.
var builders = []struct {
	name  string
	build builder
}{
	{"clang", testutils.BuildBPF},
	{"bpfc", buildByBpfc},
	{"bpfc on the system's headers", buildByBpfcOnSystem},
}

// buildByBpfc compiles with the headers that bpfc has.
func buildByBpfc(t testing.TB, file string, flags ...string) string {
	t.Helper()
	return compileBpfc(t, os.DirFS(filepath.Dir(file)), filepath.Base(file), &bpfc.Options{}, flags)
}

// buildByBpfcOnSystem compiles with libbpf's headers and the kernel's, as they are
// installed. urdt.bpf.h alone is ours.
func buildByBpfcOnSystem(t testing.TB, file string, flags ...string) string {
	t.Helper()
	if _, err := os.Stat("/usr/include/bpf/usdt.bpf.h"); err != nil {
		testutils.SkipOrFail(t, "no libbpf headers: %v", err)
	}
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	triplet := map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}[runtime.GOARCH]
	return compileBpfc(t, os.DirFS("/"), strings.TrimPrefix(path, "/"),
		&bpfc.Options{Include: []string{"usr/include", "usr/include/" + triplet}}, flags)
}

func compileBpfc(t testing.TB, fsys fs.FS, file string, opts *bpfc.Options, flags []string) string {
	t.Helper()
	for _, f := range flags {
		switch name, macro := strings.CutPrefix(f, "-D"); {
		case macro:
			opts.Defines = append(opts.Defines, name)
		case !strings.HasPrefix(f, "-I"):
			t.Fatalf("flag %q", f)
		}
	}
	object, err := bpfc.CompileELF(context.Background(), fsys, file, opts)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "prog.bpf.o")
	if err := os.WriteFile(path, object, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// A static program with nothing in its PATH compiles BPF C, attaches it and gets
// exactly the events that it should.
func TestCompileWithoutTools(t *testing.T) {
	testutils.NeedBPF(t)
	prog := testutils.GoBuild(t, "./testprogs/bpfccompile")
	f, err := elf.Open(prog)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("the program is not static: it has a %v", p.Type)
		}
	}
	const fires, minStatus = 1000, 3
	cmd := exec.Command(prog, fmt.Sprint(fires), fmt.Sprint(minStatus))
	cmd.Env = []string{"PATH="}
	cmd.Dir = t.TempDir()
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	count := make(map[int]int)
	for i := range fires {
		if status := i % 5; status >= minStatus {
			count[status]++
			fmt.Fprintf(&want, "true %d %d /%d\n", status, count[status], i)
		}
	}
	fmt.Fprintln(&want, "seen", fires)
	if diff := cmp.Diff(want.String(), string(out)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
