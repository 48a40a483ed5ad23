// Package run puts a BPF object to work: it loads it, attaches its programs by
// their sections, and gives what they send and what they leave in their maps as
// values that BTF has named.
//
//	CollectionSpec → Set → New → Attach → Events, Snapshot → Close
//
// The specification comes from bpfc.Compile, of a program in C, or from
// usdt.LoadCollectionSpec, of an object of clang.
package run

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cilium/ebpf"

	"github.com/nopfire/nopfire/bpfside/usdt"
)

// Options say how to run an object. A nil *Options is the zero value.
type Options struct {
	// PID is the process that USDT probes, tracepoints of URDT and uprobes are
	// traced in; 0: every process. Other programs do not heed it.
	PID int
	// Cookie and URDTCookie are those of usdt.AutoOptions.
	Cookie     uint64
	URDTCookie uint32
	// NoPrintk leaves bpf_printk to the trace buffer of the system.
	NoPrintk bool
}

// A Session is a loaded object. Its methods may not be called concurrently, but for
// Snapshot while Events goes on.
type Session struct {
	opts     Options
	spec     *ebpf.CollectionSpec
	coll     *usdt.Collection
	attached *usdt.Attached
	types    *eventTypes
	readers  []reader
	problems []error
}

// New loads an object into the kernel and opens what it sends events through.
// Nothing runs before Attach. The caller closes the session. The specification
// is changed and must not be used again.
func New(spec *ebpf.CollectionSpec, opts *Options) (*Session, error) {
	s := &Session{spec: spec}
	if opts != nil {
		s.opts = *opts
	}
	s.types = newEventTypes(spec)
	var err error
	if s.coll, err = usdt.NewCollection(spec, nil); err != nil {
		return nil, err
	}
	if err := s.openReaders(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// openReaders opens each buffer that programs send events through.
func (s *Session) openReaders() error {
	for _, name := range slices.Sorted(maps.Keys(s.coll.Maps)) {
		m := s.coll.Maps[name]
		var r reader
		var err error
		switch m.Type() {
		case ebpf.RingBuf:
			r, err = newRingReader(name, m)
		case ebpf.PerfEventArray:
			r, err = newPerfReader(name, m)
		default:
			continue
		}
		if err != nil {
			return fmt.Errorf("map %s: %w", name, err)
		}
		s.readers = append(s.readers, r)
	}
	if s.opts.NoPrintk || !usesPrintk(s.spec) {
		return nil
	}
	r, err := newPrintkReader()
	if err != nil {
		// The programs run all the same, and their other results are seen.
		s.problems = append(s.problems, fmt.Errorf("bpf_printk cannot be shown: %w", err))
		return nil
	}
	s.readers = append(s.readers, r)
	return nil
}

// Attach attaches every program whose section says to what. From then on they
// run. An error means that none is attached.
func (s *Session) Attach() error {
	if s.attached != nil {
		return errors.New("attach: already attached")
	}
	var err error
	s.attached, err = s.coll.AutoAttach(&usdt.AutoOptions{PID: s.opts.PID, Cookie: s.opts.Cookie, URDTCookie: s.opts.URDTCookie})
	if err != nil {
		return fmt.Errorf("attach: %w", err)
	}
	s.problems = append(s.problems, s.attached.Problems...)
	for _, l := range s.attached.Left {
		s.problems = append(s.problems, fmt.Errorf("program %s, section %q, is not attached: %w", l.Program, l.Section, l.Err))
	}
	return nil
}

// Programs returns the names of the attached programs.
func (s *Session) Programs() []string {
	if s.attached == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.attached.Links))
}

// Problems returns what is left out, each with its reason: programs that are not
// attached, places that are not traced.
func (s *Session) Problems() []error { return s.problems }

// Detach detaches all programs. What they have sent and left is still there.
func (s *Session) Detach() error {
	if s.attached == nil {
		return nil
	}
	err := s.attached.Close()
	s.attached = nil
	return err
}

// Close detaches the programs and unloads the object.
func (s *Session) Close() error {
	err := s.Detach()
	for _, r := range s.readers {
		err = errors.Join(err, r.Close())
	}
	s.readers = nil
	s.coll.Close()
	return err
}
