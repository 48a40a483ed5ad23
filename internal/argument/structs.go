package argument

import (
	"math/bits"
	"reflect"
	"strings"

	"github.com/nopfire/nopfire/elfgen"
)

// Bounds of what the object says about the target of one pointer argument.
// Beyond them a struct is opaque: its size and no fields.
const (
	maxStructs = 128
	maxFields  = 2048
	// maxNesting bounds values in values and pointers to pointers, which,
	// unlike pointers to structs, are described at the place.
	maxNesting = 16
)

// A describer translates Go types in memory to their C layout. Structs are
// translated once, so that they may refer to themselves.
type describer struct {
	structs map[reflect.Type]*elfgen.Type
	fields  int
}

// PointerMeta describes a pointer argument of Go type t. On 32-bit machines,
// where nothing is loaded, and whose layouts elfgen does not spell, it leads to
// nothing known.
func PointerMeta(t reflect.Type) *elfgen.Type {
	if bits.UintSize != 8*wordSize {
		return &elfgen.Type{Kind: elfgen.Pointer, Go: goName(t)}
	}
	d := describer{structs: make(map[reflect.Type]*elfgen.Type)}
	return d.pointer(t, 0)
}

// pointer describes a pointer, to nothing known where the target is nothing
// that C or the bounds allow.
func (d *describer) pointer(t reflect.Type, depth int) *elfgen.Type {
	p := &elfgen.Type{Kind: elfgen.Pointer, Go: goName(t)}
	if depth < maxNesting && describable(t.Elem()) {
		p.Elem = d.value(t.Elem(), depth+1)
	}
	return p
}

// describable reports whether values of t can stand behind a C pointer.
func describable(t reflect.Type) bool {
	return t.Size() > 0 && t.Size() <= elfgen.MaxTypeSize
}

// value describes a value of type t in memory.
func (d *describer) value(t reflect.Type, depth int) *elfgen.Type {
	if scalarOp(t.Kind()) != 0 {
		kind, size := scalarMeta(t)
		return &elfgen.Type{Kind: kind, Size: size, Go: goName(t)}
	}
	switch t.Kind() {
	case reflect.Complex64:
		return &elfgen.Type{Kind: elfgen.Array, Len: 2, Elem: &elfgen.Type{Kind: elfgen.Float, Size: 4}, Go: goName(t)}
	case reflect.Complex128:
		return &elfgen.Type{Kind: elfgen.Array, Len: 2, Elem: &elfgen.Type{Kind: elfgen.Float, Size: 8}, Go: goName(t)}
	case reflect.Pointer:
		return d.pointer(t, depth)
	case reflect.Array:
		if depth >= maxNesting {
			return opaque(t)
		}
		return &elfgen.Type{Kind: elfgen.Array, Len: t.Len(), Elem: d.value(t.Elem(), depth+1), Go: goName(t)}
	case reflect.String, reflect.Slice, reflect.Interface, reflect.Struct:
		return d.structure(t, depth)
	}
	// Map, Chan, Func, UnsafePointer: a pointer into the runtime.
	return &elfgen.Type{Kind: elfgen.Pointer, Go: goName(t)}
}

// structure describes a struct, or a type that is one inside.
func (d *describer) structure(t reflect.Type, depth int) *elfgen.Type {
	if s := d.structs[t]; s != nil {
		return s
	}
	if len(d.structs) >= maxStructs || depth >= maxNesting && t.Kind() == reflect.Struct {
		return opaque(t)
	}
	s := opaque(t)
	d.structs[t] = s
	switch t.Kind() {
	case reflect.String:
		// reflect.StringHeader, and so on: the layouts that the unsafe
		// package and the runtime promise.
		s.Name = "go_string"
		s.Fields = d.header("ptr", &elfgen.Type{Kind: elfgen.Uint, Size: 1}, "len")
	case reflect.Slice:
		s.Name = "go_slice"
		var elem *elfgen.Type
		if describable(t.Elem()) && depth < maxNesting {
			elem = d.value(t.Elem(), depth+1)
		}
		s.Fields = d.header("ptr", elem, "len", "cap")
	case reflect.Interface:
		s.Name = "go_interface"
		s.Fields = []elfgen.Field{
			{Name: "type", Type: &elfgen.Type{Kind: elfgen.Pointer}},
			{Name: "data", Offset: wordSize, Type: &elfgen.Type{Kind: elfgen.Pointer}},
		}
	case reflect.Struct:
		s.Fields = d.structFields(t, depth)
	}
	return s
}

// wordSize is the size of a pointer and of an int where sites can fire.
const wordSize = 8

// header describes a pointer followed by signed words.
func (d *describer) header(ptr string, elem *elfgen.Type, words ...string) []elfgen.Field {
	fields := []elfgen.Field{{Name: ptr, Type: &elfgen.Type{Kind: elfgen.Pointer, Elem: elem}}}
	for i, w := range words {
		fields = append(fields, elfgen.Field{
			Name:   w,
			Offset: (i + 1) * wordSize,
			Type:   &elfgen.Type{Kind: elfgen.Int, Size: wordSize},
		})
	}
	return fields
}

func (d *describer) structFields(t reflect.Type, depth int) []elfgen.Field {
	var fields []elfgen.Field
	used := make(map[string]bool)
	for i := range t.NumField() {
		f := t.Field(i)
		// C has no fields without a size, and several called "_" are one
		// too many.
		if f.Name == "_" || f.Type.Size() == 0 {
			continue
		}
		if d.fields++; d.fields > maxFields {
			return nil
		}
		name := identifier(f.Name)
		for used[name] && len(name) < elfgen.MaxName {
			name += "_" // 長 and 幅 are both one underscore
		}
		used[name] = true
		fields = append(fields, elfgen.Field{
			Name:   name,
			Offset: int(f.Offset),
			Type:   d.value(f.Type, depth+1),
		})
	}
	return fields
}

// opaque describes a value by its size alone.
func opaque(t reflect.Type) *elfgen.Type {
	name := t.Name()
	if name != "" {
		if i := strings.LastIndexByte(t.PkgPath(), '/'); t.PkgPath() != "" {
			name = t.PkgPath()[i+1:] + "_" + name
		}
		name = identifier(name)
	}
	return &elfgen.Type{Kind: elfgen.Struct, Name: name, Size: int(t.Size()), Go: goName(t)}
}

// identifier makes a C identifier of a Go name.
func identifier(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '_' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' {
			return r
		}
		return '_'
	}, s)
	if s != "" && s[0] <= '9' {
		s = "_" + s
	}
	return s[:min(len(s), elfgen.MaxName)]
}
