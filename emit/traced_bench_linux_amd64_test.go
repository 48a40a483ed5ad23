package emit

import (
	"testing"

	"github.com/nopfire/nopfire/elfgen"
)

// BenchmarkTraced is a Fire that the kernel counts, by form of the site.
func BenchmarkTraced(b *testing.B) {
	for _, bm := range []struct {
		name string
		form elfgen.NopForm
	}{
		{"nop1", elfgen.FormNop1},
		{"nop5", elfgen.FormNop5},
	} {
		b.Run(bm.name, func(b *testing.B) {
			p := newProvider(b, "bench", &Options{NopForm: bm.form})
			h := Must(NewProbe2[int64, string](p, "p", nil))
			load(b, p)
			u := attachUprobe(b, &h.probe, false, false)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				h.Fire(int64(i), "some text")
			}
			b.StopTimer()
			if n := u.count(); n != uint64(b.N) {
				b.Fatalf("%d hits for %d fires", n, b.N)
			}
			u.detach()
		})
	}
}
