package irgen

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir/interp"
)

// Every module is sound, ends, has one meaning whatever undefined memory holds,
// and has the textual form of itself.
func TestModule(t *testing.T) {
	ops := map[ir.Op]bool{}
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 0))
		m := Module(r, Options{Globals: seed%2 == 0, Calls: seed%3 == 0, Atomics: seed%5 == 0, Pointers: seed%7 < 3, Helpers: seed%4 == 0})
		if err := m.Check(); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, m)
		}
		ctx := make([]byte, ContextSize)
		for i := 0; i < len(ctx); i += 8 {
			binary.LittleEndian.PutUint64(ctx[i:], r.Uint64())
		}
		var results [2]uint64
		for i := range results {
			mc := interp.New(m)
			mc.Undefined = byte(0x5a * i)
			var err error
			if results[i], err = mc.Call(m.Funcs[len(m.Funcs)-1], mc.Object(ctx)); err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, m)
			}
		}
		if results[0] != results[1] {
			t.Fatalf("seed %d: reads undefined memory\n%s", seed, m)
		}
		text := m.String()
		again, err := ir.Parse("random", text)
		if err != nil || again.String() != text {
			t.Fatalf("seed %d: read back: %v\n%s", seed, err, m)
		}
		for _, f := range m.Funcs {
			for _, b := range f.Blocks {
				for _, v := range b.Values {
					ops[v.Op] = true
				}
			}
		}
	}
	// What a number and a pointer of the verifier's must not be mixed by, and
	// what has no result to compare.
	without := map[ir.Op]bool{
		ir.OpParam: true, ir.OpUndef: true, ir.OpFunc: true, ir.OpPtrToInt: true, ir.OpIntToPtr: true,
		ir.OpBarrier: true,
	}
	for op := ir.OpParam; op <= ir.OpBarrier; op++ {
		if ops[op] == without[op] {
			t.Errorf("%v: made %t, want %t", op, ops[op], !without[op])
		}
	}
}
