package bpfc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/bpfside/bpfc"
	"github.com/nopfire/nopfire/internal/testutils"
)

// files is a file system with a program.
func files(program string) fs.FS { return fstest.MapFS{"prog.bpf.c": {Data: []byte(program)}} }

func compile(t *testing.T, program string, opts *bpfc.Options) *ebpf.CollectionSpec {
	t.Helper()
	spec, err := bpfc.Compile(context.Background(), files(program), "prog.bpf.c", opts)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func load(t *testing.T, spec *ebpf.CollectionSpec) *ebpf.Collection {
	t.Helper()
	testutils.NeedBPF(t)
	coll, err := ebpf.NewCollection(spec)
	if err != nil {
		t.Fatal(bpfc.Explain(spec, err))
	}
	t.Cleanup(coll.Close)
	return coll
}

func runProgram(t *testing.T, coll *ebpf.Collection, program string) uint32 {
	t.Helper()
	ret, err := coll.Programs[program].Run(&ebpf.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ret
}

// The smallest program there is.
func TestCompileNothing(t *testing.T) {
	spec := compile(t, `__attribute__((section("socket"))) int prog(void *ctx) { return 0; }`, nil)
	if p := spec.Programs["prog"]; len(spec.Programs) != 1 || p == nil || p.Type != ebpf.SocketFilter {
		t.Errorf("programs %v", spec.Programs)
	}
}

// A map, globals, a function of its own and a callback do what C says.
func TestCompile(t *testing.T) {
	spec := compile(t, `
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct pair { int a; long b; };
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16);
	__type(key, int);
	__type(value, struct pair);
} pairs SEC(".maps");
const volatile int factor = 2;
long sum = 40;
static int calls;

static long add(__u32 i, int *total) { *total += i; return 0; }
__noinline int scaled(int x) { calls++; return x * factor; }

SEC("syscall") int prog(void *ctx)
{
	int total = 0, key = 7;
	struct pair *p, init = { .a = 1, .b = -1 };

	bpf_map_update_elem(&pairs, &key, &init, BPF_ANY);
	p = bpf_map_lookup_elem(&pairs, &key);
	if (!p)
		return -1;
	bpf_loop(10, add, &total, 0);
	p->a += scaled(total);
	sum += p->a + p->b;
	return calls;
}
char LICENSE[] SEC("license") = "GPL";
`, nil)
	if err := spec.Variables["factor"].Set(int32(3)); err != nil {
		t.Fatal(err)
	}
	coll := load(t, spec)
	if ret := runProgram(t, coll, "prog"); ret != 1 {
		t.Errorf("returned %d, want 1 call", int32(ret))
	}
	var sum int64
	if err := coll.Variables["sum"].Get(&sum); err != nil || sum != 40+45*3+1-1 {
		t.Errorf("sum %d, %v", sum, err)
	}
	var pair struct {
		A int32
		_ int32
		B int64
	}
	if err := coll.Maps["pairs"].Lookup(int32(7), &pair); err != nil || pair.A != 1+45*3 || pair.B != -1 {
		t.Errorf("pair %+v, %v", pair, err)
	}
}

// The specification is what cilium/ebpf reads of the object.
func TestCompileELF(t *testing.T) {
	const program = `
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
int hits;
SEC("socket") int count(void *ctx) { return ++hits; }
`
	spec := compile(t, program, nil)
	object, err := bpfc.CompileELF(context.Background(), files(program), "prog.bpf.c", nil)
	if err != nil {
		t.Fatal(err)
	}
	read, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(object))
	if err != nil {
		t.Fatal(err)
	}
	var a, b bytes.Buffer
	if err := spec.Programs["count"].Instructions.Marshal(&a, binary.LittleEndian); err != nil {
		t.Fatal(err)
	}
	if err := read.Programs["count"].Instructions.Marshal(&b, binary.LittleEndian); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) || !cmp.Equal(spec.Variables["hits"].Value, read.Variables["hits"].Value) {
		t.Errorf("% x\n% x", a.Bytes(), b.Bytes())
	}
	again, err := bpfc.CompileELF(context.Background(), files(program), "prog.bpf.c", nil)
	if err != nil || !bytes.Equal(object, again) {
		t.Errorf("compiled again it is another object, %v", err)
	}
}

