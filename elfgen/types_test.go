package elfgen

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// loadTypes reads the .BTF section of an object with an independent reader.
func loadTypes(t *testing.T, o *Object) *btf.Spec {
	t.Helper()
	if math.MaxInt == math.MaxInt32 {
		t.Skip("cilium/ebpf cannot read a tag of a function on 32-bit hosts: it takes component index -1 for a large number")
	}
	spec, err := btf.LoadSpecFromReader(bytes.NewReader(o.Image))
	if err != nil {
		t.Fatalf("%s: %v", o.Machine, err)
	}
	return spec
}

// spell writes a type like C does, roughly.
func spell(t btf.Type) string {
	switch t := t.(type) {
	case *btf.Void:
		return "void"
	case *btf.Int:
		return t.Name
	case *btf.Float:
		return t.Name
	case *btf.Const:
		return "const " + spell(t.Type)
	case *btf.Pointer:
		return spell(t.Target) + "*"
	case *btf.Array:
		return fmt.Sprintf("%s[%d]", spell(t.Type), t.Nelems)
	case *btf.Struct:
		return "struct " + t.Name
	}
	return fmt.Sprintf("%T", t)
}

// spellProbe writes the function of a probe with its tags.
func spellProbe(t *testing.T, spec *btf.Spec, name string) string {
	t.Helper()
	var f *btf.Func
	if err := spec.TypeByName(name, &f); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s(", strings.Join(f.Tags, ","), f.Name)
	for i, p := range f.Type.(*btf.FuncProto).Params {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %s", spell(p.Type), p.Name)
		if i < len(f.ParamTags) {
			for _, tag := range f.ParamTags[i] {
				fmt.Fprintf(&b, " %s", tag)
			}
		}
	}
	return b.String() + ")"
}

// How each kind of argument is described, on every machine.
func TestProbeTypes(t *testing.T) {
	for _, m := range allMachines {
		spec := loadTypes(t, mustBuild(t, fullSpec(), m, FormNop1))
		for _, row := range []struct{ symbol, want string }{
			{"web_x2d_shop__none", "nopfire:probe=web-shop:none web_x2d_shop__none()"},
			{"web_x2d_shop__one", "nopfire:probe=web-shop:one web_x2d_shop__one(int32_t count)"},
			{"web_x2d_shop__signed", "nopfire:probe=web-shop:signed web_x2d_shop__signed(int8_t arg1, int16_t arg2, int32_t arg3, int64_t arg4)"},
			{"web_x2d_shop__unsigned", "nopfire:probe=web-shop:unsigned web_x2d_shop__unsigned(uint8_t arg1, uint16_t arg2, uint32_t arg3, uint64_t arg4)"},
			{"web_x2d_shop__texts", "nopfire:probe=web-shop:texts web_x2d_shop__texts(const char* path, const uint8_t* body nopfire:len=2, uint64_t body_len, const char* err nopfire:go=error)"},
			{"web_x2d_shop__rest", "nopfire:probe=web-shop:rest web_x2d_shop__rest(bool arg1, float arg2, double arg3, void* arg4)"},
			{"web_x2d_shop__struct", "nopfire:probe=web-shop:struct web_x2d_shop__struct(struct Request* req, int64_t took nopfire:go=time.Duration)"},
			{"web_x2d_shop__a_x2f_b_x2b_c_x40_2", "nopfire:probe=web-shop:a/b+c@2 web_x2d_shop__a_x2f_b_x2b_c_x40_2()"},
		} {
			if got := spellProbe(t, spec, row.symbol); got != row.want {
				t.Errorf("%s:\n got %s\nwant %s", m, got, row.want)
			}
		}
	}
}

func TestStructTypes(t *testing.T) {
	spec := loadTypes(t, mustBuild(t, fullSpec(), stapsdt.X86_64, FormNop5))
	var got strings.Builder
	for _, name := range []string{"Request", "Pos", "go_string", "go_bytes", "go_interface"} {
		var s *btf.Struct
		if err := spec.TypeByName(name, &s); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "%s %d %s\n", s.Name, s.Size, strings.Join(s.Tags, ","))
		for _, m := range s.Members {
			fmt.Fprintf(&got, "  %d %s %s\n", m.Offset.Bytes(), m.Name, strings.TrimSpace(spell(m.Type)+" "+strings.Join(m.Tags, ",")))
		}
	}
	want := `Request 128 nopfire:go=main.Request
  0 id int64_t
  8 next struct Request*
  16 path struct go_string
  32 body struct go_bytes
  56 err struct go_interface
  72 ok bool
  74 small uint16_t
  76 score float
  80 took int64_t nopfire:go=time.Duration
  88 pos struct Pos
  104 tag uint8_t[4]
  112 any void*
Pos 16 
  0 x double
  8 y double
go_string 16 
  0 ptr uint8_t*
  8 len int64_t
go_bytes 24 
  0 ptr uint8_t*
  8 len int64_t
  16 cap int64_t
go_interface 16 
  0 tab void*
  8 data void*
`
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

// A struct that is described twice is written once, recursive or not; one that
// differs anywhere is another.
func TestStructsAreShared(t *testing.T) {
	count := func(types ...*Type) int {
		o := mustBuild(t, &ProviderSpec{Name: "p", Probes: []ProbeSpec{{Name: "a", Args: args(types...)}}}, stapsdt.X86_64, FormNop1)
		n := 0
		for typ, err := range loadTypes(t, o).All() {
			if err != nil {
				t.Fatal(err)
			}
			if s, ok := typ.(*btf.Struct); ok && s.Name == "Request" {
				n++
			}
		}
		return n
	}
	same := request()
	if n := count(pointer(same), pointer(same)); n != 1 {
		t.Errorf("the same Type twice: %d structs", n)
	}
	if n := count(pointer(request()), pointer(request()), pointer(pointer(request()))); n != 1 {
		t.Errorf("equal Types: %d structs", n)
	}
	for name, change := range map[string]func(*Type){
		"field name":       func(r *Type) { r.Fields[0].Name = "ID" },
		"field offset":     func(r *Type) { r.Fields[7].Offset++; r.Fields[7].Type = usint(2) },
		"field type":       func(r *Type) { r.Fields[0].Type = usint(8) },
		"field fewer":      func(r *Type) { r.Fields = r.Fields[:3] },
		"size":             func(r *Type) { r.Size += 8 },
		"go name":          func(r *Type) { r.Go = "other.Request" },
		"pointee of field": func(r *Type) { r.Fields[11].Type = pointer(sint(8)) },
		"inner struct":     func(r *Type) { r.Fields[9].Type.Fields[1].Name = "z" },
	} {
		other := request()
		change(other)
		if n := count(pointer(request()), pointer(other)); n != 2 {
			t.Errorf("another %s: %d structs, want 2", name, n)
		}
	}
}

// Names that C lacks are made C's.
func TestFieldNames(t *testing.T) {
	s := &Type{Kind: Struct, Name: "List[int]", Size: 8, Fields: []Field{{"größe", 0, sint(8)}}}
	o := mustBuild(t, &ProviderSpec{Name: "p", Probes: []ProbeSpec{{Name: "a", Args: args(pointer(s))}}}, stapsdt.X86_64, FormNop1)
	var got *btf.Struct
	if err := loadTypes(t, o).TypeByName("List_x5b_int_x5d_", &got); err != nil {
		t.Fatal(err)
	}
	if name := got.Members[0].Name; name != "gr_xc3__xb6__xc3__x9f_e" {
		t.Errorf("field is %q", name)
	}
}
