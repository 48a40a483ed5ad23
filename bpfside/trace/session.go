package trace

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"

	"github.com/nopfire/nopfire/bpfside/usdt"
)

// A Session traces a set of probes until it is closed. Its methods are safe for
// concurrent use.
type Session struct {
	opts Options
	boot time.Time // wall clock when the kernel's clock was zero
	ns   pidNamespace

	ring     *ebpf.Map
	lost     *ebpf.Map
	reader   *ringbuf.Reader
	pidfds   []*os.File
	problems []error

	// What is attached. A following session attaches and detaches while it
	// runs, under the lock.
	attaching sync.Mutex
	detached  bool                     // nothing is to be attached any more
	progs     map[string]*ebpf.Program // by layout
	cookies   map[string]uint64        // by probe
	links     map[fileKey][]link.Link
	follow    *following // nil unless the session follows
	urdt      *urdtNames // nil unless Options.URDT has names

	probesMu sync.RWMutex
	probes   []probe // by cookie

	detach   sync.Once
	watchers sync.WaitGroup
	finished chan struct{} // closed when the probes are detached

	reading  sync.Mutex // held by the one consumer
	reported uint64     // losses that the consumer knows of

	close    sync.Once
	closeErr error
	mapsMu   sync.Mutex // guards lost against Close
	lastLost uint64     // what the counter said last
}

// A probe is what the events of one cookie look like.
type probe struct {
	provider, name string
	fields         []field
	size           int
}

// NewSession attaches to the targets and starts collecting: a hit after it has
// returned is an event. The caller must Close the session; its links and maps
// go with the process otherwise.
//
// A target that cannot be attached does not keep the others from being traced:
// the reasons are in Problems. The session fails with the joined reasons if no
// target is left.
func NewSession(targets []*usdt.Target, o *Options) (*Session, error) {
	opts, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	if len(targets) == 0 {
		return nil, errors.New("trace: no targets")
	}
	s, err := newSession(opts)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	attached := false
	if attached, s.problems = s.attach(targets); !attached {
		s.Close()
		if len(s.problems) == 0 {
			return nil, errors.New("trace: no location can be attached to")
		}
		return nil, fmt.Errorf("trace: %w", errors.Join(s.problems...))
	}
	s.watch(targets)
	return s, nil
}

