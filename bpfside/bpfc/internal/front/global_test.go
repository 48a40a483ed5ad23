package front

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/cilium/ebpf/btf"
	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
	"github.com/nopfire/nopfire/internal/testutils"
)

// translate returns the module of a program that is one file.
func translate(t testing.TB, src string) (*ir.Module, error) {
	t.Helper()
	return Translate(t.Context(), Input{
		FS:   fstest.MapFS{"prog.bpf.c": {Data: []byte(src)}},
		File: "prog.bpf.c",
		Arch: "amd64",
	})
}

// Where variables live, and what is in them, is what clang makes of the same
// text: each symbol of its object file against the global of that name.
func TestGlobalsLikeClang(t *testing.T) {
	clang := testutils.Oracle(t, "clang-14")
	files, err := filepath.Glob("testdata/globals/*.c")
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata/globals: %v, %d files", err, len(files))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			m, err := translate(t, string(src))
			if err != nil {
				t.Fatal(err)
			}
			object := filepath.Join(t.TempDir(), "prog.o")
			if out, err := exec.Command(clang, "-O2", "-g", "-target", "bpf", "-Wno-everything", "-c", "-o", object, file).CombinedOutput(); err != nil {
				t.Fatalf("clang: %v\n%s", err, out)
			}
			compareGlobals(t, m, object)
			compareTypes(t, m, object)
		})
	}
}

// aGlobal is what there is to compare of a variable.
type aGlobal struct {
	Section, Binding, Visibility string
	Data                         []byte
}

func compareGlobals(t *testing.T, m *ir.Module, object string) {
	t.Helper()
	f, err := elf.Open(object)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]aGlobal{}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) != elf.STT_OBJECT || strings.HasPrefix(s.Name, ".L") {
			continue
		}
		sec := f.Sections[s.Section]
		data := make([]byte, s.Size)
		if sec.Type != elf.SHT_NOBITS {
			if _, err := sec.ReadAt(data, int64(s.Value)); err != nil {
				t.Fatal(err)
			}
		}
		want[s.Name] = aGlobal{sec.Name, elf.ST_BIND(s.Info).String(), elf.ST_VISIBILITY(s.Other).String(), data}
	}
	got := map[string]aGlobal{}
	for _, g := range m.Globals {
		if g.BTF == nil || g.Extern {
			continue
		}
		x := aGlobal{Section: g.Section, Binding: "STB_GLOBAL", Visibility: "STV_DEFAULT", Data: g.Data}
		switch g.Linkage {
		case ir.Static:
			x.Binding = "STB_LOCAL"
		case ir.Weak:
			x.Binding = "STB_WEAK"
		}
		if g.Hidden {
			x.Visibility = "STV_HIDDEN"
		}
		if x.Data == nil {
			x.Data = make([]byte, g.Size)
		}
		if len(x.Data) != g.Size {
			t.Errorf("%s: %d bytes of data, size %d", g.Name, len(x.Data), g.Size)
		}
		got[g.Name] = x
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("globals (-clang +bpfc):\n%s", diff)
	}
	if len(want) < 3 {
		t.Errorf("clang's object has %d variables: nothing is compared", len(want))
	}
}

