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

// BenchmarkLoad is the time from defined probes to live ones.
func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{1, 100, 10000} {
		b.Run(fmt.Sprintf("probes=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				b.StopTimer()
				p, _ := benchProvider(b, n)
				b.StartTimer()
				load(b, p)
				b.StopTimer()
				if err := p.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
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
	open := func() *image.Image {
		im, err := image.Open(obj, image.Options{Provider: "bench"})
		if err != nil {
			b.Fatal(err)
		}
		return im
	}
	shut := func(im *image.Image) {
		if err := im.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("open", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			im := open()
			b.StopTimer()
			shut(im)
			b.StartTimer()
		}
	})
	b.Run("close", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			b.StopTimer()
			im := open()
			b.StartTimer()
			shut(im)
		}
	})
}
