package include_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/nopfire/nopfire/bpfside/include"
	"github.com/nopfire/nopfire/internal/testutils"
)

// uapi returns the text of our linux/bpf.h.
func uapi(t *testing.T) string {
	t.Helper()
	text, err := fs.ReadFile(include.Files, "system/linux/bpf.h")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func kernelTypes(t *testing.T) *btf.Spec {
	t.Helper()
	spec, err := btf.LoadKernelSpec()
	if err != nil {
		testutils.SkipOrFail(t, "no BTF of the kernel: %v", err)
	}
	return spec
}

// The enumerators of linux/bpf.h have the values of the running kernel, as far as it
// knows them.
func TestEnumeratorsOfKernel(t *testing.T) {
	kernel := make(map[string]uint64)
	for typ, err := range kernelTypes(t).All() {
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := typ.(*btf.Enum); ok {
			for _, v := range e.Values {
				if _, ok := kernel[v.Name]; !ok {
					kernel[v.Name] = v.Value
				}
			}
		}
	}
	compared := 0
	for _, m := range regexp.MustCompile(`(?m)^\t(\w+) = (-?\w+),`).FindAllStringSubmatch(uapi(t), -1) {
		want, ok := kernel[m[1]]
		if !ok || strings.HasPrefix(m[1], "__") { // "__" are ends, which move
			continue
		}
		got, err := strconv.ParseInt(strings.TrimRight(m[2], "UL"), 0, 64)
		if err != nil {
			t.Fatal(err)
		}
		compared++
		if uint64(got) != want && uint32(got) != uint32(want) {
			t.Errorf("%s = %s, %d in the kernel", m[1], m[2], int64(want))
		}
	}
	if compared < 300 {
		t.Errorf("only %d enumerators are the kernel's", compared)
	}
}

// The structures of linux/bpf.h have the layout of the running kernel, as far as it has
// the members.
func TestStructuresOfKernel(t *testing.T) {
	clang := testutils.Oracle(t, "clang-14", "clang")
	kernel := kernelTypes(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, include.Files); err != nil {
		t.Fatal(err)
	}
	src := "#include <linux/bpf.h>\n"
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^struct (\w+) \{`).FindAllStringSubmatch(uapi(t), -1) {
		names = append(names, m[1])
		src += fmt.Sprintf("struct %s v_%s;\n", m[1], m[1])
	}
	file := filepath.Join(dir, "structs.c")
	if err := os.WriteFile(file, []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"-g", "-O2", "-target", "bpf", "-c", file, "-o", file + ".o", "-I" + filepath.Join(dir, "system")}
	if msg, err := exec.Command(clang, args...).CombinedOutput(); err != nil {
		t.Fatalf("clang: %v\n%s", err, msg)
	}
	ours, err := btf.LoadSpec(file + ".o")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, name := range names {
		var got, want *btf.Struct
		if err := ours.TypeByName(name, &got); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := kernel.TypeByName(name, &want); err != nil {
			continue // this kernel does not have it
		}
		at := make(map[string]btf.Bits)
		membersAt(at, want, 0)
		mine := make(map[string]btf.Bits)
		membersAt(mine, got, 0)
		for member, off := range mine {
			if w, ok := at[member]; ok {
				compared++
				if off != w {
					t.Errorf("%s.%s at bit %d, %d in the kernel", name, member, off, w)
				}
			}
		}
	}
	if compared < 200 {
		t.Errorf("only %d members are the kernel's", compared)
	}
}

// membersAt notes where each member is, also those of unnamed structures within.
func membersAt(at map[string]btf.Bits, typ btf.Type, base btf.Bits) {
	var members []btf.Member
	switch typ := btf.UnderlyingType(typ).(type) {
	case *btf.Struct:
		members = typ.Members
	case *btf.Union:
		members = typ.Members
	}
	for _, m := range members {
		if m.Name == "" {
			membersAt(at, m.Type, base+m.Offset)
		} else {
			at[m.Name] = base + m.Offset
		}
	}
}
