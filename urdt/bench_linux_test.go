//go:build amd64 || arm64

package urdt

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"github.com/nopfire/nopfire/urdt/abi"
)

// BenchmarkUntraced is what a program pays for a name that nobody traces: while
// nobody traces any name of its arity, and while the other fifteen shards are
// traced.
func BenchmarkUntraced(b *testing.B) {
	run := func(b *testing.B) {
		handle := Must(New3[int64, string, int](benchProvider, benchName))
		one := Must(New1[int64](benchProvider, benchName))
		dynamic := Must(New(benchProvider, benchName, 3))
		for _, bm := range []struct {
			name string
			run  func(b *testing.B)
		}{
			// The loops are plain: b.Loop keeps arguments alive in memory.
			{"empty", func(b *testing.B) {
				for range b.N {
				}
			}},
			{"Handle1", func(b *testing.B) {
				for i := range b.N {
					one.Fire(int64(i))
				}
			}},
			{"Handle3", func(b *testing.B) {
				for i := range b.N {
					handle.Fire(int64(i), "some text", i)
				}
			}},
			{"Enabled", func(b *testing.B) {
				for range b.N {
					if handle.Enabled() {
						b.Fatal("enabled")
					}
				}
			}},
			{"Handle", func(b *testing.B) {
				for i := range b.N {
					if err := dynamic.Fire(i, "some text", i); err != nil {
						b.Fatal(err)
					}
				}
			}},
			{"Probe3", func(b *testing.B) {
				for i := range b.N {
					Probe3(benchProvider, benchName, int64(i), "some text", i)
				}
			}},
		} {
			b.Run(bm.name, func(b *testing.B) {
				b.ReportAllocs()
				onCPU(b, bm.run)
			})
		}
	}
	b.Run("quiet", func(b *testing.B) {
		newRig(b)
		run(b)
	})
	b.Run("other shards traced", func(b *testing.B) {
		r := newRig(b)
		mine := r.site(3, benchProvider, benchName)
		for shard := range abi.Shards {
			if at := r.obj.Sites[3*abi.Shards+shard].Location - r.obj.Text.Off; at != mine {
				r.rec.Arm(at)
			}
		}
		run(b)
	})
}

// onCPU runs a benchmark and reports, beside the time that went by, the time
// that its thread had a processor: on a machine that others use, too, the first
// says little.
func onCPU(b *testing.B, run func(*testing.B)) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadTime(b)
	run(b)
	b.ReportMetric(float64(threadTime(b)-before)/float64(b.N), "cpu-ns/op")
}

// threadTime returns the processor time of the thread in nanoseconds.
func threadTime(b *testing.B) int64 {
	const clockThreadCPUTimeID = 3
	var t syscall.Timespec
	if _, _, e := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPUTimeID, uintptr(unsafe.Pointer(&t)), 0); e != 0 {
		b.Fatal(e)
	}
	return t.Nano()
}

// The name of the benchmarks.
const (
	benchProvider = "myapp"
	benchName     = "request"
)

// BenchmarkTraced is what this package adds to the kernel's price of a traced
// fire: marshalling, hashing and the call of the site.
func BenchmarkTraced(b *testing.B) {
	r := newRig(b)
	r.arm(2, benchProvider, benchName)
	ints := Must(New2[int64, int](benchProvider, benchName))
	b.Run("handle, ints", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			ints.Fire(int64(i), i)
		}
	})
	b.Run("strings, ints", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			Probe2(benchProvider, benchName, int64(i), i)
		}
	})
	b.Run("strings, text", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			Probe2(benchProvider, benchName, int64(i), "/index.html")
		}
	})
}

// BenchmarkFirstUse is the time that the first use of the package takes.
func BenchmarkFirstUse(b *testing.B) {
	for i := range b.N {
		setCurrent(&unopened)
		registry.names, registry.seen = nil, nil
		Must(New("p", fmt.Sprint(i), 1))
	}
}
