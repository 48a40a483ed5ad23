package spec

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
	"github.com/nopfire/nopfire/bpfside/bpfc/internal/lower"
	"github.com/nopfire/nopfire/internal/testutils"
)

func TestMain(m *testing.M) { testutils.Main(m) }

// source is what the fixture would be the translation of.
const source = `struct ev { int a; long b; };
struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 16); __type(key, int); __type(value, struct ev); } events __weak SEC(".maps");
int g = 3;
static int s = 4;
const volatile int c = 5;
long z[2];
extern int LINUX_KERNEL_VERSION __kconfig, external __kconfig;
char LICENSE[] SEC("license") = "GPL";
static long add(unsigned i, int *sum) { *sum += i; return 0; }
__noinline int twice(int x) { return x * 2 + s; }
SEC("syscall") int prog(void *ctx)
{
	struct ev *e = bpf_map_lookup_elem(&events, &g);
	int sum = 0;
	bpf_loop(10, add, &sum, 0);
	z[1] = twice(sum);
	return e == 0 ? c : 0;
}
SEC("syscall") int version(void *ctx) { return LINUX_KERNEL_VERSION >> 16; }
`

var sourceFile = &ir.File{Name: "fixture.bpf.c", Lines: strings.Split(source, "\n")}

// line is the position of the first occurrence of some text in the source.
func line(text string) ir.Pos {
	before, _, ok := strings.Cut(source, text)
	if !ok {
		panic("BUG: no " + text)
	}
	return ir.Pos{File: sourceFile, Line: strings.Count(before, "\n") + 1, Col: len(before) - strings.LastIndex(before, "\n")}
}

// Types of the fixture.
var (
	tInt    = &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed}
	tUint   = &btf.Int{Name: "unsigned int", Size: 4}
	tLong   = &btf.Int{Name: "long", Size: 8, Encoding: btf.Signed}
	tChar   = &btf.Int{Name: "char", Size: 1, Encoding: btf.Char}
	tEvent  = &btf.Struct{Name: "ev", Size: 16, Members: []btf.Member{{Name: "a", Type: tInt}, {Name: "b", Type: tLong, Offset: 64}}}
	tVoid   = (*btf.Void)(nil)
	tCtx    = &btf.Pointer{Target: tVoid}
	tIndex  = &btf.Int{Name: "__ARRAY_SIZE_TYPE__", Size: 4}
	tIntPtr = &btf.Pointer{Target: tInt}
)

func array(t btf.Type, n uint32) *btf.Array { return &btf.Array{Type: t, Index: tIndex, Nelems: n} }

// uintMember is what __uint(name, n) declares.
func uintMember(name string, n, off uint32) btf.Member {
	return btf.Member{Name: name, Type: &btf.Pointer{Target: array(tInt, n)}, Offset: btf.Bits(off * 8)}
}

func fn(name, section string, linkage ir.Linkage, result btf.Type, params ...btf.FuncParam) *ir.Func {
	pos := line(name + "(")
	return &ir.Func{Name: name, Section: section, Linkage: linkage, Pos: pos, BTF: &btf.Func{Name: name, Type: &btf.FuncProto{Return: result, Params: params}}}
}

func global(name, section string, linkage ir.Linkage, t btf.Type, size int, data ...byte) *ir.Global {
	g := &ir.Global{Name: name, Section: section, Linkage: linkage, Size: size, Align: min(size, 8), BTF: &btf.Var{Name: name, Type: t}, Pos: line(name)}
	if len(data) > 0 {
		g.Data = append(data, make([]byte, size-len(data))...)
	}
	return g
}

// body makes code of instructions, of which those with a symbol and those that
// begin a line are marked.
func body(f *ir.Func, insns ...any) lower.Code {
	c := lower.Code{Func: f}
	pos := ir.Pos{}
	for _, x := range insns {
		switch x := x.(type) {
		case string:
			pos = line(x)
		case asm.Instruction:
			c.Insns = append(c.Insns, lower.Insn{Instruction: x, Pos: pos})
		case lower.Insn:
			x.Pos = pos
			c.Insns = append(c.Insns, x)
		}
	}
	return c
}

// address loads the address of a symbol, call calls it.
func address(r asm.Register, sym ir.Symbol, offset int64) lower.Insn {
	return lower.Insn{Instruction: asm.LoadImm(r, offset, asm.DWord), Sym: sym}
}

func call(f *ir.Func) lower.Insn { return lower.Insn{Instruction: asm.Call.Label(""), Sym: f} }

