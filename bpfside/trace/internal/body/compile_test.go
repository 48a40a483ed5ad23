package body

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/cilium/ebpf/asm"

	"github.com/nopfire/nopfire/bpfside/usdt"
)

// A condition and two values of a probe with the arguments (int32, char *).
func Example() {
	f, err := Compile(context.Background(), &Input{
		Args: []Arg{
			{Name: "i", Size: 4, Signed: true},
			{Name: "msg", Size: 8, Type: &usdt.Type{Kind: usdt.String, Size: 8}},
		},
		Where:  "i > 5",
		Values: []string{"i * 2", "msg"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("condition looks at arguments %#b\n", f.WhereArgs)
	for _, v := range f.Values {
		fmt.Printf("%s of arguments %#b, argument alone: %d\n", v.Type, v.Args, v.Arg)
	}
	fmt.Print(f.Insns)
	// Output:
	// condition looks at arguments 0b1
	// int32 of arguments 0b1, argument alone: -1
	// string of arguments 0b10, argument alone: 1
	// nopfire_body:
	// 	 0: LdXMemDW dst: r2 src: r1 off: 0 imm: 0
	// 	 1: JSGT32Imm dst: r2 off: 2 imm: 5
	// 	 2: MovImm dst: r0 imm: 0
	// 	 3: Exit
	// 	 4: LShImm32 dst: r2 imm: 1
	// 	 5: LShImm dst: r2 imm: 32
	// 	 6: ArShImm dst: r2 imm: 32
	// 	 7: StXMemDW dst: r1 src: r2 off: 112 imm: 0
	// 	 8: MovImm dst: r0 imm: 1
	// 	 9: Exit
}

// What a function says of the values and of the arguments that it needs.
func TestDescription(t *testing.T) {
	rows := []struct{ expr, want string }{
		// An argument alone has its own type and leaves no value.
		{"n", "Int 4 int32 args 1 alone 0"},
		{" ((arg1)) ", "Int 4 int32 args 1 alone 0"},
		{"u", "Uint 4 uint32 args 2 alone 1"},
		{"msg", "String 8 string args 16 alone 4"},
		{"o", "Pointer 8 *main.order args 32 alone 5"},
		{"data", "Pointer 8 []byte args 64 alone 6"},
		{"ok", "Bool 1 bool args 256 alone 8"},
		{"ratio", "Uint 8 float64 args 512 alone 9"},
		{"comm", "String 8 string args 0 comm"},
		{"(comm)", "String 8 string args 0 comm"},
		{"pid", "Uint 4 uint32 args 0 pid"}, // not the argument of that name
		{"arg12", "Int 8 int64 args 2048 alone 11"},

		// What is more than an argument.
		{"+n", "Int 4 int32 args 1"},
		{"(int)n", "Int 4 int32 args 1"},
		{"n + arg2 + n", "Uint 4 uint32 args 3"},
		{"ok ? n : c", "Int 4 int32 args 261"},
		{"tid", "Uint 4 uint32 args 0 pid"},
		{"uid + cpu", "Uint 4 uint32 args 0"},
		{"ts", "Uint 8 uint64 args 0"},
		{"comm[0]", "Int 1 int8 args 0"},
		{"'a'", "Int 4 int32 args 0"},

		// sizeof looks at no argument.
		{"sizeof(n) + sizeof o->items", "Uint 8 uint64 args 0"},
		{"sizeof(pid)", "Uint 8 uint64 args 0"},

		// Types of pointers and of what they lead to.
		{"o->next", "Pointer 8 *main.order args 32"},
		{"&o->next", "Pointer 8 **main.order args 32"},
		{"o->first", "Pointer 8 *main_item args 32"},
		{"o->items", "Pointer 8 *main_item args 32"},
		{"&o->items", "Pointer 8 *[3]main_item args 32"},
		{"o->matrix", "Pointer 8 *[3]uint8 args 32"},
		{"o->matrix[1]", "Pointer 8 *uint8 args 32"},
		{"o->tag", "String 8 string args 32"},
		{"o->text", "String 8 string args 32"},
		{"o->name.ptr", "Pointer 8 *uint8 args 32"},
		{"o->name", "Header 8 string args 32"},
		{"o->next->next->name", "Header 8 string args 32"},
		{"o->body", "Header 8 []byte args 32"},
		{"o->price", "Float 8 float64 args 32"},
		{"(o->rates[1])", "Float 4 float32 args 32"},
		{"*o->rates", "Float 4 float32 args 32"},
		{"&o->price", "Pointer 8 *float64 args 32"},
		{"o->rates", "Pointer 8 *float32 args 32"},
		{"sizeof(o->price)", "Uint 8 uint64 args 0"},
		{"o->any", "Pointer 8 unsafe.Pointer args 32"},
		{"(void *)n", "Pointer 8 unsafe.Pointer args 1"},
		{"(char *)n", "String 8 string args 1"},
		{"(const char *)(u64)n + 1", "String 8 string args 1"},
		{"(unsigned long long int)n", "Uint 8 uint64 args 1"},
		{"(int long const)n", "Int 8 int64 args 1"},
		{"(s8)n", "Int 1 int8 args 1"},
		{"(u16 *)n", "Pointer 8 *uint16 args 1"},
		{"(bool *)n", "Pointer 8 *bool args 1"},
		{"(struct item **)n", "Pointer 8 **main_item args 1"},
		{"msg ? o : 0", "Pointer 8 *main.order args 48"},

		// Text of bytes that are counted needs the count.
		{`data == "x"`, "Int 4 int32 args 192"},
		{`data + 1 == "x"`, "Int 4 int32 args 64"},
		{`msg == "x" || comm == "y"`, "Int 4 int32 args 16"},
	}
	kinds := []string{"Int", "Uint", "Bool", "Pointer", "String", "Header", "Float"}
	for _, r := range rows {
		f, err := Compile(context.Background(), &Input{Args: worldArgs(), Values: []string{r.expr}})
		if err != nil {
			t.Errorf("%s: %v", r.expr, err)
			continue
		}
		v := f.Values[0]
		got := fmt.Sprintf("%s %d %s args %d", kinds[v.Kind], v.Size, v.Type, v.Args)
		switch {
		case v.Arg >= 0:
			got += fmt.Sprint(" alone ", v.Arg)
		case v.Comm:
			got += " comm"
		case f.NeedsPID:
			got += " pid"
		}
		if got != r.want {
			t.Errorf("%s: %s, wanted %s", r.expr, got, r.want)
		}
		if f.WhereArgs != 0 {
			t.Errorf("%s: the condition, which there is none of, has arguments %#b", r.expr, f.WhereArgs)
		}
	}
}

// The arguments of the condition are told apart from those of the values.
func TestWhereArgs(t *testing.T) {
	f, err := Compile(context.Background(), &Input{
		Args: worldArgs(), Where: `u > 3 && o->id || msg == "x"`, Values: []string{"n", "c + arg1", "comm"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if f.WhereArgs != 0b110010 || f.Values[0].Args != 1 || f.Values[1].Args != 0b101 || f.Values[2].Args != 0 {
		t.Errorf("%#b %+v", f.WhereArgs, f.Values)
	}
}

// Where there is nothing to compute, nothing is compiled.
func TestNothingToCompute(t *testing.T) {
	for _, values := range [][]string{nil, {"n"}, {"comm", "(arg6)", "ratio"}} {
		f, err := Compile(context.Background(), &Input{Args: worldArgs(), Values: values})
		if err != nil {
			t.Fatal(err)
		}
		want := asm.Instructions{asm.Mov.Imm(asm.R0, 1), asm.Return()}
		if fmt.Sprint(f.Insns) != Symbol+":\n"+fmt.Sprint(want) || f.Insns[0].Symbol() != Symbol {
			t.Errorf("%q: %v", values, f.Insns)
		}
	}
}

// The structs of arguments in C: with the fields that are named, at their places.
func TestStructs(t *testing.T) {
	self := &usdt.Type{Kind: usdt.Struct, Name: "self", Size: 16}
	self.Fields = []usdt.Field{{Name: "in", Type: self}, {Name: "all", Offset: 8, Type: arrayOf(1, self)}, {Name: "p", Offset: 8, Type: pointerTo(self)}}
	loop := &usdt.Type{Kind: usdt.Array, Len: 2, Size: 8}
	loop.Elem = loop
	rows := []struct {
		name   string
		typ    *usdt.Type
		wanted string
		want   string
	}{
		{"only what is named", orderType, "port", "struct s_0 { unsigned char pad_0[66]; unsigned short f_port; unsigned char pad_68[100]; } __attribute__((packed));"},
		{"nested structs first", orderType, "items sku", `
struct s_2 { unsigned short f_sku; unsigned char pad_2[6]; } __attribute__((packed));
struct s_0 { unsigned char pad_0[32]; struct s_2 f_items[3]; unsigned char pad_56[112]; } __attribute__((packed));`},
		{"pointers", orderType, "next first text any", `
struct s_0 { unsigned char pad_0[8]; struct s_0 *f_next; unsigned char pad_16[64]; char *f_text; struct s_2 *f_first; unsigned char pad_96[16]; void *f_any; unsigned char pad_120[48]; } __attribute__((packed));
struct s_2 { unsigned char pad_0[8]; } __attribute__((packed));`},
		{"arrays", orderType, "tag matrix", "struct s_0 { unsigned char pad_0[56]; char f_tag[8]; unsigned char pad_64[32]; unsigned char f_matrix[2][3]; unsigned char pad_102[66]; } __attribute__((packed));"},
		{"pointers to arrays and to pointers", &usdt.Type{Kind: usdt.Struct, Size: 16, Fields: []usdt.Field{
			{Name: "a", Type: pointerTo(arrayOf(4, i32t))}, {Name: "b", Offset: 8, Type: pointerTo(pointerTo(boolt))},
		}}, "a b", "struct s_0 { int (*f_a)[4]; _Bool **f_b; } __attribute__((packed));"},
		{"an array of pointers", &usdt.Type{Kind: usdt.Struct, Size: 16, Fields: []usdt.Field{
			{Name: "a", Type: arrayOf(2, pointerTo(u8t))},
		}}, "a", "struct s_0 { unsigned char *f_a[2]; } __attribute__((packed));"},
		{"structs without a name", &usdt.Type{Kind: usdt.Struct, Size: 16, Fields: []usdt.Field{
			{Name: "a", Type: i32t},
			{Offset: 8, Type: &usdt.Type{Kind: usdt.Struct, Size: 8, Fields: []usdt.Field{{Name: "b", Offset: 4, Type: i32t}}}},
		}}, "a b", "struct s_0 { int f_a; unsigned char pad_4[8]; int f_b; } __attribute__((packed));"},
		{"pointers of 32 bits are numbers", &usdt.Type{Kind: usdt.Struct, Size: 8, Fields: []usdt.Field{
			{Name: "a", Type: &usdt.Type{Kind: usdt.Pointer, Size: 4, Elem: i32t}}, {Name: "b", Offset: 4, Type: &usdt.Type{Kind: usdt.String, Size: 4}},
		}}, "a b", "struct s_0 { unsigned int f_a; unsigned int f_b; } __attribute__((packed));"},

		// What metadata may say and C cannot.
		{"a struct in itself", self, "in all p", "struct s_0 { unsigned char pad_0[8]; struct s_0 *f_p; } __attribute__((packed));"},
		{"an array of itself", &usdt.Type{Kind: usdt.Struct, Size: 8, Fields: []usdt.Field{{Name: "a", Type: loop}}}, "a", "struct s_0 { unsigned char pad_0[8]; } __attribute__((packed));"},
		{"fields over one another", &usdt.Type{Kind: usdt.Struct, Size: 8, Fields: []usdt.Field{
			{Name: "a", Type: i64t}, {Name: "b", Offset: 4, Type: i32t}, {Name: "a", Type: i64t},
		}}, "a b", "struct s_0 { long f_a; } __attribute__((packed));"},
		{"fields outside", &usdt.Type{Kind: usdt.Struct, Size: 8, Fields: []usdt.Field{
			{Name: "a", Offset: 4, Type: i64t}, {Name: "b", Offset: 1 << 30, Type: i32t}, {Name: "c", Offset: -4, Type: i32t},
		}}, "a b c", "struct s_0 { unsigned char pad_0[8]; } __attribute__((packed));"},
		{"sizes out of measure", &usdt.Type{Kind: usdt.Struct, Size: math.MaxInt32, Fields: []usdt.Field{
			{Name: "a", Type: &usdt.Type{Kind: usdt.Array, Len: math.MaxInt32, Elem: i64t}}, {Name: "b", Type: &usdt.Type{Kind: usdt.Int, Size: 3}},
			{Name: "c", Type: &usdt.Type{Kind: usdt.Array, Len: math.MaxInt, Elem: i64t}},
		}}, "a b c", "struct s_0 { } __attribute__((packed));"},
		{"types that mean nothing", &usdt.Type{Kind: usdt.Struct, Size: 8, Fields: []usdt.Field{
			{Name: "a", Type: &usdt.Type{}}, {Name: "b", Type: nil}, {Name: "c", Type: &usdt.Type{Kind: usdt.Array, Len: 2}}, {Name: "d", Type: pointerTo(&usdt.Type{})},
		}}, "a b c d", "struct s_0 { void *f_d; } __attribute__((packed));"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			wanted := map[string]bool{}
			for _, name := range strings.Fields(r.wanted) {
				wanted[name] = true
			}
			s := newStructs([]Arg{{Type: pointerTo(r.typ)}})
			if got := strings.TrimSpace(s.print(wanted, []*usdt.Type{r.typ})); got != strings.TrimSpace(r.want) {
				t.Errorf("got\n%s\nwanted\n%s", got, r.want)
			}
		})
	}
}

// Structs are found by the names that people have for them.
func TestFindStruct(t *testing.T) {
	named := func(name, goName string) *usdt.Type {
		p := pointerTo(&usdt.Type{Kind: usdt.Struct, Name: name})
		if goName != "" {
			p.Go = "*" + goName
		}
		return p
	}
	s := newStructs([]Arg{
		{Type: named("main_order", "main.order")}, {Type: named("web_item", "")}, {Type: named("item", "")},
		{Type: named("a_twin", "a.twin")}, {Type: named("b_twin", "b.twin")}, {Type: named("", "")},
		{Type: pointerTo(&usdt.Type{Kind: usdt.Struct, Name: "go_slice", Go: "[]main.order"})},
		{Type: pointerTo(&usdt.Type{Kind: usdt.Struct, Name: "shop_cart", Go: "shop.cart"})},
	})
	rows := []struct{ name, want string }{
		{"main_order", "main_order"},
		{"main.order", "main_order"},
		{"order", "main_order"},
		{"item", "item"}, // and not web_item
		{"web.item", "web_item"},
		{"a.twin", "a_twin"},
		{"cart", "shop_cart"},
		{"shop.cart", "shop_cart"},
		{"twin", "struct twin may be a.twin or b.twin"},
		{"Order", "struct Order is not known: the arguments know main.order, web_item, item, a.twin, b.twin, shop.cart"},
		{"web_itm", "struct web_itm is not known: did you mean web_item? the arguments know main.order, web_item, item, a.twin, b.twin, shop.cart"},
	}
	for _, r := range rows {
		st, err := s.find(r.name)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = st.Name
		}
		if got != r.want {
			t.Errorf("%s: %s, wanted %s", r.name, got, r.want)
		}
	}
}

// BenchmarkCompile compiles a condition with a field and a comparison of text, and
// two values.
func BenchmarkCompile(b *testing.B) {
	in := &Input{Args: worldArgs(), Where: `o->id > 3 && msg == "hello"`, Values: []string{"n", "o->next->port"}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile(context.Background(), in); err != nil {
			b.Fatal(err)
		}
	}
}
