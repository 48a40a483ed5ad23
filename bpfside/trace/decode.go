package trace

import "fmt"

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
		Args:   d.take(len(p.fields)),
	}
	for i := range p.fields {
		f := &p.fields[i]
		if f.form == formComm {
			ev.Args[i] = Value{Name: f.name, Type: f.typ, Value: d.name}
			continue
		}
		ev.Args[i] = f.value(rec)
	}
	return ev, nil
}

// take returns n values that nobody else has.
func (d *decoder) take(n int) []Value {
	if n > len(d.values) {
		d.values = make([]Value, max(n, chunkValues))
	}
	v := d.values[:n:n]
	d.values = d.values[n:]
	return v
}
