package argument

import (
	"fmt"
	"math/bits"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/nopfire/nopfire/elfgen"
)

type (
	header struct {
		Key, Value string
	}
	node struct {
		Next     *node
		Children []node
		Weight   float32
		_        [3]byte
		OK       bool
	}
	self  *self
	slice []slice
	mixed struct {
		header
		When    time.Duration
		Data    [4]uint16
		Grid    [2][3]int8
		Any     any
		Err     error
		M       map[string]int
		C       chan int
		F       func()
		P       unsafe.Pointer
		Z       complex64
		Nothing struct{}
		Inline  struct{ A, B byte }
		Héé     int32
	}
	generic[T any] struct{ Value T }
	kanji          struct { // names of which C has nothing left
		長, 幅 int8
		_1   int8
		高    int8
	}
)

// Only reflection reads the fields.
var _ = kanji{1, 2, 3, 4}

// layout prints a type as C would: the struct and what hangs on it, once.
func layout(t *elfgen.Type) string {
	seen := map[*elfgen.Type]bool{}
	var show func(*elfgen.Type) string
	show = func(t *elfgen.Type) string {
		switch t.Kind {
		case elfgen.Int:
			return fmt.Sprintf("s%d", 8*t.Size)
		case elfgen.Uint:
			return fmt.Sprintf("u%d", 8*t.Size)
		case elfgen.Float:
			return fmt.Sprintf("f%d", 8*t.Size)
		case elfgen.Bool:
			return "bool"
		case elfgen.Pointer:
			if t.Elem == nil {
				return "*void"
			}
			return "*" + show(t.Elem)
		case elfgen.Array:
			return fmt.Sprintf("[%d]%s", t.Len, show(t.Elem))
		case elfgen.Struct:
			if seen[t] {
				return t.Name
			}
			seen[t] = true
			var fields []string
			for _, f := range t.Fields {
				fields = append(fields, fmt.Sprintf("%d %s %s", f.Offset, f.Name, show(f.Type)))
			}
			return fmt.Sprintf("%s(%d){%s}", t.Name, t.Size, strings.Join(fields, "; "))
		}
		return fmt.Sprintf("kind %d", t.Kind)
	}
	return show(t)
}

func TestStructLayouts(t *testing.T) {
	if bits.UintSize != 64 {
		t.Skip("skipped: structs are described on 64-bit machines")
	}
	for _, tt := range []struct {
		typ  reflect.Type
		want string
	}{
		{reflect.TypeFor[*int32](), "*s32"},
		{reflect.TypeFor[**bool](), "**bool"},
		{reflect.TypeFor[*[4]uint16](), "*[4]u16"},
		{reflect.TypeFor[*struct{}](), "*void"},
		{reflect.TypeFor[*[0]int](), "*void"},
		{reflect.TypeFor[*header](), "*argument_header(32){0 Key go_string(16){0 ptr *u8; 8 len s64}; 16 Value go_string}"},
		{reflect.TypeFor[*node](), "*argument_node(40){0 Next *argument_node; 8 Children go_slice(24){0 ptr *argument_node; 8 len s64; 16 cap s64}; 32 Weight f32; 39 OK bool}"},
		{reflect.TypeFor[*slice](), "*go_slice(24){0 ptr *go_slice; 8 len s64; 16 cap s64}"},
		{reflect.TypeFor[self](), strings.Repeat("*", maxNesting+1) + "void"},
		{reflect.TypeFor[*generic[int]](), "*argument_generic_int_(8){0 Value s64}"},
		{reflect.TypeFor[*kanji](), "*argument_kanji(4){0 _ s8; 1 __ s8; 2 _1 s8; 3 ___ s8}"},
		{reflect.TypeFor[*mixed](), "*argument_mixed(136){0 header argument_header(32){0 Key go_string(16){0 ptr *u8; 8 len s64}; 16 Value go_string}; " +
			"32 When s64; 40 Data [4]u16; 48 Grid [2][3]s8; 56 Any go_interface(16){0 type *void; 8 data *void}; " +
			"72 Err go_interface(16){0 type *void; 8 data *void}; 88 M *void; 96 C *void; 104 F *void; 112 P *void; 120 Z [2]f32; " +
			"128 Inline (2){0 A u8; 1 B u8}; 132 H__ s32}"},
	} {
		if got := layout(PointerMeta(tt.typ)); got != tt.want {
			t.Errorf("%v\n got %s\nwant %s", tt.typ, got, tt.want)
		}
	}
}

