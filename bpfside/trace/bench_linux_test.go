//go:build amd64 || arm64

package trace_test

import (
	"context"
	"os"
	"testing"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/emit"
	"github.com/nopfire/nopfire/internal/testutils"
)

// BenchmarkEvents is the cost of an event with an integer and a string from the
// fire to the consumer, both in this process and taking turns: what one core
// spends on it altogether.
func BenchmarkEvents(b *testing.B) {
	testutils.NeedBPF(b)
	p, err := emit.NewProvider("bench", nil)
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	h, err := emit.NewProbe2[int64, string](p, "hit", nil)
	if err != nil {
		b.Fatal(err)
	}
	if err := p.Load(); err != nil {
		b.Fatal(err)
	}
	s, err := trace.Start(trace.Query{PID: os.Getpid(), Clauses: clauses("bench:hit")})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	b.ReportAllocs()
	const burst = 1000 // fits the buffer
	for done := 0; done < b.N; {
		n := min(burst, b.N-done)
		for i := range n {
			h.Fire(int64(i), "/index.html")
		}
		got := 0
		for _, err := range s.Events(context.Background()) {
			if err != nil {
				b.Fatal(err)
			}
			if got++; got == n {
				break
			}
		}
		done += n
	}
}
