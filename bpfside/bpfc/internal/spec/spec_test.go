package spec

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
	"github.com/nopfire/nopfire/bpfside/bpfc/internal/lower"
	"github.com/nopfire/nopfire/internal/testutils"
)

// build returns the fixture as an object.
func build(t *testing.T) []byte {
	t.Helper()
	data, err := Object(fixture())
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The object as package debug/elf reads it.
func TestObject(t *testing.T) {
	f, err := elf.NewFile(bytes.NewReader(build(t)))
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	fmt.Fprintf(&got, "%v %v %v %v\n", f.Machine, f.Type, f.Class, f.Data)
	for i, s := range f.Sections {
		switch s.Type {
		case elf.SHT_NULL, elf.SHT_SYMTAB, elf.SHT_STRTAB:
			continue
		}
		size := fmt.Sprint(s.Size)
		if strings.HasPrefix(s.Name, ".BTF") {
			size = "-"
		}
		fmt.Fprintf(&got, "%2d %-16s %-12s %-26s align %d size %s\n", i, s.Name, s.Type, s.Flags, s.Addralign, size)
	}
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	name := func(s elf.Symbol) string {
		if s.Name == "" {
			return f.Sections[s.Section].Name
		}
		return s.Name
	}
	for _, s := range syms {
		fmt.Fprintf(&got, "%-20s %-6s %-7s %-9s %d +%d size %d\n", name(s), elf.ST_BIND(s.Info), elf.ST_TYPE(s.Info), elf.ST_VISIBILITY(s.Other), s.Section, s.Value, s.Size)
	}
	for _, s := range f.Sections {
		if s.Type != elf.SHT_REL {
			continue
		}
		data, err := s.Data()
		if err != nil {
			t.Fatal(err)
		}
		for ; len(data) > 0; data = data[relSize:] {
			off, info := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:])
			code, err := f.Sections[s.Info].Data()
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&got, "%s+%d: type %d %s, imm %d, src %d\n", f.Sections[s.Info].Name, off, elf.R_TYPE64(info), name(syms[elf.R_SYM64(info)-1]),
				int32(binary.LittleEndian.Uint32(code[off+4:])), code[off+1]>>4)
		}
	}
	const want = `
EM_BPF ET_REL ELFCLASS64 ELFDATA2LSB
 1 .text            SHT_PROGBITS SHF_ALLOC+SHF_EXECINSTR    align 8 size 88
 2 syscall          SHT_PROGBITS SHF_ALLOC+SHF_EXECINSTR    align 8 size 264
 3 .maps            SHT_PROGBITS SHF_WRITE+SHF_ALLOC        align 8 size 32
 4 .data            SHT_PROGBITS SHF_WRITE+SHF_ALLOC        align 4 size 8
 5 .rodata          SHT_PROGBITS SHF_ALLOC                  align 4 size 4
 6 .bss             SHT_NOBITS   SHF_WRITE+SHF_ALLOC        align 8 size 16
 7 license          SHT_PROGBITS SHF_WRITE+SHF_ALLOC        align 1 size 4
 8 .rodata.str1.1   SHT_PROGBITS SHF_ALLOC                  align 1 size 3
 9 .BTF             SHT_PROGBITS 0x0                        align 4 size -
10 .BTF.ext         SHT_PROGBITS 0x0                        align 4 size -
11 .rel.text        SHT_REL      SHF_INFO_LINK              align 8 size 16
12 .relsyscall      SHT_REL      SHF_INFO_LINK              align 8 size 128
fixture.bpf.c        STB_LOCAL STT_FILE STV_DEFAULT 65521 +0 size 0
add                  STB_LOCAL STT_FUNC STV_DEFAULT 1 +48 size 40
s                    STB_LOCAL STT_OBJECT STV_DEFAULT 4 +4 size 4
.data                STB_LOCAL STT_SECTION STV_DEFAULT 4 +0 size 0
.text                STB_LOCAL STT_SECTION STV_DEFAULT 1 +0 size 0
.bss                 STB_LOCAL STT_SECTION STV_DEFAULT 6 +0 size 0
.rodata.str1.1       STB_LOCAL STT_SECTION STV_DEFAULT 8 +0 size 0
twice                STB_GLOBAL STT_FUNC STV_DEFAULT 1 +0 size 48
prog                 STB_GLOBAL STT_FUNC STV_DEFAULT 2 +0 size 224
version              STB_GLOBAL STT_FUNC STV_DEFAULT 2 +224 size 40
events               STB_GLOBAL STT_OBJECT STV_DEFAULT 3 +0 size 32
g                    STB_GLOBAL STT_OBJECT STV_DEFAULT 4 +0 size 4
c                    STB_GLOBAL STT_OBJECT STV_DEFAULT 5 +0 size 4
z                    STB_GLOBAL STT_OBJECT STV_DEFAULT 6 +0 size 16
LINUX_KERNEL_VERSION STB_GLOBAL STT_NOTYPE STV_DEFAULT 0 +0 size 0
LICENSE              STB_GLOBAL STT_OBJECT STV_DEFAULT 7 +0 size 4
.text+8: type 1 .data, imm 4, src 0
syscall+0: type 1 events, imm 0, src 0
syscall+16: type 1 g, imm 0, src 0
syscall+64: type 1 .text, imm 48, src 0
syscall+120: type 10 twice, imm -1, src 1
syscall+128: type 1 .bss, imm 8, src 0
syscall+152: type 1 .rodata.str1.1, imm 1, src 0
syscall+176: type 1 c, imm 0, src 0
syscall+224: type 1 LINUX_KERNEL_VERSION, imm 0, src 0
`
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), got.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// What cilium/ebpf reads.
func TestCollectionSpec(t *testing.T) {
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(build(t)))
	if err != nil {
		t.Fatal(err)
	}
	m := spec.Maps["events"]
	if m == nil || m.Type != ebpf.Hash || m.KeySize != 4 || m.ValueSize != 16 || m.MaxEntries != 16 || m.Value.TypeName() != "ev" {
		t.Errorf("map %+v", m)
	}
	if diff := cmp.Diff([]string{"event:struct ev", "event:sum_t", "event:struct gone"}, m.Tags); diff != "" {
		t.Errorf("tags of the map, -want +got:\n%s", diff)
	}
	for name, want := range map[string][]byte{"g": le32(3), "c": le32(5), "z": make([]byte, 16)} {
		v := spec.Variables[name]
		if v == nil {
			t.Errorf("variable %s is missing", name)
			continue
		}
		if !bytes.Equal(v.Value, want) || v.Type == nil || v.Type.Name != name {
			t.Errorf("variable %s: % x of type %v, want % x", name, v.Value, v.Type, want)
		}
	}
	if spec.Variables["s"] != nil {
		t.Error("static variable can be set")
	}
	p := spec.Programs["prog"]
	if p == nil || p.Type != ebpf.Syscall || p.License != "GPL" || p.SectionName != "syscall" {
		t.Fatalf("program %+v", p)
	}
	// The functions that it calls are behind it, each with its type and lines.
	var got []string
	for i := range p.Instructions {
		ins := &p.Instructions[i]
		if f := btf.FuncMetadata(ins); f != nil {
			got = append(got, fmt.Sprintf("%v %s", f.Linkage, f.Name))
		}
		if l, ok := ins.Source().(*btf.Line); ok {
			got = append(got, fmt.Sprintf("%s:%d:%d %s", l.FileName(), l.LineNumber(), l.LineColumn(), strings.TrimSpace(l.Line())))
		}
	}
	want := []string{
		"global prog",
		"fixture.bpf.c:13:2 struct ev *e = bpf_map_lookup_elem(&events, &g);",
		"fixture.bpf.c:14:2 int sum = 0;",
		"fixture.bpf.c:15:2 bpf_loop(10, add, &sum, 0);",
		"fixture.bpf.c:16:9 z[1] = twice(sum);",
		"fixture.bpf.c:17:2 return e == 0 ? c : 0;",
		"static add",
		"fixture.bpf.c:9:41 static long add(unsigned i, int *sum) { *sum += i; return 0; }",
		"fixture.bpf.c:9:52 static long add(unsigned i, int *sum) { *sum += i; return 0; }",
		"global twice",
		"fixture.bpf.c:10:31 __noinline int twice(int x) { return x * 2 + s; }",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	// Types that nothing in the object has, but user space will see.
	for _, name := range []string{"sent", "gone"} {
		var s *btf.Struct
		if err := spec.Types.TypeByName(name, &s); err != nil {
			t.Errorf("struct %s: %v", name, err)
		}
	}
}