// compareTypes compares the BTF of the variables. Qualifiers are left out: cc
// forgets const of what a member points to.
func compareTypes(t *testing.T, m *ir.Module, object string) {
	t.Helper()
	f, err := os.Open(object)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	spec, err := btf.LoadSpecFromReader(f)
	if err != nil {
		t.Fatal(err)
	}
	want, got := map[string]string{}, map[string]string{}
	for typ, err := range spec.All() {
		if err != nil {
			t.Fatal(err)
		}
		if v, ok := typ.(*btf.Var); ok && !strings.HasPrefix(v.Name, ".L") {
			want[v.Name] = fmt.Sprint(v.Linkage, v.Tags, " ", describe(v.Type, 0))
		}
	}
	for _, g := range m.Globals {
		if g.BTF != nil {
			got[g.Name] = fmt.Sprint(g.BTF.Linkage, g.BTF.Tags, " ", describe(g.BTF.Type, 0))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("types (-clang +bpfc):\n%s", diff)
	}
}

// describe writes a type out, a struct with a name only at the top and as the
// value of a map.
func describe(t btf.Type, depth int) string {
	if depth > 8 {
		return "…"
	}
	members := func(kind, name string, size uint32, list []btf.Member) string {
		if name != "" && depth > 2 {
			return kind + " " + name
		}
		var b bytes.Buffer
		fmt.Fprintf(&b, "%s %s %d{", kind, name, size)
		for _, m := range list {
			fmt.Fprintf(&b, " %s@%d:%d%v %s;", m.Name, m.Offset, m.BitfieldSize, m.Tags, describe(m.Type, depth+1))
		}
		return b.String() + "}"
	}
	switch t := t.(type) {
	case *btf.Const:
		return describe(t.Type, depth)
	case *btf.Volatile:
		return describe(t.Type, depth)
	case *btf.Typedef:
		return t.Name + "=" + describe(t.Type, depth+1)
	case *btf.Pointer:
		return "*" + describe(t.Target, depth+1)
	case *btf.Array:
		return fmt.Sprintf("[%d]%s", t.Nelems, describe(t.Type, depth+1))
	case *btf.Struct:
		return members("struct", t.Name, t.Size, t.Members)
	case *btf.Union:
		return members("union", t.Name, t.Size, t.Members)
	case *btf.Fwd:
		return "forward " + t.Kind.String() + " " + t.Name
	case *btf.Enum:
		// clang 14 knows neither that one is signed nor values of 64 bits.
		s := fmt.Sprintf("enum %s %d", t.Name, t.Size)
		for _, v := range t.Values {
			s += fmt.Sprintf(" %s=%#x", v.Name, uint32(v.Value))
		}
		return s
	case *btf.FuncProto:
		var params []string
		for _, p := range t.Params {
			params = append(params, describe(p.Type, depth+1))
		}
		return fmt.Sprintf("%s(%s)", describe(t.Return, depth+1), strings.Join(params, ", "))
	case *btf.Int:
		return fmt.Sprintf("%s(%d,%v)", t.Name, t.Size, t.Encoding)
	case *btf.TypeTag:
		return fmt.Sprintf("tag(%s)%s", t.Value, describe(t.Type, depth))
	}
	return fmt.Sprintf("%v", t)
}

// What decides about a variable beside its bytes.
func TestGlobalFacts(t *testing.T) {
	m, err := translate(t, `
typedef unsigned long u64;
typedef u64 __attribute__((aligned(8))) aligned_u64;
struct shares { const aligned_u64 c; };
const int constant = 1;
const volatile int set_by_loader = 1;
aligned_u64 counter;
extern int CONFIG_HZ __attribute__((section(".kconfig"), weak));
static int kept __attribute__((used)) = 2;
static int dropped = 3;
static int named = 4;
__attribute__((section("xdp"), used)) int prog(void *ctx) { static int calls; return calls++ + named + CONFIG_HZ; }
`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range m.Globals {
		got = append(got, fmt.Sprintf("%s %s constant=%v extern=%v used=%v align=%d", g.Name, g.Section, g.Constant, g.Extern, g.Used, g.Align))
	}
	want := []string{
		"constant .rodata constant=true extern=false used=false align=4",
		"set_by_loader .rodata constant=false extern=false used=false align=4",
		"counter .bss constant=false extern=false used=false align=8", // "const" of a member of that type is not its own
		"CONFIG_HZ .kconfig constant=false extern=true used=false align=4",
		"kept .data constant=false extern=false used=true align=4",
		"named .data constant=false extern=false used=false align=4",
		"prog.calls .bss constant=false extern=false used=false align=4",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("globals (-want +got):\n%s", diff)
	}
}

// A map's values may be maps or functions: the only addresses that loaders fill in.
func TestMapRelocations(t *testing.T) {
	m, err := translate(t, `
#define __uint(name, val) int (*name)[val]
#define __type(name, val) typeof(val) *name
#define __array(name, val) typeof(val) *name[]
struct inner { __uint(type, 2); __type(key, int); __type(value, long); } one __attribute__((section(".maps"))), two __attribute__((section(".maps")));
struct { __uint(type, 12); __array(values, struct inner); } outer __attribute__((section(".maps"))) = { .values = { [1] = &one, &two } };
int prog(void *ctx);
struct { __uint(type, 3); __array(values, int (void *)); } jumps __attribute__((section(".maps"))) = { .values = { [2] = (void *)&prog, prog } };
__attribute__((section("xdp"), used)) int prog(void *ctx) { return 0; }
`)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, g := range m.Globals {
		for _, r := range g.Relocs {
			got[g.Name] = append(got[g.Name], fmt.Sprintf("%d %s", r.Offset, r.Sym.SymbolName()))
		}
	}
	want := map[string][]string{
		"outer": {"16 one", "24 two"},
		"jumps": {"24 prog", "32 prog"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("relocations (-want +got):\n%s", diff)
	}
	i := slices.IndexFunc(m.Globals, func(g *ir.Global) bool { return g.Name == "jumps" })
	if got, want := describe(m.Globals[i].BTF.Type, 0), "struct  8{ type@0:0[] *[3]int(4,signed); values@64:0[] [0]*int(4,signed)(*void);}"; !strings.EqualFold(got, want) {
		t.Errorf("type of jumps: %s, want %s", got, want)
	}
}
