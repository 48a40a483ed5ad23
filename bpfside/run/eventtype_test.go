package run

import (
	"testing"

	"github.com/cilium/ebpf/btf"
)

// The type of an event goes by its size, and by what the map tells.
func TestChoose(t *testing.T) {
	st := func(name string, size int) candidate {
		return candidate{name, &btf.Struct{Name: name, Size: uint32(size)}, size}
	}
	for _, row := range []struct {
		name          string
		types         mapTypes
		size, padding int
		want          string
	}{
		{"the only one", mapTypes{types: []candidate{st("a", 8)}}, 8, 0, "a"},
		{"by size", mapTypes{types: []candidate{st("a", 8), st("b", 16)}}, 16, 0, "b"},
		{"the first that was told", mapTypes{types: []candidate{st("a", 8), st("b", 8)}}, 8, 0, "a"},
		{"no guess between two", mapTypes{[]candidate{st("a", 8), st("b", 8)}, true}, 8, 0, ""},
		{"a guess by size", mapTypes{[]candidate{st("a", 8), st("b", 16)}, true}, 16, 0, "b"},
		{"padded", mapTypes{types: []candidate{st("a", 12)}}, 16, 7, "a"},
		{"the least padding", mapTypes{types: []candidate{st("a", 9), st("b", 12)}}, 12, 7, "b"},
		{"a text behind it", mapTypes{types: []candidate{st("a", 8)}}, 20, 0, "a"},
		{"a text behind one of two", mapTypes{types: []candidate{st("a", 8), st("b", 12)}}, 20, 0, ""},
		{"shorter than the type", mapTypes{types: []candidate{st("a", 8)}}, 4, 0, ""},
		{"nothing is known", mapTypes{}, 4, 0, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			e := &eventTypes{byMap: map[string]mapTypes{"m": row.types}}
			c, ok := e.choose("m", row.size, row.padding)
			if c.name != row.want || ok != (row.want != "") {
				t.Errorf("%q, %v, want %q", c.name, ok, row.want)
			}
		})
	}
}