// newSession returns a session that is attached to nothing so far.
func newSession(opts Options) (_ *Session, err error) {
	s := &Session{
		opts: opts, finished: make(chan struct{}),
		progs: make(map[string]*ebpf.Program), cookies: make(map[string]uint64), links: make(map[fileKey][]link.Link),
	}
	if s.boot, err = bootTime(); err == nil {
		s.ns, err = ownPIDNamespace()
	}
	if err == nil {
		err = s.createMaps()
	}
	if err == nil {
		s.urdt, err = newURDTNames(opts.URDT)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// createMaps makes the ring buffer with its reader, and the counter of lost
// events.
func (s *Session) createMaps() (err error) {
	s.ring, err = ebpf.NewMap(&ebpf.MapSpec{Name: "nopfire_events", Type: ebpf.RingBuf, MaxEntries: uint32(s.opts.BufferSize)})
	if err != nil {
		return explain("create ring buffer", err)
	}
	s.lost, err = ebpf.NewMap(&ebpf.MapSpec{Name: "nopfire_lost", Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		return explain("create counter of lost events", err)
	}
	s.reader, err = ringbuf.NewReader(s.ring)
	if err != nil {
		return fmt.Errorf("read ring buffer: %w", err)
	}
	return nil
}

// Events returns the sequence of events, in the order in which the hits took
// their room in the buffer. Every event that was gathered is in it once.
//
// The sequence ends when ctx is cancelled, when every traced process has ended
// (if all targets belong to processes), or when the session is closed. In the
// first two cases the probes are detached first and what they have left in the
// buffer still comes. A loop that is left early may be taken up again by another
// call; two calls at the same time take turns.
//
// A [*LostError] tells of lost events, and in a following session a
// [*ProblemError] of a target that could not be attached. They do not end the
// sequence; any other error does.
func (s *Session) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s.reading.Lock()
		defer s.reading.Unlock()
		defer context.AfterFunc(ctx, s.finish)()
		if s.isFinished() || s.follow.pending() {
			s.reader.Flush() // an earlier loop has had the wake-up
		}

		var rec ringbuf.Record
		for sinceCheck := 0; ; sinceCheck++ {
			err := s.reader.ReadInto(&rec)
			if errors.Is(err, ringbuf.ErrFlushed) {
				finished := s.isFinished() // no problem comes after
				if !s.follow.yieldProblems(yield) {
					return
				}
				if finished {
					s.yieldLost(yield)
					return
				}
				continue
			}
			if errors.Is(err, os.ErrClosed) {
				return
			}
			if err != nil {
				yield(Event{}, fmt.Errorf("trace: read ring buffer: %w", err))
				return
			}
			ev, err := s.decode(rec.RawSample)
			if !yield(ev, err) || err != nil {
				return
			}
			// Events are lost only while the buffer is full, so there is
			// always one to read after a loss: look when the buffer has
			// been emptied, and now and then in a long backlog.
			if rec.Remaining == 0 || sinceCheck >= 1024 {
				sinceCheck = 0
				if !s.yieldLost(yield) {
					return
				}
			}
		}
	}
}

// yieldLost hands out a LostError if events were lost since the last one.
func (s *Session) yieldLost(yield func(Event, error) bool) bool {
	lost := s.Lost()
	if lost == s.reported {
		return true
	}
	err := &LostError{Count: lost - s.reported}
	s.reported = lost
	return yield(Event{}, err)
}

// decode makes an event of a record. The record comes from a program of this
// package, so a wrong one is an error and not a crash.
func (s *Session) decode(rec []byte) (Event, error) {
	h, err := parseHeader(rec)
	if err != nil {
		return Event{}, fmt.Errorf("trace: %w", err)
	}
	p, ok := s.probeOf(h.cookie)
	if !ok {
		return Event{}, fmt.Errorf("trace: record of unknown probe %d", h.cookie)
	}
	if len(rec) < p.size {
		return Event{}, fmt.Errorf("trace: record of %s:%s has %d bytes, want %d", p.provider, p.name, len(rec), p.size)
	}
	ev := Event{
		Time: s.boot.Add(h.time),
		PID:  int(h.pid), TID: int(h.tid), CPU: int(h.cpu),
		Comm:     h.comm,
		Provider: p.provider, Probe: p.name,
		Args: make([]Value, len(p.fields)),
	}
	for i := range p.fields {
		ev.Args[i] = p.fields[i].value(rec, s.opts.MaxString)
	}
	return ev, nil
}

// probeOf returns the probe with a cookie.
func (s *Session) probeOf(cookie uint64) (probe, bool) {
	s.probesMu.RLock()
	defer s.probesMu.RUnlock()
	if cookie >= uint64(len(s.probes)) {
		return probe{}, false
	}
	return s.probes[cookie], true
}

// Lost returns the number of events lost so far because the buffer was full,
// after Close the number when it was last asked for or reported.
func (s *Session) Lost() uint64 {
	s.mapsMu.Lock()
	defer s.mapsMu.Unlock()
	var buf [8]byte
	if err := s.lost.Lookup(uint32(0), &buf); err == nil {
		s.lastLost = binary.NativeEndian.Uint64(buf[:])
	}
	return s.lastLost
}

// Problems returns why some targets could not be attached when the session was
// made, nil if all are.
func (s *Session) Problems() []error { return s.problems }

// Close detaches the probes and frees everything. It ends a running Events
// loop; what was not read by then is gone. Closing twice is harmless.
func (s *Session) Close() error {
	s.close.Do(func() {
		s.finish()
		var errs []error
		for _, f := range s.pidfds {
			f.Close() // ends its watcher
		}
		s.watchers.Wait()
		if s.reader != nil {
			errs = append(errs, s.reader.Close())
		}
		for _, p := range s.progs {
			errs = append(errs, p.Close())
		}
		errs = append(errs, s.urdt.close())
		s.mapsMu.Lock()
		defer s.mapsMu.Unlock()
		for _, m := range []*ebpf.Map{s.ring, s.lost} {
			if m != nil {
				errs = append(errs, m.Close())
			}
		}
		s.closeErr = errors.Join(errs...)
	})
	return s.closeErr
}

// finish detaches all probes and wakes the consumer, who then reads what is
// left. When a link is closed the kernel has waited for running handlers
// (bpf_uprobe_unregister, kernel/trace/bpf_trace.c), so nothing comes after.
func (s *Session) finish() {
	s.detach.Do(func() {
		all := s.follow.stop()
		s.attaching.Lock()
		s.detached = true
		for _, links := range s.links {
			all = append(all, links...)
		}
		s.attaching.Unlock()
		closeLinks(all)
		close(s.finished)
		if s.reader != nil {
			s.reader.Flush()
		}
	})
}

func (s *Session) isFinished() bool {
	select {
	case <-s.finished:
		return true
	default:
		return false
	}
}

// closeLinks closes links side by side: each close waits for grace periods of
// RCU, about 50 ms, and these waits share.
func closeLinks(links []link.Link) {
	slots := make(chan struct{}, 64)
	var wg sync.WaitGroup
	for _, l := range links {
		slots <- struct{}{}
		wg.Go(func() {
			l.Close()
			<-slots
		})
	}
	wg.Wait()
}

// watch finishes the session when the last of the traced processes has ended.
// It does nothing if some target is not bound to a process, or if the kernel
// cannot tell (pidfd_open is Linux 5.3, pollable without blocking 5.10).
func (s *Session) watch(targets []*usdt.Target) {
	pids := map[int]bool{}
	for _, t := range targets {
		if t.PID == 0 {
			return
		}
		pids[t.PID] = true
	}
	for pid := range pids {
		f, err := openPidfd(pid)
		if errors.Is(err, syscall.ESRCH) {
			continue // ended already
		}
		if err != nil {
			return
		}
		s.pidfds = append(s.pidfds, f)
	}
	exited := make(chan bool, len(s.pidfds))
	for _, f := range s.pidfds {
		s.watchers.Go(func() { exited <- waitExit(f) })
	}
	go func() {
		for range s.pidfds {
			if !<-exited {
				return // closed
			}
		}
		s.finish()
	}()
}