// The kernel runs it: every relocation leads where it should.
func TestRun(t *testing.T) {
	testutils.NeedBPF(t)
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(build(t)))
	if err != nil {
		t.Fatal(err)
	}
	delete(spec.Programs, "version") // cilium/ebpf wants __ulong of it
	coll, err := ebpf.NewCollection(spec)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	defer coll.Close()
	ret, err := coll.Programs["prog"].Run(&ebpf.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var z [2]int64
	if err := coll.Variables["z"].Get(&z); err != nil {
		t.Fatal(err)
	}
	if want := [2]int64{0, 45*2 + 4}; ret != 5 || z != want {
		t.Errorf("returned %d, want c = 5; z = %v, want %v", ret, z, want)
	}
	lines, err := coll.Programs["prog"].Info()
	if err != nil {
		t.Fatal(err)
	}
	insns, err := lines.Instructions()
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(insns); !strings.Contains(text, "z[1] = twice(sum);") {
		t.Errorf("the kernel does not know the lines:\n%s", text)
	}
}

// A function tells what it asks for and the kernel lacks.
func TestMissing(t *testing.T) {
	prog := fn("prog", "syscall", ir.External, tInt)
	missing := asm.BuiltinFunc(ir.Poison + 1).Call()
	object, err := Object(&ir.Module{Poisoned: []string{"struct a.b", "struct task_struct.nosuch"}},
		[]lower.Code{body(prog, "struct ev *e", missing, missing, asm.FnGetPrandomU32.Call(), asm.Return())})
	if err != nil {
		t.Fatal(err)
	}
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(object))
	if err != nil {
		t.Fatal(err)
	}
	f := btf.FuncMetadata(&spec.Programs["prog"].Instructions[0])
	if diff := cmp.Diff([]string{"missing:195896081:struct task_struct.nosuch"}, f.Tags); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTooLarge(t *testing.T) {
	for _, tc := range []struct {
		name        string
		size, align int
	}{
		{"object", 1 << 30, 1},
		{"sum", maxSection - 3, 1},
		{"alignment", 1, 1 << 30},
	} {
		g, big := global("g", ".bss", ir.External, tInt, 4), global("z", ".bss", ir.External, tInt, 4)
		big.Size, big.Align = tc.size, tc.align
		_, err := Object(&ir.Module{Globals: []*ir.Global{g, big}}, nil)
		const want = "fixture.bpf.c:6:6: section .bss is larger than 67108864 bytes with z"
		if err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %q", tc.name, err, want)
		}
	}
}