// Kconfig variables are constants: what is for other kernels is not in the code.
func TestCompileKconfig(t *testing.T) {
	const program = `
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
extern int LINUX_KERNEL_VERSION __kconfig;
extern _Bool LINUX_HAS_BPF_COOKIE __kconfig __weak;
extern unsigned CONFIG_HZ __kconfig;
extern int CONFIG_NOT_THERE __kconfig __weak;
extern char CONFIG_NAME[8] __kconfig;
SEC("socket") int number(void *ctx)
{
	if (LINUX_KERNEL_VERSION < KERNEL_VERSION(5, 15, 0))
		return bpf_get_prandom_u32();
	return CONFIG_HZ + CONFIG_NOT_THERE + LINUX_HAS_BPF_COOKIE;
}
SEC("socket") int text(struct __sk_buff *ctx) { return CONFIG_NAME[ctx->len & 7]; }
`
	opts := &bpfc.Options{
		Defines:       []string{"KERNEL_VERSION(a,b,c)=(((a) << 16) + ((b) << 8) + (c))"},
		KernelVersion: 6<<16 + 1<<8, Kconfig: strings.NewReader("CONFIG_HZ=250\nCONFIG_NAME=\"abcdef\"\n"),
	}
	spec := compile(t, program, opts)
	if n := len(spec.Programs["number"].Instructions); n != 2 {
		t.Errorf("%d instructions, want 2:\n%v", n, spec.Programs["number"].Instructions)
	}
	coll := load(t, spec)
	data := make([]byte, 16)
	if ret, err := coll.Programs["number"].Run(&ebpf.RunOptions{Data: data}); err != nil || ret != 251 {
		t.Errorf("returned %d, %v, want 250 + 1", ret, err)
	}
	if ret, err := coll.Programs["text"].Run(&ebpf.RunOptions{Data: append(data, 0, 0)}); err != nil || ret != 'c' && ret != 'e' {
		t.Errorf("returned %q, %v", rune(ret), err)
	}

	opts.Kconfig = strings.NewReader("")
	_, err := bpfc.Compile(context.Background(), files(program), "prog.bpf.c", opts)
	const want = "prog.bpf.c:6:17: kconfig variable CONFIG_HZ: this kernel does not define it\nextern unsigned CONFIG_HZ __kconfig;\n                ^\n"
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error\n%v\nwant\n%s", err, want)
	}
}

// Addresses of the kernel are found by the loader; there is none of what it lacks.
func TestCompileKsyms(t *testing.T) {
	const program = `
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
extern const void schedule __ksym;
extern const void no_kernel_has_this __ksym __weak;
SEC("syscall") int prog(void *ctx) { return (&schedule != 0) + 2 * (&no_kernel_has_this != 0); }
`
	if ret := runProgram(t, load(t, compile(t, program, nil)), "prog"); ret != 1 {
		t.Errorf("returned %d, want 1", ret)
	}
	_, err := bpfc.Compile(context.Background(), files(strings.Replace(program, "const void schedule", "const int schedule", 1)), "prog.bpf.c", nil)
	if err == nil || !strings.HasPrefix(err.Error(), "prog.bpf.c:4:18: kernel variable schedule: variables of the kernel with a type are not supported") {
		t.Errorf("error %v", err)
	}
}

