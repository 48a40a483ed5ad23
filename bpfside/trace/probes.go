package trace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// A probe is what the events, or the keys, of one cookie look like.
type probe struct {
	clause         *clause
	provider, name string
	fields         []field
	blank          []Value     // a blank value for each
	size           int         // that a record has at least, or that of a key
	signed         bool        // the value of its histogram
	typ            string      // of that value
	attached       atomic.Bool // it is, or was
}

// key tells probes apart by all that a decoder knows of them.
func (p *probe) key() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %q %q %d %t %q", p.clause.index, p.provider, p.name, p.size, p.signed, p.typ)
	for _, f := range p.fields {
		fmt.Fprintf(&b, " %q %q %d %d %d %d %v", f.name, f.typ, f.form, f.load, f.slot, f.area, f.err)
	}
	return b.String()
}

// probeTable has the probes by cookie. They are added while a consumer looks them up.
type probeTable struct {
	mu      sync.Mutex
	cookies map[string]uint64 // by the key of a probe
	list    atomic.Pointer[[]*probe]
}

// cookie returns the cookie of the events of a probe. Probes of different files
// whose events look the same have one, so that the files may come and go for
// ever: there are as many cookies as different probes. A cookie is never given
// to another probe, since its events may stand in the buffer still.
func (t *probeTable) cookie(p *probe) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := p.key()
	if c, ok := t.cookies[key]; ok {
		return c
	}
	if t.cookies == nil {
		t.cookies = make(map[string]uint64)
	}
	for i := range p.fields {
		p.blank = append(p.blank, p.fields[i].blank())
	}
	list := append(t.all(), p) // behind what readers of the old list see
	c := uint64(len(list) - 1)
	t.list.Store(&list)
	t.cookies[key] = c
	return c
}

func (t *probeTable) all() []*probe {
	if list := t.list.Load(); list != nil {
		return *list
	}
	return nil
}

// get returns the probe with a cookie, nil if there is none.
func (t *probeTable) get(cookie uint64) *probe {
	if list := t.all(); cookie < uint64(len(list)) {
		return list[cookie]
	}
	return nil
}

// markAttached takes note that a probe is attached to.
func (s *Session) markAttached(cookie uint64) { s.probes.get(cookie).attached.Store(true) }

// A SessionProbe is a probe that a clause has selected.
type SessionProbe struct {
	// Clause is the index of the clause in the Query.
	Clause int
	// Provider and Name are those of its events.
	Provider, Name string
}

// Probes returns the probes that are attached to, and those that were and are gone,
// by clause and name, each once. It may be called while Events runs.
func (s *Session) Probes() []SessionProbe {
	var out []SessionProbe
	for _, p := range s.probes.all() {
		if p.attached.Load() {
			out = append(out, SessionProbe{p.clause.index, p.provider, p.name})
		}
	}
	slices.SortFunc(out, func(a, b SessionProbe) int {
		return cmp.Or(cmp.Compare(a.Clause, b.Clause), cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Name, b.Name))
	})
	return slices.Compact(out)
}
