package front

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/cilium/ebpf/btf"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir/interp"
)

// kernelSpec is the BTF of a kernel that has what the tests ask for:
//
//	struct inner { int x; int y; };
//	struct thing {
//		long pad;
//		int pid;                        // 8
//		struct { u64 wide; char *comm; }; // 16, 24
//		struct inner in[4];             // 32
//		u32 low : 3, mid : 7;           // 64
//		s64 signed;                     // 72
//		struct inner tail[];            // 80
//	};
//	enum level { LOW = 3, HIGH = 9 };
//	typedef struct thing thing_t;
func kernelSpec(t *testing.T) func() (*btf.Spec, error) {
	t.Helper()
	i32 := &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed}
	u32 := &btf.Int{Name: "unsigned int", Size: 4}
	s64 := &btf.Int{Name: "long", Size: 8, Encoding: btf.Signed}
	u64 := &btf.Int{Name: "unsigned long", Size: 8}
	inner := &btf.Struct{Name: "inner", Size: 8, Members: []btf.Member{
		{Name: "x", Type: i32}, {Name: "y", Type: i32, Offset: 32},
	}}
	anonymous := &btf.Struct{Size: 16, Members: []btf.Member{
		{Name: "wide", Type: &btf.Typedef{Name: "u64", Type: u64}},
		{Name: "comm", Type: &btf.Pointer{Target: i32}, Offset: 64},
	}}
	thing := &btf.Struct{Name: "thing", Size: 80, Members: []btf.Member{
		{Name: "pad", Type: s64},
		{Name: "pid", Type: &btf.Const{Type: i32}, Offset: 64},
		{Type: anonymous, Offset: 128},
		{Name: "in", Type: &btf.Array{Index: u32, Type: inner, Nelems: 4}, Offset: 256},
		{Name: "low", Type: u32, Offset: 512, BitfieldSize: 3},
		{Name: "mid", Type: u32, Offset: 515, BitfieldSize: 7},
		{Name: "signed", Type: s64, Offset: 576},
		{Name: "tail", Type: &btf.Array{Index: u32, Type: inner}, Offset: 640},
	}}
	level := &btf.Enum{Name: "level", Size: 4, Values: []btf.EnumValue{{Name: "LOW", Value: 3}, {Name: "HIGH", Value: 9}}}
	b, err := btf.NewBuilder([]btf.Type{thing, level, &btf.Typedef{Name: "thing_t", Type: thing}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := b.Marshal(nil, &btf.MarshalOptions{Order: binary.LittleEndian})
	if err != nil {
		t.Fatal(err)
	}
	spec, err := btf.LoadSpecFromReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return func() (*btf.Spec, error) { return spec, nil }
}

// What the program says of the same types, in another order and with members that
// this kernel does not have.
const coreDecls = `
#define pai __attribute__((preserve_access_index))
enum info { OFFSET, SIZE, EXISTS, SIGNED, LSHIFT, RSHIFT };
struct inner { int y; int x; } pai;
struct thing {
	int pid;
	unsigned low : 3;
	unsigned mid : 7;
	struct inner in[4];
	unsigned long wide;
	char *comm;
	long gone;
	struct inner tail[];
} pai;
struct thing___old { int nosuch; int pid; } pai;
struct thing___narrow { unsigned wide; int signed_; } pai;
struct thing___short { int signed_ ; int wide; } pai;
struct plain { int pid; };
struct lost { int a; } pai;
enum level { HIGH = 1, LOW = 2, NONE = 4 };
enum level___new { HIGH___new = 7 };
typedef struct thing thing_t;
union thing___u { int a; };
struct thing___flat { int pid; struct inner in[4]; };
#define field(x, what) __builtin_preserve_field_info(x, what)
#define type(t, what) __builtin_preserve_type_info(*(typeof(t) *)0, what)
#define value(e, v, what) __builtin_preserve_enum_value(*(typeof(e) *)v, what)
#define access(x) __builtin_preserve_access_index(x)
`

// Each row is an expression of p, which points to 96 bytes of which each is its
// index.
var coreRows = []cRow{
	// Members are where the kernel has them.
	{"p->pid", 0x0b0a0908},
	{"p->wide", 0x1716151413121110},
	{"p->in[1].y", 0x2f2e2d2c},
	{"p->in[n].x", 0x33323130},
	{"(p->in + 1)->x", 0x33323130 - 0x08080808},
	{"p->tail[1].x", 0x5b5a5958},
	{"(char *)&p->comm - (char *)p", 24},
	{"((struct thing___old *)p)->pid", 0x0b0a0908},
	{"p->low", 0x40 & 7},
	{"p->mid", 0x4140 >> 3 & 0x7f},

	// A load takes as many bytes as the kernel's member has.
	{"((struct thing___narrow *)p)->wide", 0x13121110},

	// A struct without the attribute is what the program says, unless it asks.
	{"((struct plain *)p)->pid", 0x03020100},
	{"*access(&((struct thing___flat *)p)->pid)", 0x0b0a0908},
	{"((struct thing___flat *)p)->pid", 0x03020100},

	// What a member is.
	{"field(p->pid, OFFSET)", 8},
	{"field(p->pid, SIZE)", 4},
	{"field(p->pid, SIGNED)", 1},
	{"field(p->wide, SIGNED)", 0},
	{"field(p->wide, SIZE)", 8},
	{"field(p->in[2].y, OFFSET)", 52},
	{"field(p->in, SIZE)", 32},
	{"field(p->gone, EXISTS)", 0},
	{"field(p->pid, EXISTS)", 1},
	{"field(((struct thing___old *)p)->nosuch, EXISTS)", 0},
	{"field(((struct lost *)p)->a, EXISTS)", 0},
	{"field(p->mid, OFFSET)", 64},
	{"field(p->mid, SIZE)", 4},
	{"field(p->mid, LSHIFT)", 64 - 10},
	{"field(p->mid, RSHIFT)", 64 - 7},
	{"field(p->in[3].x, EXISTS) + field(p->in[4].x, EXISTS)", 1},

	// What a type is.
	{"type(struct thing, EXISTS - 2)", 1},
	{"type(struct lost, EXISTS - 2)", 0},
	{"type(struct thing___old, 0)", 1},
	{"type(thing_t, 0)", 1},
	{"type(enum level, 0)", 1},
	{"type(union thing___u, 0)", 0},
	{"type(struct thing, SIZE)", 80},
	{"type(struct lost, SIZE)", 0},
	{"type(struct inner, 2)", 1},
	{"type(struct thing, 2)", 0},
	{"type(enum level___new, 2)", 1},
	{"type(enum level, 2)", 0},
	{"__builtin_btf_type_id(*(struct lost *)0, 1)", 0},
	{"__builtin_btf_type_id(*(struct thing *)0, 1) > 0", 1},

	// What a value of an enumeration is.
	{"value(enum level, LOW, 1)", 3},
	{"value(enum level___new, HIGH___new, 1)", 9},
	{"value(enum level, NONE, 0)", 0},
	{"value(enum level, HIGH, 0)", 1},

	// What the kernel does not have is in code that it does not reach.
	{"field(p->gone, EXISTS) ? p->gone : 5", 5},
}

func coreInput(t *testing.T, src string) Input {
	return Input{
		FS:     fstest.MapFS{"t.c": {Data: []byte(coreDecls + src)}},
		File:   "t.c",
		Kernel: kernelSpec(t),
	}
}

func TestCORE(t *testing.T) {
	var src strings.Builder
	for i, r := range coreRows {
		fmt.Fprintf(&src, "long f%d(struct thing *p, int n) { return %s; }\n", i, r.c)
	}
	m, err := Translate(context.Background(), coreInput(t, src.String()))
	if err != nil {
		t.Fatal(err)
	}
	memory := make([]byte, 96)
	for i := range memory {
		memory[i] = byte(i)
	}
	for i, r := range coreRows {
		f := funcOf(t, m, fmt.Sprintf("f%d", i))
		if err := f.Check(); err != nil {
			t.Errorf("%s: %v", r.c, err)
			continue
		}
		machine := interp.New(m)
		got, err := machine.Call(f, machine.Object(memory), 2)
		if err != nil {
			t.Errorf("%s: %v", r.c, err)
		} else if int64(got) != r.want {
			t.Errorf("%s\n got %d (%#x)\nwant %d (%#x)", r.c, int64(got), got, r.want, r.want)
		}
	}
}

// What the kernel lacks becomes a call that the verifier refuses, under a name
// for whoever reads its log.
func TestPoison(t *testing.T) {
	for _, r := range []struct{ c, name string }{
		{"p->gone", "struct thing.gone"},
		{"p->in[5].x", "struct thing.in[5].x"},
		{"(long)&p->gone", "struct thing.gone"},
		{"((struct lost *)p)->a", "struct lost.a"},
		{"field(p->gone, OFFSET)", "struct thing.gone"},
		{"value(enum level, NONE, 1)", "NONE"},
		{"((struct thing___short *)p)->wide", "struct thing___short.wide, which has 8 bytes and not 4,"},
	} {
		m, err := Translate(context.Background(), coreInput(t, "long f(struct thing *p) { return "+r.c+"; }"))
		if err != nil {
			t.Errorf("%s: %v", r.c, err)
			continue
		}
		if !slices.Contains(m.Poisoned, r.name) {
			t.Errorf("%s: poisoned %q, want %q", r.c, m.Poisoned, r.name)
		}
		calls := 0
		for _, b := range funcOf(t, m, "f").Blocks {
			for _, v := range b.Values {
				if v.Op == ir.OpHelper && v.Imm >= ir.Poison && v.Imm < ir.Poison+int64(len(m.Poisoned)) {
					calls++
				}
			}
		}
		if calls != 1 {
			t.Errorf("%s: %d calls of what there is not, want 1\n%s", r.c, calls, m)
		}
	}
}

// Without the kernel's types nothing is guessed.
func TestCOREWithoutKernel(t *testing.T) {
	in := coreInput(t, "long f(struct thing *p) { return p->pid; }")
	in.Kernel = nil
	_, err := Translate(context.Background(), in)
	if err == nil || !strings.Contains(err.Error(), "struct thing: its layout in the kernel is not known") {
		t.Errorf("got %v", err)
	}
}
