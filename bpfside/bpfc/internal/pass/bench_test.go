package pass

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir/irgen"
)

// BenchmarkRun shows that the time grows with the size of a function, not with
// its square.
func BenchmarkRun(b *testing.B) {
	for _, values := range []int{300, 3000, 12000} {
		b.Run(fmt.Sprint(values), func(b *testing.B) {
			for i := range b.N {
				b.StopTimer()
				m := irgen.Module(rand.New(rand.NewPCG(uint64(i), 0)), irgen.Options{Values: values, Globals: true})
				b.StartTimer()
				if err := Run(m, Options{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(values), "ns/value")
		})
	}
}
