//go:build amd64 || arm64

package emit

import (
	"fmt"
	"io"
	"testing"

	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
	"github.com/nopfire/nopfire/internal/image"
)

// benchProvider makes a provider with n probes of two arguments.
func benchProvider(b testing.TB, n int) (*Provider, []*Probe2[int64, string]) {
	p, err := NewProvider("bench", nil)
	if err != nil {
		b.Fatal(err)
	}
	hs := make([]*Probe2[int64, string], n)
	for i := range hs {
		hs[i] = Must(NewProbe2[int64, string](p, fmt.Sprintf("probe%d", i), nil))
	}
	return p, hs
}

// BenchmarkDisabled is what a program pays for probes that nobody traces.
func BenchmarkDisabled(b *testing.B) {
	p := newProvider(b, "bench", nil)
	two := Must(NewProbe2[int64, string](p, "two", nil))
	twelve := Must(NewProbe12[int, int, int, int, int, int, int, int, int, int, int, string](p, "twelve", nil))
	sem := Must(NewProbe2[int64, string](p, "sem", &ProbeOptions{Semaphore: true}))
	fail := Must(NewProbe1[error](p, "fail", nil))
	dynamic := Must(NewProbe(p, "dynamic", []Arg{{Type: Int64}, {Type: String}}, nil))
	inert := Must(NewProbe2[int64, string](p, "inert", nil))
	load(b, p)
	inert.Remove()
	for _, bm := range []struct {
		name string
		run  func(b *testing.B)
	}{
		// The loops are plain: b.Loop keeps arguments alive in memory.
		{"empty", func(b *testing.B) {
			for range b.N {
			}
		}},
		{"Enabled", func(b *testing.B) {
			for range b.N {
				if two.Enabled() {
					b.Fatal("enabled")
				}
			}
		}},
		{"Fire2", func(b *testing.B) {
			for i := range b.N {
				two.Fire(int64(i), "some text")
			}
		}},
		{"Fire12", func(b *testing.B) {
			for i := range b.N {
				twelve.Fire(i, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, "some text")
			}
		}},
		{"FireError", func(b *testing.B) {
			for range b.N {
				fail.Fire(io.EOF)
			}
		}},
		{"FireFunc", func(b *testing.B) {
			for i := range b.N {
				two.FireFunc(func() (int64, string) { return int64(i), "some text" })
			}
		}},
		{"FireSemaphore", func(b *testing.B) {
			for i := range b.N {
				sem.Fire(int64(i), "some text")
			}
		}},
		{"FireDynamic", func(b *testing.B) {
			for i := range b.N {
				if err := dynamic.Fire(i, "some text"); err != nil {
					b.Fatal(err)
				}
			}
		}},
		{"FireRemoved", func(b *testing.B) {
			for i := range b.N {
				inert.Fire(int64(i), "some text")
			}
		}},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			bm.run(b)
		})
	}
}

// BenchmarkSlowPath is what this package adds to the kernel's price of a traced
// Fire: marshalling and the call of the site.
func BenchmarkSlowPath(b *testing.B) {
	p := newProvider(b, "bench", nil)
	ints := Must(NewProbe2[int64, int8](p, "ints", nil))
	text := Must(NewProbe2[int64, string](p, "text", nil))
	fail := Must(NewProbe1[error](p, "fail", nil))
	load(b, p)
	for _, c := range []*probe{&ints.probe, &text.probe, &fail.probe} {
		pretendTraced(c)
	}
	b.Run("ints", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			ints.Fire(int64(i), 8)
		}
	})
	b.Run("text", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			text.Fire(int64(i), "/index.html")
		}
	})
	b.Run("error", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			fail.Fire(io.EOF)
		}
	})
}

// batched times what timed does, b.N times, with prepare before it and tidy
// after it, whose time does not count. The clock is stopped for batches of n:
// package testing reads the memory statistics whenever it stops or starts, which
// stops the world, and what is timed right behind that is slower than it is in a
// program.
func batched(b *testing.B, n int, prepare, timed, tidy func(i int)) {
	b.ReportAllocs()
	b.StopTimer()
	for left := b.N; left > 0; left -= n {
		n = min(n, left)
		for i := range n {
			prepare(i)
		}
		b.StartTimer()
		for i := range n {
			timed(i)
		}
		b.StopTimer()
		for i := range n {
			tidy(i)
		}
	}
}

// BenchmarkLoad is the time from defined probes to live ones, and BenchmarkClose
// the time from those to nothing.
func BenchmarkLoad(b *testing.B)  { benchmarkLife(b, true) }
func BenchmarkClose(b *testing.B) { benchmarkLife(b, false) }

func benchmarkLife(b *testing.B, timeLoad bool) {
	for _, n := range []int{1, 100, 10000} {
		b.Run(fmt.Sprintf("probes=%d", n), func(b *testing.B) {
			batch := max(1, 100/n) // each provider holds a descriptor
			ps := make([]*Provider, batch)
			prepare := func(i int) { ps[i], _ = benchProvider(b, n) }
			load := func(i int) { load(b, ps[i]) }
			shut := func(i int) {
				if err := ps[i].Close(); err != nil {
					b.Fatal(err)
				}
			}
			if timeLoad {
				batched(b, batch, prepare, load, shut)
			} else {
				batched(b, batch, func(i int) { prepare(i); load(i) }, shut, func(int) {})
			}
		})
	}
}

// BenchmarkLoadSteps takes the load of one probe apart.
func BenchmarkLoadSteps(b *testing.B) {
	p, hs := benchProvider(b, 1)
	spec := elfgen.ProviderSpec{Name: "bench", Probes: []elfgen.ProbeSpec{hs[0].probe.spec}}
	machine, err := hostMachine()
	if err != nil {
		b.Fatal(err)
	}
	build := func(machine stapsdt.Machine) *elfgen.Object {
		obj, err := elfgen.Build(&spec, machine, p.NopForm())
		if err != nil {
			b.Fatal(err)
		}
		return obj
	}
	b.Run("define", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			benchProvider(b, 1)
		}
	})
	b.Run("build", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			build(machine)
		}
	})
	obj := build(machine)
	const batch = 100
	var images [batch]*image.Image
	b.Run("open", func(b *testing.B) {
		batched(b, batch, func(int) {}, func(i int) {
			images[i], err = image.Open(obj, image.Options{Provider: "bench"})
			if err != nil {
				b.Fatal(err)
			}
		}, func(i int) {
			if err := images[i].Close(); err != nil {
				b.Fatal(err)
			}
		})
	})
}
