package elfgen

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// writeObjects writes all objects of spec into a directory and returns their
// paths by name.
func writeObjects(t *testing.T, spec *ProviderSpec) map[string]string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{}
	for _, row := range objects {
		files[row.name] = filepath.Join(dir, row.name+".so")
		o := mustBuild(t, spec, row.machine, row.form)
		if err := os.WriteFile(files[row.name], o.Image, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// run returns what a tool prints; the test fails if it fails.
func run(t *testing.T, tool string, args ...string) string {
	t.Helper()
	out, err := exec.Command(tool, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", tool, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// Both readelfs print every note as it was meant, and warn of nothing.
func TestReadelf(t *testing.T) {
	for _, tool := range []struct {
		name, flag string
		note       *regexp.Regexp
	}{
		{"readelf", "-nW", regexp.MustCompile(
			`Provider: (?<provider>.*)\n\s+Name: (?<name>.*)\n` +
				`\s+Location: (?<location>\w+), Base: (?<base>\w+), Semaphore: (?<semaphore>\w+)\n` +
				`\s+Arguments: (?<args>.*)\n`)},
		{"eu-readelf", "-n", regexp.MustCompile(
			`PC: (?<location>\w+), Base: (?<base>\w+), Semaphore: (?<semaphore>\w+)\n` +
				`\s+Provider: (?<provider>.*), Name: (?<name>.*), Args: '(?<args>.*)'\n`)},
	} {
		t.Run(tool.name, func(t *testing.T) {
			path := testutils.Oracle(t, tool.name)
			spec := fullSpec()
			files := writeObjects(t, spec)
			for _, row := range objects {
				out := run(t, path, tool.flag, files[row.name])
				if lower := strings.ToLower(out); strings.Contains(lower, "warning") || strings.Contains(lower, "error") {
					t.Errorf("%s: %s", row.name, out)
				}
				found := tool.note.FindAllStringSubmatch(out, -1)
				want := notesOf(t, mustBuild(t, spec, row.machine, row.form))
				if len(found) != len(want) {
					t.Fatalf("%s: %d notes in\n%s", row.name, len(found), out)
				}
				for i, m := range found {
					text := func(group string) string { return m[tool.note.SubexpIndex(group)] }
					addr := func(group string) uint64 {
						v, err := strconv.ParseUint(text(group), 0, 64)
						if err != nil {
							t.Fatal(err)
						}
						return v
					}
					got := stapsdt.Note{
						Provider: text("provider"), Name: text("name"), Args: text("args"),
						Location: addr("location"), Base: addr("base"), Semaphore: addr("semaphore"),
						Off: want[i].Off, // which the tools do not tell
					}
					if got != want[i] {
						t.Errorf("%s:\n got %+v\nwant %+v", row.name, got, want[i])
					}
				}
			}
		})
	}
}

// eu-elflint finds no fault in the structure of the files. It calls note types
// that it does not know unknown, those of sys/sdt.h among them.
func TestElflint(t *testing.T) {
	path := testutils.Oracle(t, "eu-elflint")
	for _, spec := range []*ProviderSpec{fullSpec(), {Name: "p", Probes: []ProbeSpec{{Name: "a"}}}, manyProbes(100)} {
		for name, file := range writeObjects(t, spec) {
			out, _ := exec.Command(path, "--gnu-ld", file).CombinedOutput()
			for line := range strings.Lines(string(out)) {
				if !strings.Contains(line, "unknown object file note type") && strings.TrimSpace(line) != "No errors" {
					t.Errorf("%s: %s", name, line)
				}
			}
		}
	}
}

// A disassembler that knows all machines finds the functions, with their names.
func TestObjdump(t *testing.T) {
	path := testutils.Oracle(t, "llvm-objdump", "llvm-objdump-14")
	want := map[string][2]string{
		"x86-64-nop1":  {"nop", "retq"},
		"x86-64-nop5":  {"nopl", "retq"},
		"x86-64-nop10": {"nop", "retq"},
		"arm64":        {"nop", "ret"},
		"riscv64":      {"nop", "ret"},
		"s390x":        {"bc", "br"},
		"ppc64le":      {"nop", "blr"},
	}
	for name, file := range writeObjects(t, fullSpec()) {
		out := run(t, path, "-d", "--no-show-raw-insn", file)
		_, body, ok := strings.Cut(out, "<web_x2d_shop__texts>:\n")
		if !ok {
			t.Fatalf("%s: no symbol in\n%s", name, out)
		}
		body, _, _ = strings.Cut(body, "\n\n")
		if f := strings.Fields(body); len(f) < 4 || f[1] != want[name][0] || !strings.Contains(body, want[name][1]) {
			t.Errorf("%s: want %q in\n%s", name, want[name], body)
		}
	}
}

// The loader of C programs accepts the objects, finds every symbol, can call
// it, and lets go of the object again.
func TestDlopenFromC(t *testing.T) {
	needHost(t)
	prog := testutils.BuildC(t, dlopenProgram, "-ldl")
	for name, file := range writeObjects(t, fullSpec()) {
		if !strings.HasPrefix(name, "x86-64") {
			continue
		}
		var symbols []string
		for _, p := range fullSpec().Probes {
			symbols = append(symbols, string(appendSymbol(nil, "web-shop", p.Name)))
		}
		out := run(t, prog, append([]string{file}, symbols...)...)
		if want := fmt.Sprintf("called %d\nclosed\n", len(symbols)); out != want {
			t.Errorf("%s: %q, want %q", name, out, want)
		}
	}
}

const dlopenProgram = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
	for (int round = 0; round < 2; round++) {
		void *h = dlopen(argv[1], RTLD_NOW);
		if (!h) { printf("%s\n", dlerror()); return 1; }
		int n = 0;
		for (int i = 2; i < argc; i++) {
			void (*f)(void) = dlsym(h, argv[i]);
			Dl_info info;
			if (!f || !dladdr(f, &info) || !info.dli_sname) { printf("no %s\n", argv[i]); return 1; }
			f();
			n++;
		}
		if (dlsym(h, "absent")) { printf("found absent\n"); return 1; }
		if (round == 0) printf("called %d\n", n);
		if (dlclose(h)) { printf("%s\n", dlerror()); return 1; }
	}
	if (dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD)) { printf("still loaded\n"); return 1; }
	printf("closed\n");
	return 0;
}
`

func TestDlopenFromPython(t *testing.T) {
	needHost(t)
	python := testutils.Oracle(t, "python3")
	for name, file := range writeObjects(t, fullSpec()) {
		if !strings.HasPrefix(name, "x86-64") {
			continue
		}
		out := run(t, python, "-c", `
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1])
lib.web_x2d_shop__one()
lib["web_x2d_shop__twelve"]()
print("fired")
`, file)
		if out != "fired\n" {
			t.Errorf("%s: %s", name, out)
		}
	}
}

// The loader of musl and others look symbols up by DT_HASH alone or by
// DT_GNU_HASH alone: the C library is asked with each of them hidden.
func TestDlopenWithOneHash(t *testing.T) {
	needHost(t)
	prog := testutils.BuildC(t, dlopenProgram, "-ldl")
	o := mustBuild(t, fullSpec(), stapsdt.X86_64, FormNop5)
	dyn := openELF(t, o).Section(".dynamic")
	for _, hidden := range []uint64{4, 0x6ffffef5} { // DT_HASH, DT_GNU_HASH
		image := append([]byte(nil), o.Image...)
		found := false
		for at := dyn.Offset; at < dyn.Offset+dyn.Size; at += 16 {
			if o.Machine.ByteOrder().Uint64(image[at:]) == hidden {
				// DT_DEBUG: a tag that the loader does not use here.
				o.Machine.ByteOrder().PutUint64(image[at:], 21)
				found = true
			}
		}
		if !found {
			t.Fatalf("no tag %#x", hidden)
		}
		file := filepath.Join(t.TempDir(), "one.so")
		if err := os.WriteFile(file, image, 0o755); err != nil {
			t.Fatal(err)
		}
		if out := run(t, prog, file, "web_x2d_shop__none", "web_x2d_shop__texts"); out != "called 2\nclosed\n" {
			t.Errorf("without tag %#x: %s", hidden, out)
		}
	}
}

// bpftool reads the types.
func TestBpftool(t *testing.T) {
	path := testutils.Oracle(t, "bpftool")
	for name, file := range writeObjects(t, fullSpec()) {
		out := run(t, path, "btf", "dump", "file", file)
		for _, want := range []string{
			`FUNC 'web_x2d_shop__struct'`, `DECL_TAG 'nopfire:probe=web-shop:struct'`,
			`STRUCT 'Request' size=128 vlen=12`, `FLOAT 'double' size=8`, `encoding=BOOL`, `encoding=CHAR`,
			`DECL_TAG 'nopfire:len=2'`, `DECL_TAG 'nopfire:go=time.Duration'`,
		} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%s", name, want, out)
			}
		}
		// As C: a header that a debugger's user could include.
		out = run(t, path, "btf", "dump", "file", file, "format", "c")
		if !strings.Contains(out, "struct Request *next;") {
			t.Errorf("%s: as C\n%s", name, out)
		}
	}
}

// needHost skips a test that loads objects for x86-64 into a process.
func needHost(t *testing.T) {
	t.Helper()
	if runtime.GOARCH != "amd64" || runtime.GOOS != "linux" {
		t.Skipf("loads x86-64 objects on Linux; this is %s/%s", runtime.GOOS, runtime.GOARCH)
	}
}