// fixture is the translation of the source.
func fixture() (*ir.Module, []lower.Code) {
	events := global("events", ".maps", ir.Weak, &btf.Struct{Size: 32, Members: []btf.Member{
		uintMember("type", 1, 0), uintMember("max_entries", 16, 8),
		{Name: "key", Type: tIntPtr, Offset: 128}, {Name: "value", Type: &btf.Pointer{Target: tEvent}, Offset: 192},
	}}, 32)
	events.Events = []btf.Type{tEvent, &btf.Typedef{Name: "sum_t", Type: tInt}, &btf.Struct{Name: "gone", Size: 4, Members: []btf.Member{{Name: "by", Type: tInt}}}}
	g := global("g", ".data", ir.External, tInt, 4, 3)
	s := global("s", ".data", ir.Static, tInt, 4, 4)
	c := global("c", ".rodata", ir.External, &btf.Const{Type: &btf.Volatile{Type: tInt}}, 4, 5)
	z := global("z", ".bss", ir.External, array(tLong, 2), 16)
	unused := global("external", ".kconfig", ir.External, tInt, 4) // declared only
	unused.Extern = true
	version := global("LINUX_KERNEL_VERSION", ".kconfig", ir.External, tInt, 4)
	version.Extern = true
	license := global("LICENSE", "license", ir.External, array(tChar, 4), 4, 'G', 'P', 'L')
	license.Align = 1
	literal := &ir.Global{Name: ".str", Section: ".rodata.str1.1", Size: 3, Align: 1, Data: []byte("hi\x00")}

	add := fn("add", "", ir.Static, tLong, btf.FuncParam{Name: "i", Type: tUint}, btf.FuncParam{Name: "sum", Type: tIntPtr})
	twice := fn("twice", "", ir.External, tInt, btf.FuncParam{Name: "x", Type: tInt})
	prog := fn("prog", "syscall", ir.External, tInt, btf.FuncParam{Name: "ctx", Type: tCtx})
	kernel := fn("version", "syscall", ir.External, tInt, btf.FuncParam{Name: "ctx", Type: tCtx})

	m := &ir.Module{
		Name:    "fixture.bpf.c",
		Funcs:   []*ir.Func{add, twice, prog, kernel},
		Globals: []*ir.Global{events, g, s, c, z, unused, version, license, literal},
		Types:   []btf.Type{&btf.Struct{Name: "sent", Size: 4, Members: []btf.Member{{Name: "pid", Type: tInt}}}},
	}
	return m, []lower.Code{
		body(twice,
			"return x * 2", asm.LSh.Imm32(asm.R1, 1),
			address(asm.R2, s, 0), asm.LoadMem(asm.R0, asm.R2, 0, asm.Word),
			asm.Add.Reg32(asm.R0, asm.R1), asm.Return()),
		body(add,
			"*sum += i", asm.LoadMem(asm.R3, asm.R2, 0, asm.Word), asm.Add.Reg32(asm.R3, asm.R1), asm.StoreMem(asm.R2, 0, asm.R3, asm.Word),
			"return 0", asm.Mov.Imm(asm.R0, 0), asm.Return()),
		body(prog,
			"struct ev *e =", address(asm.R1, events, 0), address(asm.R2, g, 0), asm.FnMapLookupElem.Call(), asm.Mov.Reg(asm.R6, asm.R0),
			"int sum = 0", asm.StoreImm(asm.R10, -4, 0, asm.Word),
			"bpf_loop", asm.Mov.Imm(asm.R1, 10), address(asm.R2, add, 0),
			asm.Mov.Reg(asm.R3, asm.R10), asm.Add.Imm(asm.R3, -4), asm.Mov.Imm(asm.R4, 0), asm.FnLoop.Call(),
			"twice(sum)", asm.LoadMem(asm.R1, asm.R10, -4, asm.Word), call(twice),
			address(asm.R1, z, 8), asm.StoreMem(asm.R1, 0, asm.R0, asm.DWord),
			"return e", address(asm.R1, literal, 1), asm.LoadMem(asm.R1, asm.R1, 0, asm.Byte),
			address(asm.R1, c, 0), asm.LoadMem(asm.R0, asm.R1, 0, asm.Word),
			asm.Instruction{OpCode: asm.JEq.Op(asm.ImmSource), Dst: asm.R6, Offset: 1}, asm.Mov.Imm(asm.R0, 0), asm.Return()),
		body(kernel,
			"return LINUX_KERNEL", address(asm.R1, version, 0), asm.LoadMem(asm.R0, asm.R1, 0, asm.Word), asm.RSh.Imm32(asm.R0, 16), asm.Return()),
	}
}

func le32(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }
