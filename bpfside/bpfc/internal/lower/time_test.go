package lower

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// large returns a function of n calls, each with a branch and values that live
// across it.
func large(t testing.TB, n int) *ir.Func {
	var b strings.Builder
	b.WriteString("func @f i64 static {\nb1(v1 ptr, v2 i64, v3 i64):\n")
	id := 4
	last, total := 2, 3
	for range n {
		fmt.Fprintf(&b, "\tv%d i64 = load.8 v1+8\n", id)
		fmt.Fprintf(&b, "\tv%d i64 = helper 5(v%d, v%d)\n", id+1, last, id)
		fmt.Fprintf(&b, "\tv%d i64 = add v%d, v%d\n", id+2, id, total)
		fmt.Fprintf(&b, "\tv%d i32 = cmp.ult v%d, v%d\n", id+3, id+1, id+2)
		fmt.Fprintf(&b, "\tif v%d b%d, b%d(v%d)\n", id+3, id+4, id+5, total)
		fmt.Fprintf(&b, "b%d:\n\tv%d i64 = xor v%d, v%d\n\tjump b%d(v%d)\n", id+4, id+6, last, id, id+5, id+6)
		fmt.Fprintf(&b, "b%d(v%d i64):\n", id+5, id+7)
		last, total = id+1, id+7
		id += 8
	}
	fmt.Fprintf(&b, "\tret v%d\n}\n", total)
	return parse(t, b.String()).Funcs[0]
}

// A function of more than 5,000 instructions is a matter of a tenth of a second.
// The bound is for slow machines; without it, what is quadratic in the length
// would go unnoticed until somebody unrolls a loop.
func TestTime(t *testing.T) {
	f := large(t, 800)
	start := time.Now()
	c, err := Func(f, Options{})
	took := time.Since(start)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d instructions took %v", len(c.Insns), took)
	if took > 5*time.Second || len(c.Insns) < 5000 {
		t.Errorf("%d instructions took %v", len(c.Insns), took)
	}
}

func BenchmarkFunc(b *testing.B) {
	f := large(b, 100)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Func(f, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
