package run

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"

	"github.com/nopfire/nopfire/bpfside/btfvalue"
)

// An Event is something that a program has sent.
type Event struct {
	// Map is the ring buffer or perf buffer that it came through, "" of
	// bpf_printk.
	Map string
	// CPU is where it was sent; -1 if that is not known, as with ring buffers.
	CPU int
	// Type is the name of its type, "" if none is known.
	Type string
	// Value is its content: a btfvalue.Struct as a rule, btfvalue.Bytes if the
	// type is not known, btfvalue.Text of bpf_printk.
	Value btfvalue.Value
	// Comm, PID and Time (seconds since boot, as text) are known of
	// bpf_printk alone.
	Comm, Time string
	PID        int
	// Lost is how many events were lost before this one, which then has no
	// content.
	Lost uint64
}

// A reader gets events out of one buffer.
type reader interface {
	// read waits for the next event. After flush it returns errFlushed when
	// nothing is left.
	read(types *eventTypes) (Event, error)
	flush() error
	Close() error
}

// errFlushed says that everything which had been sent was read.
var errFlushed = errors.New("flushed")

// Events yields what the programs send until ctx is done; then it detaches the
// programs and yields what is left. An error of one buffer ends the sequence.
func (s *Session) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		type item struct {
			ev  Event
			err error
		}
		items := make(chan item)
		stop := make(chan struct{}) // the caller wants no more
		var wg sync.WaitGroup
		for _, r := range s.readers {
			wg.Go(func() {
				for {
					ev, err := r.read(s.types)
					if errors.Is(err, errFlushed) {
						return
					}
					select {
					case items <- item{ev, err}:
					case <-stop:
						return
					}
					if err != nil {
						return
					}
				}
			})
		}
		done := make(chan struct{})
		go func() { wg.Wait(); close(done) }()

		end := func() {
			for _, r := range s.readers {
				r.flush()
			}
		}
		defer func() {
			close(stop)
			end()
			<-done
		}()

		ending := ctx.Done()
		quiet := done
		if len(s.readers) == 0 {
			quiet = nil // nothing to read is no reason to end
		}
		for {
			select {
			case it := <-items:
				if !yield(it.ev, it.err) || it.err != nil {
					return
				}
			case <-ending:
				ending = nil
				if err := s.Detach(); err != nil && !yield(Event{}, err) {
					return
				}
				end()
				quiet = done
			case <-quiet:
				return
			}
		}
	}
}

// A ringReader reads a BPF_MAP_TYPE_RINGBUF.
type ringReader struct {
	name string
	*ringbuf.Reader
	rec ringbuf.Record
}

func newRingReader(name string, m *ebpf.Map) (*ringReader, error) {
	r, err := ringbuf.NewReader(m)
	if err != nil {
		return nil, err
	}
	return &ringReader{name: name, Reader: r}, nil
}

func (r *ringReader) read(types *eventTypes) (Event, error) {
	err := r.ReadInto(&r.rec)
	if errors.Is(err, ringbuf.ErrFlushed) || errors.Is(err, os.ErrClosed) {
		return Event{}, errFlushed
	}
	if err != nil {
		return Event{}, fmt.Errorf("map %s: %w", r.name, err)
	}
	ev := Event{Map: r.name, CPU: -1}
	ev.Type, ev.Value = types.decode(r.name, r.rec.RawSample, 0)
	return ev, nil
}

func (r *ringReader) flush() error { return r.Flush() }
