package trace

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// A nap must not let the buffer fill, and small buffers fill in no time.
func TestPacer(t *testing.T) {
	for size, want := range map[int]time.Duration{
		minBufferSize:     0,
		1 << 20:           131072 * time.Nanosecond,
		DefaultBufferSize: maxNap,
		maxBufferSize:     maxNap,
	} {
		if got := newPacer(size).nap; got != want {
			t.Errorf("buffer of %d bytes: nap of %v, want %v", size, got, want)
		}
	}
	var p pacer // without naps it only takes note
	p.empty()
	if p.emptied.IsZero() {
		t.Error("no note of the empty buffer")
	}
}

// BenchmarkDecode is what a consumer spends on a record with an integer and a string.
func BenchmarkDecode(b *testing.B) {
	for _, reuse := range []bool{false, true} {
		b.Run(fmt.Sprintf("reuse=%t", reuse), func(b *testing.B) {
			opts, _ := (&Options{ReuseArgs: reuse}).withDefaults()
			opts.Strings = []string{"arg2"}
			l, fields, err := plan(target(stapsdt.X86_64, "-4@%eax 8@%rbx"), new(clause), &opts, nil)
			if err != nil {
				b.Fatal(err)
			}
			s := &Session{opts: opts}
			s.probes.cookie(&probe{clause: new(clause), provider: "p", name: "n", fields: fields, size: l.minSize()})
			rec := make([]byte, l.size)
			order := binary.NativeEndian
			copy(rec[offComm:], "prog")
			order.PutUint64(rec[fields[0].slot:], 123456)
			order.PutUint64(rec[fields[1].slot:], 1)
			order.PutUint64(rec[fields[1].slot+slotStatus:], uint64(copy(rec[fields[1].area:], "/index.html")+1))
			b.ReportAllocs()
			for b.Loop() {
				if ev, err := s.decoder.event(s, rec); err != nil || len(ev.Args) != 2 {
					b.Fatal(err)
				}
			}
		})
	}
}
