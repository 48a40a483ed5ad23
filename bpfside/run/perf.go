//go:build !windows

package run

import (
	"errors"
	"fmt"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/perf"
)

// perfPages is the size of the buffer of each CPU, in pages: what bcc takes as
// its default is 8, which a burst of a few hundred events fills.
const perfPages = 64

// A perfReader reads a BPF_MAP_TYPE_PERF_EVENT_ARRAY.
type perfReader struct {
	name string
	*perf.Reader
	rec perf.Record
}

func newPerfReader(name string, m *ebpf.Map) (*perfReader, error) {
	r, err := perf.NewReader(m, perfPages*os.Getpagesize())
	if err != nil {
		return nil, err
	}
	return &perfReader{name: name, Reader: r}, nil
}

func (r *perfReader) read(types *eventTypes) (Event, error) {
	err := r.ReadInto(&r.rec)
	if errors.Is(err, perf.ErrFlushed) || errors.Is(err, os.ErrClosed) {
		return Event{}, errFlushed
	}
	if err != nil {
		return Event{}, fmt.Errorf("map %s: %w", r.name, err)
	}
	ev := Event{Map: r.name, CPU: r.rec.CPU, Lost: r.rec.LostSamples}
	if ev.Lost == 0 {
		// A sample is padded, so that with its length of four bytes it ends at
		// a multiple of eight (kernel/events/core.c, perf_prepare_sample).
		ev.Type, ev.Value = types.decode(r.name, r.rec.RawSample, 7)
	}
	return ev, nil
}

func (r *perfReader) flush() error { return r.Flush() }
