package elfgen

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// faultsOf returns the SpecErrors that err joins.
func faultsOf(t *testing.T, err error) (list []*SpecError) {
	t.Helper()
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("%T: %v", err, err)
	}
	for _, e := range joined.Unwrap() {
		var se *SpecError
		if !errors.As(e, &se) {
			t.Fatalf("%T: %v", e, e)
		}
		list = append(list, se)
	}
	return list
}

func TestNames(t *testing.T) {
	long := strings.Repeat("x", MaxName)
	for _, row := range []struct {
		name string
		why  string // "" for a good name
	}{
		{"a", ""},
		{"http.server-2/request@v1", ""},
		{"!~*?[]{}$%^&", ""},
		{long, ""},
		{"", "name is empty"},
		{long + "x", "name has 201 bytes, at most 200"},
		{"a\x00b", "name contains NUL at byte 1"},
		{"a:b", "name contains ':' at byte 1"},
		{" a", "name contains a blank at byte 0"},
		{"a\tb", "name contains a blank at byte 1"},
		{"a\x1b", "name contains 0x1b at byte 1"},
		{"a\x7f", "name contains 0x7f at byte 1"},
		{"caf\u00e9", "name contains 0xc3 at byte 3"},
	} {
		for _, spec := range []*ProviderSpec{
			{Name: row.name, Probes: []ProbeSpec{{Name: "good"}}},
			{Name: "good", Probes: []ProbeSpec{{Name: row.name}}},
		} {
			list := faultsOf(t, spec.Validate())
			if row.why == "" {
				if list != nil {
					t.Errorf("%q: %v", row.name, list[0])
				}
				continue
			}
			if len(list) != 1 || !strings.HasPrefix(list[0].Reason, row.why) {
				t.Errorf("%q: %v, want %q", row.name, list, row.why)
				continue
			}
			if isProbe := spec.Name == "good"; isProbe != (list[0].ProbeIndex == 0) || list[0].ArgumentIndex != -1 {
				t.Errorf("%q: at probe %d, argument %d", row.name, list[0].ProbeIndex, list[0].ArgumentIndex)
			}
		}
	}
}

func TestArguments(t *testing.T) {
	self := &Type{Kind: Pointer}
	self.Elem = self
	inside := &Type{Kind: Struct, Name: "S", Size: 8}
	inside.Fields = []Field{{"s", 0, inside}}
	node := &Type{Kind: Struct, Name: "Node", Size: 16}
	node.Fields = []Field{{"next", 0, pointer(node)}, {"all", 8, pointer(array(1, pointer(node)))}}
	deep := sint(8)
	for range MaxTypeDepth + 1 {
		deep = pointer(deep)
	}
	fields := func(size int, f ...Field) *Type {
		return pointer(&Type{Kind: Struct, Name: "S", Size: size, Fields: f})
	}
	for _, row := range []struct {
		name string
		args []ArgSpec
		why  string // part of the only fault, "" for none
	}{
		{"none", nil, ""},
		{"every kind", args(sint(1), usint(2), kind(Bool), ieee(8), kind(String), kind(Bytes), kind(Error), pointer(nil)), ""},
		{"twelve", args(sint(1), sint(1), sint(1), sint(1), sint(1), sint(1), sint(1), sint(1), sint(1), sint(1), sint(1), sint(1)), ""},
		{"six times two", args(kind(Bytes), kind(Bytes), kind(Bytes), kind(Bytes), kind(Bytes), kind(Bytes)), ""},
		{"recursive struct", args(pointer(node)), ""},
		{"names", []ArgSpec{{"_a1", sint(4)}, {"A", sint(4)}}, ""},

		{"thirteen places", args(kind(Bytes), kind(Bytes), kind(Bytes), kind(Bytes), kind(Bytes), kind(Bytes), sint(1)), "take 13 places, at most 12"},
		{"no type", []ArgSpec{{"a", nil}}, "no type"},
		{"invalid kind", args(kind(Invalid)), "unsupported kind 0"},
		{"unknown kind", args(kind(99)), "unsupported kind 99"},
		{"int of 3 bytes", args(sint(3)), "integer of 3 bytes"},
		{"int without size", args(kind(Int)), "integer of 0 bytes"},
		{"float of 2 bytes", args(ieee(2)), "float of 2 bytes"},
		{"struct by value", args(node), "by pointer only"},
		{"array by value", args(array(2, sint(8))), "by pointer only"},

		{"name with blank", []ArgSpec{{"a b", sint(4)}}, "no C identifier"},
		{"name with digit first", []ArgSpec{{"1a", sint(4)}}, "no C identifier"},
		{"long name", []ArgSpec{{strings.Repeat("a", MaxName+1), sint(4)}}, "201 bytes"},
		{"same name", []ArgSpec{{"a", sint(4)}, {"a", sint(4)}}, `name "a" is taken by argument number 1`},
		{"name of an unnamed one", []ArgSpec{{"arg2", sint(4)}, {"", sint(4)}}, `name "arg2" is taken`},
		{"name of a length", []ArgSpec{{"b", kind(Bytes)}, {"b_len", sint(4)}}, `name "b_len" is taken`},
		{"go name with NUL", args(&Type{Kind: Int, Size: 8, Go: "a\x00b"}), "contains NUL"},
		{"long go name", args(&Type{Kind: Int, Size: 8, Go: strings.Repeat("x", 900)}), "900 bytes"},

		{"pointer to itself", args(self), "refers to itself"},
		{"struct inside itself", args(pointer(inside)), "refers to itself"},
		{"deep", args(deep), "nests deeper than 64"},
		{"pointer to nothing known", args(pointer(kind(Invalid))), "unsupported kind"},
		{"array of nothing", args(pointer(array(1, nil))), "array without element type"},
		{"negative array", args(pointer(array(-1, sint(8)))), "array of -1 elements"},
		{"huge array", args(pointer(array(math.MaxInt, sint(8)))), "at most"},
		{"huge array of empty structs", args(pointer(array(math.MaxInt, &Type{Kind: Struct}))), "at most"},
		{"negative struct", args(fields(-1)), "of -1 bytes"},
		{"huge struct", args(fields(1 << 30)), "of 1073741824 bytes"},
		{"field without type", args(fields(8, Field{"f", 0, nil})), `field "f" of struct "S" has no type`},
		{"field behind the end", args(fields(8, Field{"f", 4, sint(8)})), "8 bytes at offset 4"},
		{"field far behind the end", args(fields(8, Field{"f", math.MaxInt, sint(8)})), "overlap"},
		{"field before the start", args(fields(8, Field{"f", -8, sint(8)})), "overlap"},
		{"fields overlap", args(fields(16, Field{"f", 0, sint(8)}, Field{"g", 4, sint(8)})), `field "g"`},
		{"bad field", args(fields(16, Field{"f", 0, sint(7)})), `field "f" of struct "S": integer of 7 bytes`},
		{"long field name", args(fields(8, Field{strings.Repeat("f", 201), 0, sint(8)})), "field name"},
		{"long struct name", args(pointer(&Type{Kind: Struct, Name: strings.Repeat("f", 201)})), "struct name"},
	} {
		spec := ProbeSpec{Name: "probe", Args: row.args}
		list := faultsOf(t, spec.Validate())
		if row.why == "" {
			if list != nil {
				t.Errorf("%s: %v", row.name, list[0])
			}
			continue
		}
		if len(list) != 1 || !strings.Contains(list[0].Reason, row.why) {
			t.Errorf("%s: %v, want %q", row.name, list, row.why)
		}
	}
}

