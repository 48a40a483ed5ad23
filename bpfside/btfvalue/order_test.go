package btfvalue_test

import (
	"testing"

	"github.com/nopfire/nopfire/bpfside/btfvalue"
)

func TestAdd(t *testing.T) {
	type s = btfvalue.Struct
	for _, row := range []struct {
		a, b btfvalue.Value
		want string // "" for no sum
	}{
		{int64(-1), int64(3), "2"},
		{uint64(1), uint64(3), "4"},
		{float64(1), 0.5, "1.5"},
		{btfvalue.Array{uint64(1), uint64(2)}, btfvalue.Array{uint64(3), uint64(4)}, "[4, 6]"},
		{s{{Name: "n", Value: uint64(1)}}, s{{Name: "n", Value: uint64(2)}}, "{n = 3}"},
		{s{{Name: "n", Value: uint64(1)}, {Name: "t", Value: btfvalue.Text("x")}}, s{{Name: "n", Value: uint64(1)}, {Name: "t", Value: btfvalue.Text("x")}}, ""},
		{btfvalue.Pointer(1), btfvalue.Pointer(1), ""},
		{btfvalue.Enum{Name: "A"}, btfvalue.Enum{Name: "A"}, ""},
		{true, true, ""},
		{int64(1), uint64(1), ""},
	} {
		sum, ok := btfvalue.Add(row.a, row.b)
		if ok != (row.want != "") || ok && btfvalue.String(sum, false) != row.want {
			t.Errorf("%v + %v = %v, %v, want %q", row.a, row.b, sum, ok, row.want)
		}
	}
}

// Each row stands before the next.
func TestCompare(t *testing.T) {
	for _, row := range [][]btfvalue.Value{
		{int64(-1), int64(0), int64(5)},
		{uint64(0), ^uint64(0)},
		{false, true},
		{-0.5, 0.5},
		{btfvalue.Pointer(1), btfvalue.Pointer(2)},
		{btfvalue.Enum{Name: "Z", Value: -1}, btfvalue.Enum{Name: "A", Value: 1}},
		{btfvalue.Text("a"), btfvalue.Text("ab"), btfvalue.Text("b")},
		{btfvalue.Bytes{1}, btfvalue.Bytes{1, 0}},
		{btfvalue.Array{uint64(1)}, btfvalue.Array{uint64(1), uint64(0)}, btfvalue.Array{uint64(2)}},
		{btfvalue.Struct{{Name: "b", Value: uint64(1)}}, btfvalue.Struct{{Name: "b", Value: uint64(2)}}},
	} {
		for i := range row {
			for j := range row {
				want := min(max(i-j, -1), 1)
				if got := min(max(btfvalue.Compare(row[i], row[j]), -1), 1); got != want {
					t.Errorf("%v to %v is %d, want %d", row[i], row[j], got, want)
				}
			}
		}
	}
}
