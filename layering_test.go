package nopfire_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/nopfire/nopfire"

// layers says which packages of this module, and which other modules, each
// package may import, as ARCHITECTURE.md draws it. A name ending in "/" stands
// for the packages below it. "std" alone is implied. Tests are not held by it.
var layers = []struct {
	pkg string
	may []string
	why string // the reason, shown when the rule is broken
}{
	{"internal/sys", nil, "linked into other people's programs"},
	{"internal/procmaps", nil, "a parser of text"},
	{"internal/procwatch", []string{"internal/procmaps", "internal/feature", "golang.org/x/sys"}, "may not know of probes"},
	{"elfgen/stapsdt", nil, "a codec of bytes"},
	{"elfgen/internal/site", []string{"elfgen/stapsdt"}, "tables"},
	{"elfgen/internal/urdtcode", []string{"urdt/abi"}, "writes instructions"},
	{"elfgen/internal/btf", nil, "a codec of bytes"},
	{"elfgen/internal/elfimage", []string{"elfgen/stapsdt"}, "a writer of bytes"},
	{"elfgen", []string{"elfgen/stapsdt", "elfgen/internal/", "urdt/abi"}, "pure and deterministic"},
	{"internal/call", nil, "assembly alone"},
	{"internal/image", []string{"elfgen", "internal/sys"}, "may not know of notes"},
	{"internal/argument", []string{"elfgen", "internal/call"}, "may not know of probes"},
	{"internal/arity", nil, "for generators"},
	{"emit/internal/gen", []string{"elfgen", "internal/arity"}, "a generator"},
	{"emit", []string{"elfgen", "elfgen/stapsdt", "internal/argument", "internal/call", "internal/image", "internal/sys"}, "linked into other people's programs"},
	{"urdt/abi", nil, "what both sides have agreed on"},
	{"urdt/internal/gen", []string{"urdt/abi", "internal/arity"}, "a generator"},
	{"urdt", []string{"urdt/abi", "elfgen", "elfgen/stapsdt", "internal/argument", "internal/call", "internal/image", "internal/sys"}, "linked into other people's programs"},
	{"internal/feature", []string{"internal/", "github.com/cilium/ebpf", "golang.org/x/sys"}, "asks the kernel"},
	{"bpfside/usdt", []string{"elfgen/stapsdt", "urdt/abi", "bpfside/internal/kconfig", "internal/", "github.com/cilium/ebpf", "golang.org/x/sys", "golang.org/x/arch", "golang.org/x/sync"}, "never emit, urdt, bpfc"},
	{"bpfside/btfvalue", []string{"github.com/cilium/ebpf"}, "bytes and types: knows no maps"},
	{"bpfside/run", []string{"bpfside/btfvalue", "bpfside/usdt", "internal/feature", "github.com/cilium/ebpf", "golang.org/x/sys"}, "a session over usdt: may not know of C"},
	{"bpfside/include/internal/gen", nil, "a generator"},
	{"bpfside/include", nil, "headers, embedded"},
	{"bpfside/bpfc/internal/ir/", []string{"bpfside/bpfc/internal/ir", "github.com/cilium/ebpf"}, "what the stages share: knows neither C nor instructions"},
	{"bpfside/bpfc/internal/front", []string{"bpfside/bpfc/internal/ir", "github.com/cilium/ebpf", "modernc.org/cc", "modernc.org/token"}, "the only importer of the C front end"},
	{"bpfside/bpfc/internal/pass", []string{"bpfside/bpfc/internal/ir"}, "knows neither C nor instructions"},
	{"bpfside/bpfc/internal/lower", []string{"bpfside/bpfc/internal/ir", "github.com/cilium/ebpf"}, "knows no C"},
	{"bpfside/bpfc/internal/spec", []string{"bpfside/bpfc/internal/ir", "bpfside/bpfc/internal/lower", "github.com/cilium/ebpf"}, "a writer of objects"},
	{"bpfside/bpfc/internal/vmlinux", []string{"github.com/cilium/ebpf"}, "a writer of text"},
	{"bpfside/bpfc/internal/difftest/", []string{""}, "a test"},
	{"bpfside/bpfc", []string{"bpfside/bpfc/internal/", "bpfside/include", "bpfside/internal/kconfig", "internal/feature", "github.com/cilium/ebpf"}, "never usdt, os/exec"},
	{"bpfside/internal/kconfig", []string{"internal/", "github.com/cilium/ebpf", "golang.org/x/sys"}, "asks the kernel"},
	{"bpfside/scan", []string{"bpfside/usdt", "elfgen/stapsdt", "internal/", "golang.org/x/sys"}, "files only, no attach"},
	{"internal/spelling", nil, "a function"},
	{"bpfside/trace/internal/body", []string{"internal/spelling", "bpfside/usdt", "bpfside/bpfc", "github.com/cilium/ebpf"}, "expressions only"},
	{"bpfside/trace/probespec", []string{"bpfside/trace", "bpfside/usdt"}, "texts only"},
	{"bpfside/trace", []string{"bpfside/trace/internal/", "bpfside/usdt", "elfgen/stapsdt", "urdt/abi", "internal/", "github.com/cilium/ebpf", "golang.org/x/sync"}, "a session over usdt"},
	{"internal/doctor", []string{"bpfside/trace", "bpfside/usdt", "emit", "urdt", "internal/", "github.com/cilium/ebpf", "golang.org/x/sys"}, "for the command: the one package that tries both sides"},
	{"internal/selftest", []string{"bpfside/", "elfgen", "elfgen/stapsdt", "emit", "urdt", "urdt/abi", "internal/", "github.com/cilium/ebpf"}, "for the command: the checks of nopfire selftest"},
	{"cmd/", []string{""}, "may import anything"},
	{"examples/", []string{"emit"}, "what a user would write"},
	{"internal/testutils", []string{"internal/", "github.com/cilium/ebpf", "golang.org/x/sys"}, "for tests"},
	{"selftests/", []string{""}, "may import anything"},
}

