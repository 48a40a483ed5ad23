package bpfc_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/cilium/ebpf/btf"

	"github.com/nopfire/nopfire/bpfside/bpfc"
	"github.com/nopfire/nopfire/internal/testutils"
)

// The structures of vmlinux.h have in bpfc the sizes and offsets that the kernel has
// them at: asserted by a program, for a sample of them.
func TestLayoutOfKernel(t *testing.T) {
	kernel, err := btf.LoadKernelSpec()
	if err != nil {
		testutils.SkipOrFail(t, "no BTF of the kernel: %v", err)
	}
	count := make(map[string]int)
	var structs []*btf.Struct
	for typ, err := range kernel.All() {
		if err != nil {
			t.Fatal(err)
		}
		switch s := typ.(type) {
		case *btf.Struct:
			count[s.Name]++
			structs = append(structs, s)
		case *btf.Union:
			count[s.Name]++
		case *btf.Enum:
			count[s.Name]++
		}
	}
	var prog strings.Builder
	prog.WriteString("#include \"vmlinux.h\"\n#include <bpf/bpf_helpers.h>\n")
	asserts := 0
	for i, s := range structs {
		if s.Name == "" || count[s.Name] != 1 || i%23 != 0 && s.Name != "task_struct" && s.Name != "sk_buff" && s.Name != "inode" && s.Name != "sock" {
			continue
		}
		fmt.Fprintf(&prog, "_Static_assert(sizeof(struct %s) == %d, \"size\");\n", s.Name, s.Size)
		for _, m := range s.Members {
			if m.Name != "" && m.BitfieldSize == 0 {
				asserts++
				fmt.Fprintf(&prog, "_Static_assert(__builtin_offsetof(struct %s, %s) == %d, \"%s\");\n", s.Name, m.Name, m.Offset.Bytes(), m.Name)
			}
		}
	}
	prog.WriteString("SEC(\"socket\") int prog(void *ctx) { return 0; }\n")
	fsys := fstest.MapFS{"prog.bpf.c": {Data: []byte(prog.String())}}
	if _, err := bpfc.Compile(context.Background(), fsys, "prog.bpf.c", nil); err != nil {
		t.Errorf("%.3000v", err)
	}
	if asserts < 2000 {
		t.Errorf("only %d members were compared", asserts)
	}
}
