package vmlinux

import (
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"
)

// build returns BTF of the types.
func build(t testing.TB, types ...btf.Type) []byte {
	t.Helper()
	b, err := btf.NewBuilder(types, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := b.Marshal(nil, &btf.MarshalOptions{Order: btf.KernelMarshalOptions().Order})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// set makes the identifiers of a text into what Generate takes.
func set(text string) map[string]bool {
	m := make(map[string]bool)
	for _, n := range strings.Fields(text) {
		m[n] = true
	}
	return m
}

var (
	u8     = &btf.Int{Name: "unsigned char", Size: 1}
	u16    = &btf.Int{Name: "short unsigned int", Size: 2}
	i32    = &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed}
	u32    = &btf.Int{Name: "unsigned int", Size: 4}
	u64    = &btf.Int{Name: "long unsigned int", Size: 8}
	tyBool = &btf.Int{Name: "_Bool", Size: 1, Encoding: btf.Bool}
)

// list is struct node, which points to itself, and holds struct pair by value.
func list() btf.Type {
	pair := &btf.Struct{Name: "pair", Size: 8, Members: []btf.Member{{Name: "a", Type: i32}, {Name: "b", Type: i32, Offset: 32}}}
	node := &btf.Struct{Name: "node", Size: 32}
	far := &btf.Struct{Name: "far", Size: 4, Members: []btf.Member{{Name: "x", Type: i32}}}
	node.Members = []btf.Member{
		{Name: "next", Type: &btf.Pointer{Target: node}},
		{Name: "at", Type: pair, Offset: 64},
		{Name: "away", Type: &btf.Pointer{Target: &btf.Const{Type: far}}, Offset: 128},
		{Name: "fn", Type: &btf.Pointer{Target: &btf.FuncProto{Return: &btf.Pointer{Target: (*btf.Void)(nil)}, Params: []btf.FuncParam{
			{Type: &btf.Pointer{Target: node}}, {Type: i32}, {Type: (*btf.Void)(nil)}}}}, Offset: 192},
	}
	return node
}

func TestGenerate(t *testing.T) {
	for _, row := range []struct {
		name  string
		types []btf.Type
		names string
		want  string // what stands between the pragmas
	}{
		{"nothing is named", []btf.Type{list()}, "main x", ``},
		{"members that are not named have their size", []btf.Type{list()}, "node", `
struct node {
	void *next;
	unsigned int at[2];
	void *away;
	void *fn;
};
`},
		{"a named member brings what it holds", []btf.Type{list()}, "node at b", `
struct pair {
	int a;
	int b;
};

struct node {
	void *next;
	struct pair at;
	void *away;
	void *fn;
};
`},
		{"a named pointer brings what it points to, a function its parameters' tags", []btf.Type{list()}, "node next away fn", `
struct node;

struct far;

struct node {
	struct node *next;
	unsigned int at[2];
	const struct far *away;
	void *(*fn)(struct node *, int, ...);
};

struct far {
	int x;
};
`},
		{"an enumeration by its name", []btf.Type{&btf.Enum{Name: "color", Size: 4, Values: []btf.EnumValue{{Name: "RED"}, {Name: "TOP", Value: 0xffffffff}}}}, "color", `
enum color {
	RED = 0,
	TOP = 4294967295,
};
`},
		{"an enumeration without a name by an enumerator", []btf.Type{&btf.Enum{Size: 4, Signed: true, Values: []btf.EnumValue{{Name: "A", Value: 1}, {Name: "B", Value: ^uint64(0)}}}}, "B", `
enum {
	A = 1,
	B = -1,
};
`},
		{"enumerations of other sizes", []btf.Type{
			&btf.Enum{Name: "small", Size: 1, Values: []btf.EnumValue{{Name: "S", Value: 3}}},
			&btf.Enum{Name: "wide", Size: 8, Values: []btf.EnumValue{{Name: "W", Value: 1 << 40}}},
			&btf.Enum{Name: "least", Size: 8, Signed: true, Values: []btf.EnumValue{{Name: "L", Value: 1 << 63}}},
			&btf.Enum{Name: "loose", Size: 8, Values: []btf.EnumValue{{Name: "O", Value: 1}}},
		}, "small W L loose", `
enum small {
	S = 3,
} __attribute__((mode(byte)));

enum wide {
	W = 1099511627776ULL,
};

enum least {
	L = (-9223372036854775807LL - 1),
};

enum loose {
	O = 1ULL,
} __attribute__((mode(word)));
`},
		{"an enumerator can be written once", []btf.Type{
			&btf.Enum{Name: "e1", Size: 4, Values: []btf.EnumValue{{Name: "SAME", Value: 1}}},
			&btf.Enum{Name: "e2", Size: 4, Values: []btf.EnumValue{{Name: "SAME", Value: 2}}},
		}, "SAME", `
enum e1 {
	SAME = 1,
};

enum e2 {
	SAME___2 = 2,
};
`},
		{"typedefs: of an integer, a tag, a structure without one, a pointer to a function", []btf.Type{
			&btf.Typedef{Name: "u32_t", Type: u32},
			&btf.Typedef{Name: "anon_t", Type: &btf.Struct{Size: 4, Members: []btf.Member{{Name: "v", Type: u32}}}},
			&btf.Typedef{Name: "fn_t", Type: &btf.Pointer{Target: &btf.FuncProto{Return: (*btf.Void)(nil)}}},
			&btf.Typedef{Name: "vec_t", Type: &btf.Array{Nelems: 4, Index: u32, Type: &btf.Const{Type: u8}}},
		}, "u32_t anon_t fn_t vec_t", `
typedef unsigned int u32_t;

typedef struct {
	unsigned int v;
} anon_t;

typedef void (*fn_t)(void);

typedef const unsigned char vec_t[4];
`},
		{"types of one name are told apart", []btf.Type{
			&btf.Struct{Name: "twin", Size: 4, Members: []btf.Member{{Name: "a", Type: i32}}},
			&btf.Struct{Name: "twin", Size: 8, Members: []btf.Member{{Name: "a", Type: u64}}},
		}, "twin", `
struct twin {
	int a;
};

struct twin___2 {
	long unsigned int a;
};
`},
		{"bit-fields, and the gaps between", []btf.Type{&btf.Struct{Name: "bits", Size: 16, Members: []btf.Member{
			{Name: "a", Type: u32, BitfieldSize: 3},
			{Name: "b", Type: u32, Offset: 3, BitfieldSize: 5},
			{Name: "c", Type: u32, Offset: 12, BitfieldSize: 20},
			{Name: "d", Type: u32, Offset: 64, BitfieldSize: 1},
			{Name: "e", Type: u16, Offset: 96},
		}}}, "bits", `
struct bits {
	unsigned int a : 3;
	unsigned int b : 5;
	signed char : 4;
	unsigned int c : 20;
	int : 32;
	unsigned int d : 1;
	signed char : 7;
	signed char : 8;
	short : 16;
	short unsigned int e;
};
`},
		{"a member that lies oddly makes the structure packed", []btf.Type{&btf.Struct{Name: "odd", Size: 5, Members: []btf.Member{
			{Name: "a", Type: u8}, {Name: "b", Type: u32, Offset: 8}}}}, "odd", `
struct odd {
	unsigned char a;
	unsigned int b;
} __attribute__((packed));
`},
		{"room that was for alignment", []btf.Type{&btf.Struct{Name: "room", Size: 64, Members: []btf.Member{
			{Name: "a", Type: u64}, {Name: "b", Type: tyBool, Offset: 256}}}}, "room", `
struct room {
	long unsigned int a;
	long : 64;
	long : 64;
	long : 64;
	_Bool b;
	signed char : 8;
	short : 16;
	int : 32;
	long : 64;
	long : 64;
	long : 64;
};
`},
		{"unions and structures without names, arrays of pointers and pointers to arrays", []btf.Type{&btf.Struct{Name: "mix", Size: 32, Members: []btf.Member{
			{Type: &btf.Union{Size: 8, Members: []btf.Member{{Name: "n", Type: u64}, {Type: &btf.Struct{Size: 8, Members: []btf.Member{
				{Name: "lo", Type: u32}, {Name: "hi", Type: u32, Offset: 32}}}}}}},
			{Name: "ps", Type: &btf.Array{Nelems: 2, Index: u32, Type: &btf.Pointer{Target: u8}}, Offset: 64},
			{Name: "pa", Type: &btf.Pointer{Target: &btf.Array{Nelems: 3, Index: u32, Type: u8}}, Offset: 192},
			{Name: "flex", Type: &btf.Array{Nelems: 0, Index: u32, Type: &btf.Volatile{Type: u8}}, Offset: 256},
		}}}, "mix ps pa flex n", `
struct mix {
	union {
		long unsigned int n;
		struct {
			unsigned int lo;
			unsigned int hi;
		};
	};
	unsigned char *ps[2];
	unsigned char (*pa)[3];
	volatile unsigned char flex[0];
};
`},
		{"constant pointers, pointers to constants", []btf.Type{&btf.Struct{Name: "cp", Size: 16, Members: []btf.Member{
			{Name: "p", Type: &btf.Const{Type: &btf.Pointer{Target: &btf.Const{Type: u8}}}},
			{Name: "q", Type: &btf.Pointer{Target: &btf.TypeTag{Value: "user", Type: &btf.Volatile{Type: u8}}}, Offset: 64},
		}}}, "cp p q", `
struct cp {
	const unsigned char *const p;
	volatile unsigned char *q;
};
`},
		{"an enumeration within a structure is written once", []btf.Type{func() btf.Type {
			e := &btf.Enum{Size: 4, Values: []btf.EnumValue{{Name: "ON", Value: 1}}}
			return &btf.Struct{Name: "sw", Size: 8, Members: []btf.Member{{Name: "x", Type: e}, {Name: "y", Type: e, Offset: 32}}}
		}()}, "sw x y", `
struct sw {
	enum {
		ON = 1,
	} x;
	unsigned int y;
};
`},
		{"functions for programs, which are marked, and others", []btf.Type{
			&btf.Func{Name: "give", Type: &btf.FuncProto{Return: &btf.Pointer{Target: &btf.Struct{Name: "thing", Size: 4}}, Params: []btf.FuncParam{{Name: "n", Type: i32}}},
				Tags: []string{"bpf_kfunc"}},
			&btf.Func{Name: "other", Type: &btf.FuncProto{Return: i32}},
		}, "give other", `
struct thing;

extern struct thing *give(int) __attribute__((weak)) __attribute__((section(".ksyms")));
`},
		{"integers that C has no name for", []btf.Type{&btf.Struct{Name: "wide", Size: 16, Members: []btf.Member{
			{Name: "x", Type: &btf.Int{Name: "__int128 unsigned", Size: 16}}}}}, "wide", `
struct wide {
	unsigned __int128 x;
};
`},
		{"a hole that is aligned as 128 bits", []btf.Type{&btf.Struct{Name: "wide", Size: 48, Members: []btf.Member{
			{Name: "x", Type: &btf.Int{Name: "__int128 unsigned", Size: 16}},
			{Name: "y", Type: &btf.Int{Name: "__int128 unsigned", Size: 16}, Offset: 256}}}}, "wide", `
struct wide {
	unsigned __int128 x;
	long : 64;
	long : 64;
	unsigned __int128 y;
};
`},
		{"names of other languages", []btf.Type{&btf.Struct{Name: "s", Size: 4, Members: []btf.Member{{Name: "0<T>", Type: i32}}}}, "s", `
struct s {
	int __T_;
};
`},
	} {
		t.Run(row.name, func(t *testing.T) {
			text, err := Generate(build(t, row.types...), set(row.names))
			if err != nil {
				t.Fatal(err)
			}
			_, got, _ := strings.Cut(text, "apply_to = record)\n#endif\n\n")
			got, _, ok := strings.Cut(got, "#ifndef BPF_NO_PRESERVE_ACCESS_INDEX\n#pragma clang attribute pop")
			if !ok {
				t.Fatalf("no pragmas:\n%s", text)
			}
			if got = strings.TrimSpace(got); got != strings.TrimSpace(row.want) {
				t.Errorf("got\n%s\nwant\n%s", got, row.want)
			}
		})
	}
}

// Equal input gives equal text, whatever the order of a map.
func TestGenerateIsDeterministic(t *testing.T) {
	raw := build(t, list(), &btf.Enum{Name: "e", Size: 4, Values: []btf.EnumValue{{Name: "X"}}}, &btf.Typedef{Name: "t", Type: u8})
	names := set("node next at away fn e t x b")
	first, err := Generate(raw, names)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if again, _ := Generate(raw, names); again != first {
			t.Fatalf("got\n%s\nand\n%s", first, again)
		}
	}
}