// pureGo are the packages that may not touch the operating system.
var pureGo = []string{"elfgen", "elfgen/stapsdt", "elfgen/internal/site", "elfgen/internal/btf", "elfgen/internal/elfimage", "elfgen/internal/urdtcode", "urdt/abi"}

type goPackage struct {
	ImportPath string
	Imports    []string
	CgoFiles   []string
	Standard   bool
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,CgoFiles", "./...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	var pkgs []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); err == io.EOF {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

func TestLayering(t *testing.T) {
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		if name == "" {
			continue
		}
		rule := slices.IndexFunc(layers, func(l struct {
			pkg string
			may []string
			why string
		}) bool {
			return l.pkg == name || strings.HasSuffix(l.pkg, "/") && strings.HasPrefix(name+"/", l.pkg)
		})
		if rule < 0 {
			t.Errorf("package %s has no row in layers: say what it may import, here and in ARCHITECTURE.md", name)
			continue
		}
		if len(p.CgoFiles) > 0 && !strings.HasPrefix(name, "selftests/testprogs/") {
			t.Errorf("package %s uses cgo", name)
		}
		for _, imp := range p.Imports {
			if !allowed(layers[rule].may, imp) {
				t.Errorf("package %s imports %s (%s)", name, imp, layers[rule].why)
			}
			if slices.Contains(pureGo, name) && (imp == "os" || imp == "syscall" || imp == "unsafe" || strings.HasPrefix(imp, "os/")) {
				t.Errorf("package %s imports %s: it must not know of the operating system", name, imp)
			}
		}
	}
}

// allowed tells whether a package whose rule is may can import imp.
func allowed(may []string, imp string) bool {
	if first, _, _ := strings.Cut(imp, "/"); !strings.Contains(first, ".") {
		return true // standard library
	}
	rel, own := strings.CutPrefix(imp, module+"/")
	for _, m := range may {
		switch {
		case m == "":
			return true
		case own && (m == rel || strings.HasSuffix(m, "/") && strings.HasPrefix(rel, m)):
			return true
		case !own && (m == imp || strings.HasPrefix(imp, m+"/")):
			return true
		}
	}
	return false
}
