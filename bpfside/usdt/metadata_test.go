package usdt

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf/btf"
)

// A btfText builds a BTF section by hand: types as words, laid out by field.
type btfText struct {
	types   []uint32
	strings []byte
}

func newBTF() *btfText { return &btfText{strings: []byte{0}} }

func (b *btfText) name(s string) uint32 {
	off := len(b.strings)
	b.strings = append(append(b.strings, s...), 0)
	return uint32(off)
}

// add appends a type: kind, vlen, size or type, and the rest.
func (b *btfText) add(name string, kind, vlen, size uint32, rest ...uint32) {
	off := uint32(0)
	if name != "" {
		off = b.name(name)
	}
	b.types = append(b.types, off, kind<<24|vlen, size)
	b.types = append(b.types, rest...)
}

func (b *btfText) bytes(order binary.AppendByteOrder) []byte {
	d := order.AppendUint16(nil, btfMagic)
	d = append(d, 1, 0)
	for _, w := range []uint32{btfHeader, 0, uint32(4 * len(b.types)), uint32(4 * len(b.types)), uint32(len(b.strings))} {
		d = order.AppendUint32(d, w)
	}
	for _, w := range b.types {
		d = order.AppendUint32(d, w)
	}
	return append(d, b.strings...)
}

// whole is the component of a tag that is about a function and not a parameter.
const whole = wholeType

// probe appends a FUNC, id fn, with parameters of the given types, and its tag.
func (b *btfText) probe(fn uint32, params ...uint32) {
	b.add("f", btfFunc, 1, fn+1)
	var rest []uint32
	for i, p := range params {
		rest = append(rest, b.name(fmt.Sprint("p", i)), p)
	}
	b.add("", btfFuncProto, uint32(len(params)), 0, rest...)
	b.add(tagProbe+"a:b", btfDeclTag, 0, fn, whole)
}

// read returns the parameters of a:b.
func (b *btfText) read(t *testing.T) ([]Param, error) {
	t.Helper()
	types, err := parseBTF(b.bytes(binary.LittleEndian), binary.LittleEndian)
	if err != nil {
		t.Fatal(err)
	}
	m := newMetadata(types, 8)
	fn, ok := m.funcs["a:b"]
	if !ok {
		t.Fatal("no function for a:b")
	}
	return m.params(fn)
}