func TestGenerateErrors(t *testing.T) {
	good := build(t, list())
	edit := func(at int, to byte) []byte {
		raw := append([]byte(nil), good...)
		raw[at] = to
		return raw
	}
	for _, row := range []struct {
		name string
		raw  []byte
		want string
	}{
		{"empty", nil, "read BTF: shorter than its header"},
		{"ELF", append([]byte("\x7fELF"), make([]byte, 60)...), "read BTF: magic 0x457f, not that of little-endian BTF"},
		{"version", edit(2, 9), "read BTF: version 9"},
		{"cut off", good[:len(good)-1], "read BTF: a section is out of the file"},
		{"strings", edit(len(good)-1, 'x'), "read BTF: the strings are not terminated"},
		{"kind", edit(24+7, 30), "read BTF: type 1 is of kind 30, which is not known"},
	} {
		if _, err := Generate(row.raw, nil); err == nil || err.Error() != row.want {
			t.Errorf("%s: %v, want %s", row.name, err, row.want)
		}
	}
}

// A structure that holds itself, and unnamed ones that hold one another twice, end
// with an error.
func TestGenerateEndless(t *testing.T) {
	var inner btf.Type = u32
	for range 40 {
		inner = &btf.Struct{Size: 8, Members: []btf.Member{{Type: inner}, {Type: inner, Offset: 32}}}
	}
	if _, err := Generate(build(t, &btf.Typedef{Name: "bomb", Type: inner}), set("bomb")); err == nil {
		t.Error("no error for 2^40 members")
	}
}

func FuzzGenerate(f *testing.F) {
	f.Add(build(f, list(), &btf.Enum{Name: "e", Size: 1, Values: []btf.EnumValue{{Name: "X"}}}), "node next at e")
	f.Add(build(f, &btf.Typedef{Name: "t", Type: &btf.Union{Size: 4, Members: []btf.Member{{Name: "x", Type: u32, BitfieldSize: 3}}}}), "t x")
	f.Fuzz(func(t *testing.T, raw []byte, names string) {
		text, err := Generate(raw, set(names))
		if err == nil && !strings.HasSuffix(text, "#endif /* __VMLINUX_H__ */\n") {
			t.Errorf("no end: %q", text)
		}
	})
}