// The offsets are the compiler's.
func TestStructOffsets(t *testing.T) {
	if bits.UintSize != 64 {
		t.Skip("skipped: structs are described on 64-bit machines")
	}
	m := PointerMeta(reflect.TypeFor[*mixed]()).Elem
	var v mixed
	want := map[string]uintptr{"When": unsafe.Offsetof(v.When), "Err": unsafe.Offsetof(v.Err), "H__": unsafe.Offsetof(v.Héé)}
	for _, f := range m.Fields {
		if off, ok := want[f.Name]; ok && int(off) != f.Offset {
			t.Errorf("offset of %s is %d, want %d", f.Name, f.Offset, off)
		}
		delete(want, f.Name)
	}
	if len(want) > 0 || m.Size != int(unsafe.Sizeof(v)) {
		t.Errorf("missing fields %v; size %d, want %d", want, m.Size, unsafe.Sizeof(v))
	}
	if m.Go != "argument.mixed" {
		t.Errorf("Go name is %q", m.Go)
	}
}

type (
	w0 struct{ A, B, C, D, E, F, G, H *w1 }
	w1 struct{ X [40]int }
)

// What is too much is opaque, and elfgen takes all of it.
func TestStructBounds(t *testing.T) {
	// A struct with more fields than the bound, and a tree of more structs.
	var fields []reflect.StructField
	for i := range maxFields + 10 {
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: reflect.TypeFor[int8]()})
	}
	wide := reflect.StructOf(fields)
	deep := reflect.TypeFor[int8]()
	for i := range 3 * maxNesting {
		deep = reflect.StructOf([]reflect.StructField{{Name: fmt.Sprintf("D%d", i), Type: deep}})
	}
	many := reflect.TypeFor[int8]()
	for i := range 2 * maxStructs {
		many = reflect.StructOf([]reflect.StructField{{Name: fmt.Sprintf("M%d", i), Type: reflect.PointerTo(many)}})
	}
	arrays := reflect.TypeFor[int8]()
	for range 3 * maxNesting {
		arrays = reflect.ArrayOf(1, arrays)
	}
	for _, tt := range []struct {
		name string
		typ  reflect.Type
	}{
		{"wide", wide},
		{"deep", deep},
		{"many", many},
		{"arrays", arrays},
		{"huge", reflect.ArrayOf(1<<30, reflect.TypeFor[int8]())},
		{"huge inside", reflect.StructOf([]reflect.StructField{{Name: "P", Type: reflect.PointerTo(reflect.ArrayOf(1<<30, reflect.TypeFor[int8]()))}})},
		{"two", reflect.TypeFor[w0]()},
		{"mixed", reflect.TypeFor[mixed]()},
		{"slice", reflect.TypeFor[slice]()},
		{"self", reflect.TypeFor[self]()},
		{"reflect", reflect.TypeFor[reflect.Value]()},
		{"testing", reflect.TypeFor[testing.T]()},
	} {
		spec := elfgen.ProbeSpec{Name: "p", Args: []elfgen.ArgSpec{{Type: PointerMeta(reflect.PointerTo(tt.typ))}}}
		if err := spec.Validate(); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestGoNames(t *testing.T) {
	for _, tt := range []struct {
		typ  reflect.Type
		want string
	}{
		{reflect.TypeFor[int](), ""},
		{reflect.TypeFor[string](), ""},
		{reflect.TypeFor[time.Duration](), "time.Duration"},
		{reflect.TypeFor[[]byte](), "[]uint8"},
		{reflect.TypeFor[*header](), "*argument.header"},
		{reflect.TypeFor[complex64](), "complex64"},
		{reflect.TypeFor[struct {
			aVeryLongFieldNameThatGoesOnAndOn1, aVeryLongFieldNameThatGoesOnAndOn2, aVeryLongFieldNameThatGoesOnAndOn3,
			aVeryLongFieldNameThatGoesOnAndOn4, aVeryLongFieldNameThatGoesOnAndOn5 string
		}](), ""},
	} {
		if got := goName(tt.typ); got != tt.want {
			t.Errorf("goName(%v) = %q, want %q", tt.typ, got, tt.want)
		}
	}
}