// Types that strangers may write, and what they are read as.
func TestTypeOf(t *testing.T) {
	const signed, char, boolean = 1 << 24, 2 << 24, 4 << 24
	for _, tc := range []struct {
		name  string
		build func(b *btfText) // type 1 is the parameter
		want  string
	}{
		{"int", func(b *btfText) { b.add("int", btfInt, 0, 4, signed|32) }, "int/4"},
		{"unsigned", func(b *btfText) { b.add("unsigned", btfInt, 0, 8, 64) }, "uint/8"},
		{"bool", func(b *btfText) { b.add("bool", btfInt, 0, 1, boolean|8) }, "bool/1"},
		{"bool of one bit", func(b *btfText) { b.add("bool", btfInt, 0, 1, boolean|1) }, "bool/1"},
		{"int of 16 bytes", func(b *btfText) { b.add("i128", btfInt, 0, 16, signed|128) }, "unknown/0"},
		{"int of 3 bits", func(b *btfText) { b.add("int", btfInt, 0, 4, signed|3) }, "unknown/0"},
		{"int at a bit offset", func(b *btfText) { b.add("int", btfInt, 0, 4, signed|8<<16|32) }, "unknown/0"},
		{"double", func(b *btfText) { b.add("double", btfFloat, 0, 8) }, "float/8"},
		{"long double", func(b *btfText) { b.add("long double", btfFloat, 0, 16) }, "unknown/0"},
		{"enum", func(b *btfText) { b.add("e", btfEnum, 0, 4) }, "uint/4"},
		{"void", func(*btfText) {}, "unknown/0"},
		{"char pointer", func(b *btfText) { b.add("", btfPtr, 0, 2); b.add("char", btfInt, 0, 1, signed|8) }, "string/8"},
		{"char by encoding", func(b *btfText) { b.add("", btfPtr, 0, 2); b.add("c", btfInt, 0, 1, char|8) }, "string/8"},
		{"const char pointer", func(b *btfText) {
			b.add("", btfPtr, 0, 2)
			b.add("", btfConst, 0, 3)
			b.add("char", btfInt, 0, 1, signed|8)
		}, "string/8"},
		{"typedef of a const pointer", func(b *btfText) {
			b.add("t", btfTypedef, 0, 2)
			b.add("", btfConst, 0, 3)
			b.add("", btfPtr, 0, 0)
		}, "pointer/8"},
		{"pointer to nothing that exists", func(b *btfText) { b.add("", btfPtr, 0, 77) }, "pointer/8"},
		{"pointer to a function", func(b *btfText) { b.add("", btfPtr, 0, 2); b.add("", btfFuncProto, 0, 0) }, "pointer/8"},
		{"pointer to itself", func(b *btfText) { b.add("", btfPtr, 0, 1) }, "pointer/8"},
		{"typedef of itself", func(b *btfText) { b.add("t", btfTypedef, 0, 1) }, "unknown/0"},
		{"const of volatile of const", func(b *btfText) { b.add("", btfConst, 0, 2); b.add("", btfVolatile, 0, 1) }, "unknown/0"},
		{"array of itself", func(b *btfText) { b.add("", btfArray, 0, 0, 1, 0, 1<<31-1) }, "array/0"},
		{"struct that contains itself", func(b *btfText) { b.add("s", btfStruct, 1, 8, 0, 1, 0) }, "struct/8"},
		{"struct of 2 GiB", func(b *btfText) { b.add("s", btfStruct, 0, 1<<32-1) }, "struct/2147483647"},
		{"union", func(b *btfText) { b.add("u", btfUnion, 0, 8) }, "unknown/0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBTF()
			tc.build(b)
			types, err := parseBTF(b.bytes(binary.LittleEndian), binary.LittleEndian)
			if err != nil {
				t.Fatal(err)
			}
			b.probe(uint32(len(types.starts)), 1)
			if tc.name == "void" {
				b = newBTF()
				b.probe(1, 0)
			}
			params, err := b.read(t)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprintf("%s/%d", params[0].Type.Kind, params[0].Type.Size); got != tc.want {
				t.Errorf("type %s, want %s", got, tc.want)
			}
		})
	}
}

// Bit fields are left out; members beyond the struct too.
func TestStructFields(t *testing.T) {
	b := newBTF()
	b.add("int", btfInt, 0, 4, 1<<24|32)
	b.types = append(b.types, b.name("s"), 1<<31|btfStruct<<24|4, 8,
		b.name("a"), 1, 0,
		b.name("bits"), 1, 3<<24|32,
		b.name("b"), 1, 32,
		b.name("far"), 1, 800)
	b.add("", btfPtr, 0, 2)
	b.probe(4, 3)
	params, err := b.read(t)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range params[0].Type.Elem.Fields {
		got = append(got, fmt.Sprint(f.Name, f.Offset))
	}
	if !slices.Equal(got, []string{"a0", "b4"}) {
		t.Errorf("fields %v, want a0 and b4", got)
	}
}

// A million pointers to pointers, in 12 MB, cost neither the stack nor much time.
func TestDeepTypes(t *testing.T) {
	b := newBTF()
	const n = 1_000_000
	b.types = make([]uint32, 0, 3*n+100)
	for i := range uint32(n) {
		b.types = append(b.types, 0, btfPtr<<24, i+2)
	}
	b.probe(n+1, 1)
	params, err := b.read(t)
	if err != nil {
		t.Fatal(err)
	}
	depth := 0
	for typ := params[0].Type; typ != nil; typ = typ.Elem {
		depth++
	}
	if depth < 10 || depth > maxTypeDepth+2 {
		t.Errorf("followed to a depth of %d", depth)
	}
}

