package front

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"
)

// What cc gets wrong without a word, each with what shows that it is worked round.
// A global whose value says it all stands for what code would do: folded to its
// bytes by the same path.
func TestFaults(t *testing.T) {
	for _, tt := range []struct {
		fault string
		src   string
		want  string // name = value, of each global
	}{
		{
			"the first argument after a comma is pasted and lost with a named variadic parameter",
			`#define CALL(name, args...) int name(int first, ##args) { return 0; }
			struct s { int a; };
			CALL(f, struct s *x)
			#define LIST(a, rest...) a , ##rest
			int sum[] = { LIST(1, 2), LIST(3) };`,
			"sum = 01000000 02000000 03000000",
		},
		{
			"and with a blank missing before the paste",
			`#define LIST(a, ...) { a,##__VA_ARGS__ }
			int one[] = LIST(1), two[] = LIST(1, 2);`,
			"one = 01000000, two = 01000000 02000000",
		},
		{
			"a member is looked for in the members of members that have names",
			`struct s { struct { int x; long y; } named; struct { int x; union { char y; short z; }; }; };
			int offset = __builtin_offsetof(struct s, y), size = sizeof(((struct s *)0)->y), by_name = sizeof((*(struct s *)0).x);
			struct s s = { .y = 5 };`,
			"offset = 14000000, size = 01000000, by_name = 04000000, s = 00000000 00000000 00000000 00000000 00000000 05000000",
		},
		{
			"attributes of an array that its initializer completes are lost",
			`char text[] __attribute__((section("license"), aligned(8))) = "GPL";`,
			"text = 47504c00 in license align 8",
		},
		{
			"const of a member's declaration gets into the typedef that others share",
			`typedef unsigned int __attribute__((aligned(4))) u32a;
			struct s { const u32a c; };
			u32a x = 1;`,
			"x = 01000000 in .data",
		},
		{
			"volatile of what is pointed to is forgotten in members",
			`typedef unsigned int u32;
			struct s { volatile u32 *p; } s = { 0 };`,
			"s = 00000000 00000000 type *volatile u32",
		},
		{
			"typeof of a type is none in a declaration",
			`typeof(unsigned char) x = 1; __typeof__(struct { int a; }) y = { 2 };`,
			"x = 01, y = 02000000",
		},
		{
			"and none that begins with a qualifier, or of a function",
			`#define __array(name, val) typeof(val) *name[]
			typeof(const char) x = 1;
			struct { __array(values, int (void *)); } y __attribute__((section(".maps")));`,
			"x = 01, y = ",
		},
		{
			"the size that an attribute gives to an enumeration is forgotten",
			`enum byte { A } __attribute__((mode(byte))); enum __attribute__((packed)) tight { B = 256 };
			struct { enum byte a; enum tight b; } x = { 1, 2 };`,
			"x = 01000200",
		},
		{
			"a struct with attributes points to what it is before it has members",
			`struct task { int a; struct task *up; } __attribute__((packed));
			int size = sizeof(((struct task *)0)->up->up->a), all = sizeof(*((struct task *)0)->up);
			struct task t = { 1 };`,
			"size = 04000000, all = 0c000000, t = 01000000 00000000 00000000",
		},
		{
			"a static assertion takes the value of what has none that it knows",
			`_Static_assert(__builtin_popcount(7) == 3, "counts"); _Static_assert(sizeof(int) == 4);
			int x = 1;`,
			"x = 01000000",
		},
		{
			"#ifdef knows no __has_builtin, and __has_attribute is none at all",
			`#if defined(__has_builtin) && __has_builtin(__builtin_preserve_access_index) && !__has_builtin(__builtin_none)
			int builtin = 1;
			#endif
			#if defined(__has_attribute) && __has_attribute(preserve_access_index) && !__has_attribute(none)
			int attribute = 2;
			#endif`,
			"builtin = 01000000, attribute = 02000000",
		},
	} {
		t.Run(tt.fault, func(t *testing.T) {
			m, err := translate(t, tt.src)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i, part := range strings.Split(tt.want, ", ") {
				if i >= len(m.Globals) {
					break
				}
				g := m.Globals[i]
				data := g.Data
				if data == nil {
					data = make([]byte, g.Size)
				}
				var words []string
				for len(data) > 0 {
					n := min(4, len(data))
					words, data = append(words, fmt.Sprintf("%x", data[:n])), data[n:]
				}
				s := g.Name + " = " + strings.Join(words, " ")
				if strings.Contains(part, " in ") {
					s += " in " + g.Section
				}
				if strings.Contains(part, " align ") {
					s += fmt.Sprint(" align ", g.Align)
				}
				if strings.Contains(part, " type ") {
					s += " type *" + qualifiers(g.BTF.Type.(*btf.Struct).Members[0].Type.(*btf.Pointer).Target)
				}
				got = append(got, s)
			}
			if s := strings.Join(got, ", "); s != tt.want {
				t.Errorf("got  %s\nwant %s", s, tt.want)
			}
		})
	}
}

func qualifiers(t btf.Type) string {
	switch t := t.(type) {
	case *btf.Volatile:
		return "volatile " + qualifiers(t.Type)
	case *btf.Const:
		return "const " + qualifiers(t.Type)
	}
	return t.TypeName()
}

// What is behind #pragma clang attribute push, and not what is outside of it.
func TestPreserveAccess(t *testing.T) {
	const src = `
struct before { int a; };
#pragma clang attribute push (__attribute__((preserve_access_index)), apply_to = record)
struct within { int a; struct { int nested; }; };
#pragma clang attribute pop
struct after { int a; };
struct by_attribute { int a; } __attribute__((preserve_access_index));
typedef struct within within_t;
int f(void *ctx) { return 0; }
struct before b; struct within w; struct after a; struct by_attribute y; within_t t; const volatile struct within q;
`
	u := newTestUnit(t, src)
	for name, want := range map[string]bool{"b": false, "w": true, "a": false, "y": true, "t": true, "q": true} {
		if got := u.preserveAccess(u.objects[name].declarator().Type()); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// newTestUnit returns the unit of a program as it is when bodies are translated.
func newTestUnit(t *testing.T, src string) *unit {
	t.Helper()
	in := &Input{FS: mapFS(src), File: "prog.bpf.c"}
	u := newUnit(t.Context(), in, newSources(t.Context(), in))
	ast, err := u.parse()
	if err != nil {
		t.Fatal(err)
	}
	u.ast = ast
	if err := u.translate(); err != nil {
		t.Fatal(err)
	}
	if err := u.diags.Err(); err != nil {
		t.Fatal(err)
	}
	return u
}
