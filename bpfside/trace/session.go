package trace

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
)

// A Session traces a set of probes until it is closed. Its methods are safe for
// concurrent use.
type Session struct {
	opts    Options
	clauses []*clause
	pid     int       // of the query
	boot    time.Time // wall clock when the kernel's clock was zero
	ns      pidNamespace

	ring     *ebpf.Map
	lost     *ebpf.Map    // see losses
	lostMem  *ebpf.Memory // its content
	comms    *ebpf.Map    // of counted processes, by pid; nil if none are
	reader   *ringbuf.Reader
	pidfd    *os.File     // of the process; nil if nothing else than a follower waits for its end
	problems []error      // of Start
	later    problemQueue // those that came after it

	// What is attached. A following session attaches and detaches while it
	// runs, under the lock.
	attaching sync.Mutex
	detached  bool                     // nothing is to be attached any more
	progs     map[string]*ebpf.Program // by layout
	bodies    map[string]*compiled     // by signature
	links     map[fileKey][]link.Link
	paths     []watchedPath
	follow    *following // nil unless the session follows
	urdt      *urdtNames // nil unless clauses have names

	probes probeTable

	detach   sync.Once
	watchers sync.WaitGroup
	finished chan struct{} // closed when the probes are detached

	reading  sync.Mutex // held by the one consumer
	decoder  decoder
	reported losses // that the consumer knows of

	close    sync.Once
	closeErr error
	countsMu sync.Mutex // guards counts, and comms against Close
	counts   map[countsKey]*ebpf.Map
}

// newSession returns a session that is attached to nothing so far.
func newSession(opts Options, clauses []*clause) (_ *Session, err error) {
	s := &Session{
		opts: opts, clauses: clauses, finished: make(chan struct{}),
		progs: make(map[string]*ebpf.Program), bodies: make(map[string]*compiled),
		links: make(map[fileKey][]link.Link), counts: make(map[countsKey]*ebpf.Map),
	}
	if s.boot, err = bootTime(); err == nil {
		s.ns, err = ownPIDNamespace()
	}
	if err == nil {
		err = s.createMaps()
	}
	if err == nil {
		s.urdt, err = newURDTNames(clauses)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// createMaps makes the ring buffer with its reader, and the counters of lost hits.
// Maps of counts are made when their size is known.
func (s *Session) createMaps() (err error) {
	size := s.opts.BufferSize
	if !slices.ContainsFunc(s.clauses, func(c *clause) bool { return !c.counts() }) {
		size = minBufferSize // nobody will use it
	}
	s.ring, err = ebpf.NewMap(&ebpf.MapSpec{Name: "nopfire_events", Type: ebpf.RingBuf, MaxEntries: uint32(size)})
	if err != nil {
		return explain("create ring buffer", err)
	}
	s.lost, err = ebpf.NewMap(&ebpf.MapSpec{Name: "nopfire_lost", Type: ebpf.Array, KeySize: 4, ValueSize: 8 * numLostReasons, MaxEntries: 1, Flags: mmapable})
	if err == nil {
		s.lostMem, err = s.lost.Memory()
	}
	if err != nil {
		return explain("create counters of lost events", err)
	}
	if slices.ContainsFunc(s.clauses, func(c *clause) bool { return c.counts() && c.ByProcess }) {
		s.comms, err = ebpf.NewMap(&ebpf.MapSpec{Name: "nopfire_comms", Type: ebpf.LRUHash, KeySize: 4, ValueSize: commLen, MaxEntries: maxComms})
		if err != nil {
			return explain("create map of names", err)
		}
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
// The sequence ends when ctx is cancelled, when the process of the query has ended,
// or when the session is closed. In the first two cases the probes are detached first
// and what they have left in the buffer still comes. A session that only counts has no
// events, and ends as others do. A loop that is left early may be taken up again by another
// call; two calls at the same time take turns.
//
// A [*LostError] tells of lost hits, and a [*ProblemError] of a target that has
// appeared and could not be attached to. They do not end the
// sequence; any other error does.
func (s *Session) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s.reading.Lock()
		defer s.reading.Unlock()
		defer context.AfterFunc(ctx, s.finish)()
		if s.isFinished() || s.later.pending() {
			s.reader.Flush() // an earlier loop has had the wake-up
		}

		pace := newPacer(s.opts.BufferSize)
		var rec ringbuf.Record
		for sinceCheck := 0; ; sinceCheck++ {
			err := s.reader.ReadInto(&rec)
			if errors.Is(err, ringbuf.ErrFlushed) {
				finished := s.isFinished() // no problem comes after
				if !s.later.yield(yield) {
					return
				}
				if !s.yieldLost(yield) || finished {
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
			ev, err := s.decoder.event(s, rec.RawSample)
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
			if rec.Remaining == 0 {
				pace.empty()
			}
		}
	}
}

// Close detaches the probes and frees everything. It ends a running Events
// loop; what was not read by then is gone. Closing twice is harmless.
func (s *Session) Close() error {
	s.close.Do(func() {
		s.finish()
		var errs []error
		if s.pidfd != nil {
			s.pidfd.Close() // ends its watcher
		}
		s.watchers.Wait()
		if s.reader != nil {
			errs = append(errs, s.reader.Close())
		}
		for _, p := range s.progs {
			errs = append(errs, p.Close())
		}
		errs = append(errs, s.urdt.close())
		s.countsMu.Lock()
		defer s.countsMu.Unlock()
		all := []*ebpf.Map{s.ring, s.lost, s.comms}
		for _, m := range s.counts {
			all = append(all, m)
		}
		s.counts = nil
		for _, m := range all {
			errs = append(errs, m.Close()) // of nil, too
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

// watch finishes the session when the process has ended. It does nothing if the kernel
// cannot tell (pidfd_open is Linux 5.3, pollable without blocking 5.10).
func (s *Session) watch(pid int) {
	f, err := openPidfd(pid)
	if errors.Is(err, syscall.ESRCH) { // ended already
		go s.finish()
		return
	}
	if err != nil {
		return
	}
	s.pidfd = f
	exited := make(chan bool, 1)
	s.watchers.Go(func() { exited <- waitExit(f) })
	go func() {
		if <-exited { // else it was closed
			s.finish()
		}
	}()
}