func TestParamsFaults(t *testing.T) {
	tag := func(text string, param uint32) func(b *btfText) {
		return func(b *btfText) { b.probe(2, 1, 1); b.add(text, btfDeclTag, 0, 2, param) }
	}
	for _, tc := range []struct {
		name  string
		build func(b *btfText)
		want  string
	}{
		{"tag on no function", func(b *btfText) { b.add(tagProbe+"a:b", btfDeclTag, 0, 1, whole) }, "btf type 1 is not a function"},
		{"tag on nothing", func(b *btfText) { b.add(tagProbe+"a:b", btfDeclTag, 0, 99, whole) }, "btf type 99 is not a function"},
		{"function without prototype", func(b *btfText) { b.add("f", btfFunc, 1, 1); b.add(tagProbe+"a:b", btfDeclTag, 0, 2, whole) }, "btf type 1 is not a function prototype"},
		{"too many parameters", func(b *btfText) { b.probe(2, make([]uint32, 65)...) }, "65 parameters"},
		{"length is no number", tag(tagLen+"x", 0), `parameter 0: length in parameter "x"`},
		{"length before its pointer", tag(tagLen+"0", 1), `parameter 1: length in parameter "0"`},
		{"length of a number", tag(tagLen+"1", 0), "parameter 0 has a length and is no pointer"},
		{"good", tag(tagGo+"T", 0), ""},
		{"tag on a parameter that is not there", tag(tagGo+"T", 9), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBTF()
			b.add("int", btfInt, 0, 4, 1<<24|32)
			tc.build(b)
			_, err := b.read(t)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("error %q, want %q", got, tc.want)
			}
		})
	}
}

func TestParseBTFFaults(t *testing.T) {
	good := newBTF()
	good.add("int", btfInt, 0, 4, 32)
	le := binary.LittleEndian
	for _, tc := range []struct {
		name string
		edit func(d []byte) []byte
		want string
	}{
		{"good", func(d []byte) []byte { return d }, ""},
		{"empty", func([]byte) []byte { return nil }, "btf header is cut off"},
		{"magic of the other byte order", func(d []byte) []byte { d[0], d[1] = d[1], d[0]; return d }, "btf magic is 0x9feb"},
		{"version", func(d []byte) []byte { d[2] = 2; return d }, "btf version 2 is not known"},
		{"header too short", func(d []byte) []byte { le.PutUint32(d[4:], 8); return d }, "btf header of 8 bytes"},
		{"types beyond the section", func(d []byte) []byte { le.PutUint32(d[12:], 1<<32-1); return d }, "btf header: bytes 0 to 4294967295 of 21"},
		{"strings beyond the section", func(d []byte) []byte { le.PutUint32(d[16:], 1<<32-1); return d }, "btf header: bytes 4294967295 to 4294967300 of 21"},
		{"type cut off", func(d []byte) []byte { le.PutUint32(d[12:], 12); return d }, "btf type 1 at 0x18 is cut off or of unknown kind"},
		{"kind unknown", func(d []byte) []byte { d[24+7] = 31; return d }, "btf type 1 at 0x18 is cut off or of unknown kind"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := parseBTF(tc.edit(good.bytes(le)), le)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("error %q, want %q", got, tc.want)
			}
		})
	}
}

// Types that all point into one long string cost no product of the two: as many as
// fit take milliseconds, and took hours.
func TestLongStrings(t *testing.T) {
	b := newBTF()
	long := b.name(strings.Repeat("x", 4<<20))
	for range 200_000 {
		b.types = append(b.types, long, btfDeclTag<<24, 1, whole)
	}
	b.probe(200_001, 0)
	done := make(chan map[string]uint32, 1)
	go func() {
		types, err := parseBTF(b.bytes(binary.LittleEndian), binary.LittleEndian)
		if err != nil {
			t.Error(err)
			done <- nil
			return
		}
		done <- newMetadata(types, 8).funcs
	}()
	select {
	case funcs := <-done:
		if funcs["a:b"] != 200_001 {
			t.Errorf("the functions are %v, want that of a:b", funcs)
		}
	case <-time.After(time.Minute):
		t.Fatal("200,000 tags in a string of 4 MiB are not read in a minute")
	}
}