// A type may refer to many others, but not to any number.
func TestTooManyTypes(t *testing.T) {
	for _, row := range []struct {
		n    int
		fail bool
	}{{MaxTypes - 2, false}, {MaxTypes, true}} {
		s := &Type{Kind: Struct, Size: row.n}
		for i := range row.n {
			s.Fields = append(s.Fields, Field{"f", i, usint(1)})
		}
		p := ProbeSpec{Name: "p", Args: args(pointer(s))}
		if err := p.Validate(); (err != nil) != row.fail {
			t.Errorf("%d fields: %v", row.n, err)
		}
	}
}

// A long list of structs that point to each other takes no deep stack.
func TestLongChain(t *testing.T) {
	var last *Type
	for range MaxTypes/2 - 2 {
		last = &Type{Kind: Struct, Name: "Link", Size: 8, Fields: []Field{{"next", 0, pointer(last)}}}
	}
	spec := &ProviderSpec{Name: "p", Probes: []ProbeSpec{{Name: "a", Args: args(pointer(last))}}}
	for _, m := range allMachines {
		mustBuild(t, spec, m, FormNop1)
	}
}

// All faults are reported, each with its place.
func TestAllFaultsAreReported(t *testing.T) {
	spec := &ProviderSpec{Name: "my provider", Probes: []ProbeSpec{
		{Name: ""},
		{Name: "twice"},
		{Name: "bad", Args: []ArgSpec{{"ok", sint(4)}, {"1", sint(5)}}},
		{Name: "twice"},
	}}
	var got []string
	for _, e := range faultsOf(t, spec.Validate()) {
		got = append(got, e.Error())
	}
	want := []string{
		`spec of provider "my provider": name contains a blank at byte 2`,
		`spec of provider "my provider": probe number 1: name is empty`,
		`spec of provider "my provider": probe "bad": argument "1": name is no C identifier: byte 0 is '1'`,
		`spec of provider "my provider": probe "bad": argument "1": integer of 5 bytes: 1, 2, 4 or 8`,
		`spec of provider "my provider": probe "twice": same name as probe number 2`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Duplicates are found among few probes and among many.
func TestDuplicateProbes(t *testing.T) {
	for _, n := range []int{2, 16, 17, 1000} {
		spec := manyProbes(n)
		if err := spec.Validate(); err != nil {
			t.Errorf("%d: %v", n, err)
		}
		spec.Probes[n-1].Name = spec.Probes[0].Name
		list := faultsOf(t, spec.Validate())
		if len(list) != 1 || list[0].ProbeIndex != n-1 {
			t.Errorf("%d: %v", n, list)
		}
	}
}

func TestTooManyProbes(t *testing.T) {
	spec := &ProviderSpec{Name: "p", Probes: make([]ProbeSpec, MaxProbes+1)}
	if list := faultsOf(t, spec.Validate()); len(list) != 1 || !strings.Contains(list[0].Reason, "65537 probes") {
		t.Errorf("%v", list)
	}
}
