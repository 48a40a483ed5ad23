package trace

import (
	"fmt"
	"time"
)

// A decoder makes events of records. Events belong to the caller, and what they are
// made of is allocated for many at once.
type decoder struct {
	comm   [commLen]byte // of the last event, which as a rule is that of the next
	name   string        // that it spells
	values []Value       // that no event has yet
}

// chunkValues is how many values are allocated at once.
const chunkValues = 128

// event makes an event of a record. The record comes from a program of this package,
// so a wrong one is an error and not a crash.
func (d *decoder) event(s *Session, rec []byte) (Event, error) {
	h, err := parseHeader(rec)
	if err != nil {
		return Event{}, fmt.Errorf("trace: %w", err)
	}
	p := s.probes.get(h.cookie)
	if p == nil {
		return Event{}, fmt.Errorf("trace: record of unknown probe %d", h.cookie)
	}
	if len(rec) < p.size {
		return Event{}, fmt.Errorf("trace: record of %s:%s has %d bytes, want %d", p.provider, p.name, len(rec), p.size)
	}
	if h.comm != d.comm || d.name == "" {
		d.comm, d.name = h.comm, cString(h.comm[:])
	}
	ev := Event{
		Time: s.boot.Add(h.time),
		PID:  int(h.pid), TID: int(h.tid), CPU: int(h.cpu),
		Comm:     d.name,
		Provider: p.provider, Probe: p.name,
		Clause: p.clause.index,
		Args:   d.take(len(p.fields), s.opts.ReuseArgs),
	}
	copy(ev.Args, p.blank)
	for i := range p.fields {
		if f := &p.fields[i]; f.form == formComm {
			ev.Args[i].Value = d.name
		} else {
			f.read(&ev.Args[i], rec)
		}
	}
	return ev, nil
}

// take returns n values: those of the event before, or such as nobody else has.
func (d *decoder) take(n int, reuse bool) []Value {
	if n > len(d.values) {
		d.values = make([]Value, max(n, chunkValues))
	}
	v := d.values[:n:n]
	if !reuse {
		d.values = d.values[n:]
	}
	return v
}

// A pacer lets a consumer who has caught up wait a little for the next events while
// these come one close behind the other. An event wakes a consumer who waits for it,
// which costs the traced program more than the event itself; one that has its room in
// the buffer behind others does not.
type pacer struct {
	nap     time.Duration
	emptied time.Time // when the buffer was
}

// maxNap is how late an event may be told because of it.
const maxNap = time.Millisecond

// newPacer returns the pacer for a buffer of some size, of which a nap must not fill
// much: 8 bytes a nanosecond are more than all CPUs of a large machine write.
func newPacer(size int) pacer {
	nap := min(maxNap, time.Duration(size/8))
	if nap < maxNap/10 {
		nap = 0 // shorter ones are not to be had
	}
	return pacer{nap: nap}
}

// empty takes note that the buffer is empty, and waits if it was just before.
func (p *pacer) empty() {
	now := time.Now()
	if now.Sub(p.emptied) < p.nap {
		time.Sleep(p.nap)
		now = now.Add(p.nap)
	}
	p.emptied = now
}