// Hidden functions are verified where they are called, as libbpf has it.
func TestCompileHidden(t *testing.T) {
	spec := compile(t, `
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
__hidden __noinline int first(int *p) { return *p; }
SEC("syscall") int prog(void *ctx) { int x = bpf_get_prandom_u32() | 1; return first(&x) != 0; }
`, nil)
	linkage := make(map[string]btf.FuncLinkage)
	for i := range spec.Programs["prog"].Instructions {
		if f := btf.FuncMetadata(&spec.Programs["prog"].Instructions[i]); f != nil {
			linkage[f.Name] = f.Linkage
		}
	}
	if diff := cmp.Diff(map[string]btf.FuncLinkage{"prog": btf.GlobalFunc, "first": btf.StaticFunc}, linkage); diff != "" {
		t.Error(diff)
	}
	if ret := runProgram(t, load(t, spec), "prog"); ret != 1 {
		t.Errorf("returned %d", ret)
	}
}

// What is wrong with a program is told with its place.
func TestCompileDiagnostics(t *testing.T) {
	_, err := bpfc.Compile(context.Background(), files("int x;\n\tint y = z;\n"), "prog.bpf.c", nil)
	var d *bpfc.Diagnostic
	if !errors.As(err, &d) {
		t.Fatalf("error %v", err)
	}
	if d.File != "prog.bpf.c" || d.Line != 2 || d.Text != "\tint y = z;" || !strings.Contains(d.Msg, "z") {
		t.Errorf("%+v", d)
	}
	if _, err := bpfc.Compile(context.Background(), files(""), "other.bpf.c", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want %v", err, fs.ErrNotExist)
	}
	_, err = bpfc.Compile(context.Background(), files(`
struct { int (*type)[1]; int *key; int (*key_size)[4]; } counts __attribute__((section(".maps")));
`), "prog.bpf.c", nil)
	if want := "prog.bpf.c:2:58: map counts: both key and key_size given\n"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := bpfc.Compile(ctx, files("int x;"), "prog.bpf.c", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

// What the verifier refuses is told with its place too.
func TestExplain(t *testing.T) {
	testutils.NeedBPF(t)
	spec := compile(t, `
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16);
	__type(key, int);
	__type(value, int);
} counts SEC(".maps");
SEC("syscall") int good(void *ctx) { return 0; }
SEC("syscall") int prog(void *ctx)
{
	int key = 0, *n = bpf_map_lookup_elem(&counts, &key);

	*n += 1;
	return 0;
}
`, nil)
	_, err := ebpf.NewCollection(spec)
	err = bpfc.Explain(spec, err)
	var refusal *bpfc.VerifierError
	if !errors.As(err, &refusal) {
		t.Fatalf("error %v", err)
	}
	const want = "prog.bpf.c:15:2: verifier: R0 invalid mem access 'map_value_or_null'\n\t*n += 1;\n\t^\nprogram prog, the end of the verifier's log:\n"
	if refusal.Program != "prog" || refusal.Line != 15 || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error\n%v\nwant\n%s…", err, want)
	}
	var cause *ebpf.VerifierError
	if !errors.As(err, &cause) {
		t.Error("the error of cilium/ebpf is lost")
	}
	other := errors.New("something else")
	if got := bpfc.Explain(spec, other); got != other {
		t.Errorf("error %v became %v", other, got)
	}
}

// A field that the kernel lacks is named.
func TestExplainMissingField(t *testing.T) {
	testutils.NeedBPF(t)
	spec := compile(t, `
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
struct task_struct___other { int nosuch; } __attribute__((preserve_access_index));
SEC("raw_tp/sched_switch") int prog(void *ctx)
{
	struct task_struct___other *task = (void *)bpf_get_current_task();
	return BPF_CORE_READ(task, nosuch);
}
char LICENSE[] SEC("license") = "GPL";
`, nil)
	_, err := ebpf.NewCollection(spec)
	err = bpfc.Explain(spec, err)
	if err == nil || !strings.HasPrefix(err.Error(), "prog.bpf.c:9:9: verifier: the kernel has no struct task_struct___other.nosuch\n") {
		t.Errorf("error\n%v", err)
	}
}

// kernelBTF are the types of a kernel in which task_struct has a field at an offset.
func kernelBTF(t *testing.T, offset uint32) []byte {
	t.Helper()
	var b btf.Builder
	number := &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed}
	regs := &btf.Struct{Name: "user_pt_regs", Size: 31 * 8, Members: []btf.Member{{Name: "regs", Type: &btf.Array{Type: &btf.Int{Name: "unsigned long", Size: 8}, Index: number, Nelems: 31}}}}
	types := []btf.Type{
		&btf.Struct{Name: "task_struct", Size: offset + 4, Members: []btf.Member{{Name: "pid", Type: number, Offset: btf.Bits(offset * 8)}}},
		regs, &btf.Struct{Name: "pt_regs", Size: regs.Size, Members: []btf.Member{{Name: "user_regs", Type: regs}}},
	}
	for name, i := range map[string]*btf.Int{
		"__u8": {Name: "unsigned char", Size: 1}, "__u16": {Name: "unsigned short", Size: 2}, "__be16": {Name: "unsigned short", Size: 2},
		"__u32": {Name: "unsigned int", Size: 4}, "__be32": {Name: "unsigned int", Size: 4}, "__wsum": {Name: "unsigned int", Size: 4},
		"__s32": {Name: "int", Size: 4, Encoding: btf.Signed}, "__u64": {Name: "unsigned long long", Size: 8},
		"__s64": {Name: "long long", Size: 8, Encoding: btf.Signed},
	} {
		types = append(types, &btf.Typedef{Name: name, Type: i})
	}
	for _, typ := range types {
		if _, err := b.Add(typ); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := b.Marshal(nil, &btf.MarshalOptions{Order: binary.LittleEndian})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// A program is for the kernel that the options describe, by vmlinux.h and by a
// struct of its own.
func TestCompileForOtherKernel(t *testing.T) {
	const byHeader = `
#include "vmlinux.h"
__attribute__((section("raw_tp/x"))) int prog(struct task_struct *task) { return task->pid; }
`
	const byItself = `
struct task_struct { char nothing; int pid; } __attribute__((preserve_access_index));
__attribute__((section("raw_tp/x"))) int prog(struct task_struct *task) { return task->pid; }
`
	for _, program := range []string{byHeader, byItself} {
		for _, offset := range []uint32{8, 2468} {
			spec := compile(t, program, &bpfc.Options{KernelBTF: kernelBTF(t, offset)})
			load := spec.Programs["prog"].Instructions[0]
			if load.OpCode.Class() != asm.LdXClass || load.Offset != int16(offset) {
				t.Errorf("%v, want a load at %d", load, offset)
			}
		}
	}
	_, err := bpfc.Compile(context.Background(), files(byHeader), "prog.bpf.c", &bpfc.Options{KernelBTF: []byte("none")})
	if err == nil || !strings.Contains(err.Error(), "vmlinux.h") {
		t.Errorf("error %v", err)
	}
}

// The machine decides where parameters are.
func TestCompileForOtherMachine(t *testing.T) {
	const program = `
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
SEC("kprobe/x") int prog(struct pt_regs *ctx) { return PT_REGS_PARM2(ctx); }
`
	for _, tc := range []struct {
		arch string
		btf  []byte
		want int16
	}{
		{"arm64", kernelBTF(t, 8), 8},    // regs[1]
		{"riscv64", kernelBTF(t, 8), -1}, // that kernel has no a1
	} {
		spec, err := bpfc.Compile(context.Background(), files(program), "prog.bpf.c", &bpfc.Options{Arch: tc.arch, KernelBTF: tc.btf})
		switch {
		case tc.want < 0:
			var d *bpfc.Diagnostic
			if !errors.As(err, &d) || d.Line != 5 {
				t.Errorf("%s: error %v", tc.arch, err)
			}
		case err != nil:
			t.Error(err)
		default:
			if load := spec.Programs["prog"].Instructions[0]; load.OpCode.Class() != asm.LdXClass || load.Offset != tc.want {
				t.Errorf("%s: %v, want a load at %d", tc.arch, load, tc.want)
			}
		}
	}
}
