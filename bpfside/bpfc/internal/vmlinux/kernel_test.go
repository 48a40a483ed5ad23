package vmlinux

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/nopfire/nopfire/internal/testutils"
)

// kernelBTF returns the BTF of the running kernel.
func kernelBTF(t testing.TB) []byte {
	t.Helper()
	raw, err := os.ReadFile("/sys/kernel/btf/vmlinux")
	if errors.Is(err, fs.ErrNotExist) {
		testutils.SkipOrFail(t, "this kernel has no BTF")
	} else if err != nil {
		t.Fatal(err)
	}
	return raw
}

// clangBTF compiles C for BPF, and returns the types that come out.
func clangBTF(t *testing.T, src string) *btf.Spec {
	t.Helper()
	clang := testutils.Oracle(t, "clang-14", "clang")
	file := filepath.Join(t.TempDir(), "types.c")
	if err := os.WriteFile(file, []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	obj := file + ".o"
	cmd := exec.Command(clang, "-O2", "-g", "-Wall", "-Werror", "-Wno-visibility", "-target", "bpf", "-c", file, "-o", obj)
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("clang: %v\n%.4000s", err, msg)
	}
	spec, err := btf.LoadSpec(obj)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// membersOf returns size and members of a structure or union.
func membersOf(t btf.Type) (size uint32, members []btf.Member) {
	switch t := t.(type) {
	case *btf.Struct:
		return t.Size, t.Members
	case *btf.Union:
		return t.Size, t.Members
	}
	return 0, nil
}

// Clang lays out the structures of a header as the kernel has them, where the program
// names their members and where it does not.
func TestLayoutOfKernel(t *testing.T) {
	raw := kernelBTF(t)
	b, err := parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	kernel, err := btf.LoadKernelSpec()
	if err != nil {
		t.Fatal(err)
	}

	// A sample of all structures and unions with a name of their own, and the ones
	// that programs use most.
	var sample []typeID
	count := make(map[string]int)
	for id := range b.offsets {
		t := b.typ(typeID(id))
		if k := t.kind(); (k == kindStruct || k == kindUnion) && t.nameOff != 0 {
			count[b.name(t)]++
		}
	}
	usual := map[string]bool{"task_struct": true, "sock": true, "tcp_sock": true, "sk_buff": true, "inode": true, "file": true,
		"request": true, "bio": true, "mm_struct": true, "cred": true, "pt_regs": true, "bpf_fib_lookup": true, "page": true}
	for id, n := 0, 0; id < len(b.offsets); id++ {
		t := b.typ(typeID(id))
		if k := t.kind(); (k == kindStruct || k == kindUnion) && count[b.name(t)] == 1 && t.vlen() > 0 {
			if n++; n%19 == 0 || usual[b.name(t)] {
				sample = append(sample, typeID(id))
			}
		}
	}
	if len(sample) < 300 {
		t.Fatalf("%d structures in the sample", len(sample))
	}

	for _, named := range []bool{false, true} {
		names := make(map[string]bool)
		vars := new(strings.Builder)
		for i, id := range sample {
			typ := b.typ(id)
			names[b.name(typ)] = true
			if named {
				for _, m := range b.members(typ) {
					names[m.name] = true
				}
			}
			fmt.Fprintf(vars, "%s %s v%d;\n", keyword(typ), b.name(typ), i)
		}
		text, err := Generate(raw, names)
		if err != nil {
			t.Fatal(err)
		}
		spec := clangBTF(t, text+vars.String())
		compared := 0
		for i, id := range sample {
			want, err := kernel.TypeByID(btf.TypeID(id))
			if err != nil {
				t.Fatal(err)
			}
			var v *btf.Var
			if err := spec.TypeByName(fmt.Sprintf("v%d", i), &v); err != nil {
				t.Fatal(err)
			}
			compared += compareLayout(t, want.TypeName(), v.Type, want)
		}
		t.Logf("members named %v: %d lines, %d structures, %d members equal", named, strings.Count(text, "\n"), len(sample), compared)
	}
}

// compareLayout compares what clang made with the kernel's type, and returns the number
// of members. Unnamed structures within are compared too.
func compareLayout(t *testing.T, name string, got, want btf.Type) int {
	t.Helper()
	gotSize, gotMembers := membersOf(got)
	wantSize, wantMembers := membersOf(want)
	if gotSize != wantSize {
		t.Errorf("%s: %d bytes, %d in the kernel", name, gotSize, wantSize)
	}
	byName := make(map[string]btf.Member)
	var inner []btf.Member
	for _, m := range gotMembers {
		if m.Name == "" {
			inner = append(inner, m)
		}
		byName[m.Name] = m
	}
	n := 0
	for _, m := range wantMembers {
		if m.Name == "" {
			if len(inner) == 0 {
				t.Errorf("%s: an unnamed member is missing", name)
				break
			}
			n += compareLayout(t, name, inner[0].Type, m.Type)
			inner = inner[1:]
			continue
		}
		n++
		if g, ok := byName[m.Name]; !ok || g.Offset != m.Offset || g.BitfieldSize != m.BitfieldSize {
			t.Errorf("%s.%s: bit %d, bit-field %d; in the kernel %d, %d", name, m.Name, g.Offset, g.BitfieldSize, m.Offset, m.BitfieldSize)
		}
	}
	return n
}

func BenchmarkGenerate(b *testing.B) {
	raw := kernelBTF(b)
	names := make(map[string]bool)
	for _, n := range strings.Fields("task_struct mm pgd pid tgid real_parent comm u32 u64 bool true false BPF_MAP_TYPE_HASH BPF_ANY file f_inode i_ino") {
		names[n] = true
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Generate(raw, names); err != nil {
			b.Fatal(err)
		}
	}
}

// The whole of a kernel: everything has a name that occurs. It is within the bounds, and
// clang takes it.
func TestWholeKernel(t *testing.T) {
	raw := kernelBTF(t)
	b, err := parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	for _, s := range strings.Split(string(b.strings), "\x00") {
		names[s] = true
	}
	text, err := Generate(raw, names)
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(text, "\n"); lines < 50_000 {
		t.Errorf("%d lines", lines)
	}
	clangBTF(t, text+"struct task_struct v;\n")
}