func TestUndefined(t *testing.T) {
	at := line("bpf_loop")
	main := fn("prog", "syscall", ir.External, tInt)
	missing := fn("twice", "", ir.External, tInt)
	outside := global("g", "", ir.External, tInt, 4)
	outside.Extern = true
	array := &ir.Global{Name: "jumps", Section: ".maps", Size: 8, Align: 8, Data: make([]byte, 8), Relocs: []ir.Reloc{{Sym: missing}}, Pos: line("struct ev *e")}
	for _, tc := range []struct {
		name string
		ins  lower.Insn
		data []*ir.Global
		want string
	}{
		{"function", call(missing), nil, "fixture.bpf.c:15:2: call of function twice, which is declared but not defined"},
		{"callback", address(1, missing, 0), nil, "fixture.bpf.c:15:2: twice is declared but not defined"},
		{"variable", address(1, outside, 0), []*ir.Global{outside}, "fixture.bpf.c:15:2: variable g is declared but not defined"},
		{"initial value", address(1, main, 0), []*ir.Global{array}, "fixture.bpf.c:13:2: the initial value of jumps needs the address of twice, which is not defined here"},
	} {
		tc.ins.Pos = at
		_, err := Object(&ir.Module{Funcs: []*ir.Func{main}, Globals: tc.data}, []lower.Code{{Func: main, Insns: []lower.Insn{tc.ins}}})
		if err == nil || err.Error() != tc.want {
			t.Errorf("%s: error %v, want %q", tc.name, err, tc.want)
		}
	}
}
