package btf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/cilium/ebpf/btf"
)

// load gives the bytes of a builder to an independent reader.
func load(t *testing.T, b *Builder) *btf.Spec {
	t.Helper()
	if math.MaxInt == math.MaxInt32 {
		t.Skip("cilium/ebpf cannot read a tag of a function on 32-bit hosts: it takes component index -1 for a large number")
	}
	raw := make([]byte, b.Size())
	b.Put(raw)
	spec, err := btf.LoadSpecFromReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatalf("%v\n% x", err, raw)
	}
	return spec
}

// describe spells a type.
func describe(t btf.Type) string {
	switch t := t.(type) {
	case *btf.Void:
		return "void"
	case *btf.Int:
		return fmt.Sprintf("%s:%d:%s", t.Name, t.Size, t.Encoding)
	case *btf.Float:
		return fmt.Sprintf("%s:%d:float", t.Name, t.Size)
	case *btf.Pointer:
		return "*" + describe(t.Target)
	case *btf.Const:
		return "const " + describe(t.Type)
	case *btf.Array:
		return fmt.Sprintf("[%d]%s", t.Nelems, describe(t.Type))
	case *btf.Struct:
		return "struct " + t.Name
	}
	return fmt.Sprintf("%T", t)
}

func TestTypes(t *testing.T) {
	for _, row := range []struct {
		want string
		make func(*Builder) ID
	}{
		{"int8_t:1:signed", func(b *Builder) ID { return b.Int("int8_t", 1, Signed) }},
		{"uint64_t:8:unsigned", func(b *Builder) ID { return b.Int("uint64_t", 8, Unsigned) }},
		{"bool:1:bool", func(b *Builder) ID { return b.Int("bool", 1, Bool) }},
		{"*const char:1:char", func(b *Builder) ID { return b.Pointer(b.Const(b.Int("char", 1, Char))) }},
		{"double:8:float", func(b *Builder) ID { return b.Float("double", 8) }},
		{"*void", func(b *Builder) ID { return b.Pointer(Void) }},
		{"[3]float:4:float", func(b *Builder) ID { return b.Array(b.Float("float", 4), 3) }},
		{"[0][2]*void", func(b *Builder) ID { return b.Array(b.Array(b.Pointer(Void), 2), 0) }},
	} {
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			b := NewBuilder(order, 0, 0)
			first := row.make(b)
			size := b.Size()
			if second := row.make(b); second != first || b.Size() != size {
				t.Errorf("%s: asked for twice, made twice", row.want)
			}
			b.Func([]byte("f"), []Member{{Name: "x", Type: first}})
			var f *btf.Func
			if err := load(t, b).TypeByName("f", &f); err != nil {
				t.Fatal(err)
			}
			p := f.Type.(*btf.FuncProto).Params[0]
			if got := describe(p.Type); got != row.want || p.Name != "x" {
				t.Errorf("%s %s, want %s", p.Name, got, row.want)
			}
		}
	}
}

func TestRecursiveStruct(t *testing.T) {
	b := NewBuilder(binary.LittleEndian, 0, 0)
	s := b.Struct("node", 24, 2)
	next := b.Pointer(s.ID)
	b.Members(s, []Member{{"value", b.Int("int64_t", 8, Signed), 0}, {"next", next, 16}})
	b.TagShared(s.ID, 1, "tag of next")

	var node *btf.Struct
	if err := load(t, b).TypeByName("node", &node); err != nil {
		t.Fatal(err)
	}
	if node.Size != 24 || len(node.Members) != 2 || node.Members[1].Offset.Bytes() != 16 {
		t.Errorf("%+v", node)
	}
	if target := node.Members[1].Type.(*btf.Pointer).Target; target != btf.Type(node) {
		t.Errorf("next points to %v", target)
	}
	if tags := node.Members[1].Tags; fmt.Sprint(tags) != "[tag of next]" {
		t.Errorf("tags of next: %q", tags)
	}
}

func TestFunctionsShareProtos(t *testing.T) {
	b := NewBuilder(binary.LittleEndian, 0, 0)
	i := b.Int("int32_t", 4, Signed)
	one := b.Func([]byte("one"), []Member{{Name: "x", Type: i}})
	size := b.Size()
	two := b.Func([]byte("two"), []Member{{Name: "x", Type: i}})
	if grown := b.Size() - size; grown != 12+len("two\x00") {
		t.Errorf("second function took %d bytes", grown)
	}
	b.Func([]byte("three"), []Member{{Name: "y", Type: i}})
	b.Func([]byte("none"), nil)
	b.Tag(one, -1, "name=", "one")
	b.Tag(two, 0, "param")
	spec := load(t, b)
	for name, want := range map[string]string{"one": "x", "two": "x", "three": "y", "none": ""} {
		var f *btf.Func
		if err := spec.TypeByName(name, &f); err != nil {
			t.Fatal(err)
		}
		proto := f.Type.(*btf.FuncProto)
		if _, void := proto.Return.(*btf.Void); !void || f.Linkage != btf.GlobalFunc {
			t.Errorf("%s: returns %v, linkage %v", name, proto.Return, f.Linkage)
		}
		got := ""
		for _, p := range proto.Params {
			got += p.Name
		}
		if got != want {
			t.Errorf("%s: parameters %q, want %q", name, got, want)
		}
		if name == "one" && fmt.Sprint(f.Tags) != "[name=one]" {
			t.Errorf("tags of one: %q", f.Tags)
		}
		if name == "two" && fmt.Sprint(f.ParamTags) != "[[param]]" {
			t.Errorf("tags of the parameters of two: %q", f.ParamTags)
		}
	}
}