// What a stranger's writer (cilium/ebpf) makes is read alike.
func TestStrangersBTF(t *testing.T) {
	i32 := &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed}
	char := &btf.Int{Name: "char", Size: 1, Encoding: btf.Char}
	st := &btf.Struct{Name: "st", Size: 8, Members: []btf.Member{{Name: "x", Type: i32}, {Name: "y", Type: i32, Offset: 32}}}
	fn := &btf.Func{
		Name: "f", Linkage: btf.GlobalFunc, Tags: []string{tagProbe + "a:b"},
		ParamTags: [][]string{nil, nil, {tagGo + "pkg.T"}},
		Type: &btf.FuncProto{Return: (*btf.Void)(nil), Params: []btf.FuncParam{
			{Name: "n", Type: i32},
			{Name: "s", Type: &btf.Pointer{Target: &btf.Const{Type: char}}},
			{Name: "p", Type: &btf.Pointer{Target: st}},
		}},
	}
	b, err := btf.NewBuilder([]btf.Type{fn}, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := b.Marshal(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	types, err := parseBTF(raw, binary.NativeEndian)
	if err != nil {
		t.Fatal(err)
	}
	m := newMetadata(types, 8)
	params, err := m.params(m.funcs["a:b"])
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range params {
		got = append(got, fmt.Sprintf("%s:%s:%s", p.Name, p.Type.Kind, p.Type.Go))
	}
	if want := "n:int: s:string: p:pointer:pkg.T"; strings.Join(got, " ") != want {
		t.Errorf("parameters %q, want %q", got, want)
	}
	if e := params[2].Type.Elem; e.Name != "st" || len(e.Fields) != 2 || e.Fields[1].Offset != 4 {
		t.Errorf("struct %+v", e)
	}
}

// Structs and their fields have the Go spelling that tags give them.
func TestGoSpelling(t *testing.T) {
	b := newBTF()
	b.add("", btfPtr, 0, 2)
	b.add("main_node", btfStruct, 5, 40,
		b.name("next"), 1, 0,
		b.name("took"), 3, 64,
		b.name("plain"), 3, 128,
		b.name("self"), 4, 192,
		b.name("list"), 5, 256)
	b.add("long", btfInt, 0, 8, 1<<24|64)
	b.add("inner", btfStruct, 1, 8, b.name("n"), 3, 0)
	b.add("", btfArray, 0, 0, 3, 3, 1)
	b.probe(6, 1, 3)
	for _, tag := range []struct {
		text      string
		id, index uint32
	}{
		{"main.node", 2, whole}, {"*main.node", 2, 0}, {"time.Duration", 2, 1}, {"a.struct", 2, 3}, {"main.list", 2, 4},
		{"nobody", 2, 9}, {"nobody", 99, 0}, {"nobody", 3, whole},
		{"main.inner", 4, whole},
	} {
		b.add(tagGo+tag.text, btfDeclTag, 0, tag.id, tag.index)
	}
	params, err := b.read(t)
	if err != nil {
		t.Fatal(err)
	}
	node := params[0].Type.Elem
	var got []string
	for _, f := range node.Fields {
		got = append(got, f.Name+":"+f.Type.Go)
	}
	if want := "next:*main.node took:time.Duration plain: self:main.inner list:main.list"; strings.Join(got, " ") != want {
		t.Errorf("fields %q, want %q", got, want)
	}
	switch {
	case node.Go != "main.node" || node.Name != "main_node":
		t.Errorf("struct %s %q", node.Name, node.Go)
	case node.Fields[0].Type.Elem != node || params[0].Type.Go != "" || params[1].Type.Go != "":
		t.Error("a pointer has lost what it leads to, or has the spelling of another")
	}
}

func FuzzBTF(f *testing.F) {
	b := newBTF()
	b.add("int", btfInt, 0, 4, 1<<24|32)
	b.add("", btfPtr, 0, 3)
	b.add("s", btfStruct, 2, 16, 0, 1, 0, 0, 2, 64)
	b.add("", btfArray, 0, 0, 3, 1, 7)
	b.probe(5, 1, 2, 4)
	b.add(tagLen+"2", btfDeclTag, 0, 5, 1)
	b.add(tagGo+"T", btfDeclTag, 0, 5, 0)
	f.Add(b.bytes(binary.LittleEndian))
	f.Fuzz(func(t *testing.T, data []byte) {
		types, err := parseBTF(data, binary.LittleEndian)
		if err != nil {
			return
		}
		m := newMetadata(types, 8)
		for name, fn := range m.funcs {
			params, err := m.params(fn)
			if err != nil {
				continue
			}
			for i, p := range params {
				if p.Type == nil {
					t.Errorf("%q: parameter %d has no type", name, i)
				}
				if p.Len != 0 && (p.Len <= i || p.Len >= len(params) || p.Type.Kind != Bytes) {
					t.Errorf("%q: parameter %d of %d has its length in %d", name, i, len(params), p.Len)
				}
			}
		}
		if len(m.types) > len(types.starts) {
			t.Errorf("%d types from %d", len(m.types), len(types.starts))
		}
	})
}
