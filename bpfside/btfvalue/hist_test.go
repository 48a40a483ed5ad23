package btfvalue_test

import (
	"strings"
	"testing"

	"github.com/nopfire/nopfire/bpfside/btfvalue"
)

func TestWriteLog2(t *testing.T) {
	for _, row := range []struct {
		name  string
		slots []uint64
		want  string
	}{
		{"empty", make([]uint64, 8), "(no values)\n"},
		{"some", []uint64{1, 0, 4, 2, 0, 0}, `
   usecs : count    distribution
 0 -> 1  : 1        |**********                              |
 2 -> 3  : 0        |                                        |
 4 -> 7  : 4        |****************************************|
 8 -> 15 : 2        |********************                    |
`},
		{"a small part is seen", []uint64{1, 1000}, `
 usecs : count    distribution
0 -> 1 : 1        |*                                       |
2 -> 3 : 1000     |****************************************|
`},
	} {
		t.Run(row.name, func(t *testing.T) {
			var b strings.Builder
			if err := btfvalue.WriteLog2(&b, row.slots, "usecs"); err != nil {
				t.Fatal(err)
			}
			if got, want := b.String(), strings.TrimPrefix(row.want, "\n"); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
	t.Run("the last slot", func(t *testing.T) {
		var b strings.Builder
		slots := make([]uint64, 64)
		slots[63] = 1
		if err := btfvalue.WriteLog2(&b, slots, ""); err != nil || !strings.Contains(b.String(), "9223372036854775808 -> 18446744073709551615 : 1 ") {
			t.Errorf("%v\n%s", err, &b)
		}
	})
}

func TestWriteRanges(t *testing.T) {
	var b strings.Builder
	err := btfvalue.WriteRanges(&b, []btfvalue.Range{
		{"…", "-1", 1}, {"0", "0", 4}, {"1", "1", 0}, {"2", "3", 2}, {"1024", "…", 1},
	}, "size")
	want := `
        size : count    distribution
   … -> -1   : 1        |**********                              |
   0         : 4        |****************************************|
   1         : 0        |                                        |
   2 -> 3    : 2        |********************                    |
1024 -> …    : 1        |**********                              |
`
	if got := b.String(); err != nil || got != want[1:] {
		t.Errorf("error %v\n%swant%s", err, got, want)
	}
}

// A head that is wider than the ranges keeps to their column, unless it takes too much.
func TestWriteRangesHead(t *testing.T) {
	for _, row := range []struct{ unit, want string }{
		{"latency (ns)", "latency (ns) : count    distribution\n      4 -> 7 : 1        |"},
		{"12345678", "12345678 : count    distribution\n  4 -> 7 : 1        |"},
		{strings.Repeat("x", 25), strings.Repeat("x", 25) + " : count    distribution\n4 -> 7 : 1        |"},
	} {
		var b strings.Builder
		err := btfvalue.WriteRanges(&b, []btfvalue.Range{{"4", "7", 1}}, row.unit)
		if got := b.String(); err != nil || !strings.HasPrefix(got, row.want) {
			t.Errorf("error %v\n%swant\n%s", err, got, row.want)
		}
	}
}

func TestSlots(t *testing.T) {
	n := func(n int) (a btfvalue.Array) {
		for i := range n {
			a = append(a, uint64(i))
		}
		return a
	}
	for _, row := range []struct {
		v    btfvalue.Value
		want bool
	}{
		{n(27), true}, {n(64), true}, {n(65), false}, {n(1), false},
		{btfvalue.Array{int64(1), int64(2)}, true}, {btfvalue.Array{int64(1), int64(-2)}, false},
		{btfvalue.Array{true, false}, false}, {uint64(1), false},
	} {
		if _, ok := btfvalue.Slots(row.v); ok != row.want {
			t.Errorf("%v: %v, want %v", row.v, ok, row.want)
		}
	}
}
