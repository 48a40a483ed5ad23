package trace

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/nopfire/nopfire/bpfside/usdt"
)

// A group is a number of targets that one link can serve: they are in the same
// file, and their arguments are read by the same program. A link takes about
// 50 ms to go whatever its number of locations, so thousands of probes in one
// object must not be thousands of links.
type group struct {
	prog    *ebpf.Program
	members []member
	offsets map[uint64]bool // of all locations: a link takes each once
}

// A member is a target with one layout, and the cookie of its events.
type member struct {
	target *usdt.Target
	cookie uint64
}

// groupKey tells what targets of one group have in common.
type groupKey struct {
	prog *ebpf.Program
	open string
	id   usdt.FileID
	pid  int
}

// add takes the target into the group, or refuses because one of its locations
// is there already, under another name.
func (g *group) add(t *usdt.Target, cookie uint64) bool {
	for _, l := range t.Locations {
		if g.offsets[l.Offset] {
			return false
		}
	}
	for _, l := range t.Locations {
		g.offsets[l.Offset] = true
	}
	g.members = append(g.members, member{t, cookie})
	return true
}

// merged returns one target with the locations of all members, and the cookie of
// each location.
func (g *group) merged() (*usdt.Target, []uint64) {
	t := *g.members[0].target
	t.Locations = nil
	var cookies []uint64
	for _, m := range g.members {
		for _, l := range m.target.Locations {
			t.Locations = append(t.Locations, l)
			cookies = append(cookies, m.cookie)
		}
	}
	return &t, cookies
}

// attach loads a program for each layout that is new, and attaches it to the
// targets that have it. It reports whether anything is attached, and what could
// not be.
func (s *Session) attach(targets []*usdt.Target) (attached bool, problems []error) {
	s.urdt.prepare(targets)
	groups, problems := s.group(targets)
	for _, g := range groups {
		links, errs := g.attach()
		problems = append(problems, errs...)
		if len(links) > 0 {
			attached = true
			key := fileOf(g.members[0].target)
			s.links[key] = append(s.links[key], links...)
		}
	}
	return attached, append(problems, s.urdt.commit()...)
}

// A fileKey names what is attached to and detached together: the targets in one
// file, of one process or of all.
type fileKey struct {
	id  usdt.FileID
	pid int
}

func fileOf(t *usdt.Target) fileKey { return fileKey{t.ID, t.PID} }

// group sorts the targets into groups, and makes the programs and decoders that
// they need.
func (s *Session) group(targets []*usdt.Target) (groups []*group, problems []error) {
	byKey := make(map[groupKey]*group)
	seen := make(map[usdt.Key]bool)
	for _, target := range targets {
		if seen[target.Key()] {
			continue // a second link would double its events
		}
		seen[target.Key()] = true
		if s.urdt.takes(target) {
			gs, errs := s.groupURDT(target)
			groups, problems = append(groups, gs...), append(problems, errs...)
			continue
		}
		for _, t := range target.Layouts() {
			l, fields := plan(t, &s.opts)
			prog, err := s.program(l)
			if err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", t, err))
				continue
			}
			cookie := s.cookie(probe{t.Provider, t.Name, fields, l.size})
			key := groupKey{prog, t.Open, t.ID, t.PID}
			if g := byKey[key]; g == nil || !g.add(t, cookie) {
				g = &group{prog: prog, offsets: make(map[uint64]bool)}
				g.add(t, cookie)
				byKey[key] = g
				groups = append(groups, g)
			}
		}
	}
	return groups, problems
}

// program returns the program of a layout. It stays until the session is closed:
// what is attached later finds it again.
func (s *Session) program(l *layout) (*ebpf.Program, error) {
	key := l.key()
	if l.names != nil {
		class, ok := s.urdt.classes[key]
		if !ok {
			class = uint64(len(s.urdt.classes))
			s.urdt.classes[key] = class
		}
		l.names.class, l.names.entries = class, s.urdt.entries
	}
	if prog := s.progs[key]; prog != nil {
		return prog, nil
	}
	// A larger one would never get its room, and each hit be lost: see
	// __bpf_ringbuf_reserve, kernel/bpf/ringbuf.c, which adds its header.
	const ringHeader = 8
	if l.size+ringHeader > s.opts.BufferSize {
		return nil, fmt.Errorf("an event of %d bytes does not fit into the buffer of %d", l.size, s.opts.BufferSize)
	}
	prog, err := l.load(s.ring, s.lost, s.ns, s.opts.MaxString)
	if err != nil {
		return nil, err
	}
	s.progs[key] = prog
	return prog, nil
}

// cookie returns the cookie of the events of a probe. Probes of different files
// whose events look the same have one, so that the files may come and go for
// ever: there are as many cookies as different probes. A cookie is never given
// to another probe, since its events may stand in the buffer still.
func (s *Session) cookie(p probe) uint64 {
	key := p.key()
	if c, ok := s.cookies[key]; ok {
		return c
	}
	s.probesMu.Lock()
	defer s.probesMu.Unlock()
	c := uint64(len(s.probes))
	s.probes = append(s.probes, p)
	s.cookies[key] = c
	return c
}

// key tells probes apart by all that a decoder knows of them.
func (p *probe) key() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q %q %d", p.provider, p.name, p.size)
	for _, f := range p.fields {
		fmt.Fprintf(&b, " %q %q %d %d %d %v", f.name, f.typ, f.form, f.slot, f.area, f.err)
	}
	return b.String()
}

// attach attaches a group as a whole, or else each member for itself, so that a
// fault costs the probe that has it.
func (g *group) attach() (links []link.Link, problems []error) {
	// Locations that the kernel would refuse are left out beside others.
	var leftOut []error
	note := func(t *usdt.Target, _ *usdt.Location, reason error) {
		leftOut = append(leftOut, fmt.Errorf("%s in %s: %w", t, t.Path, reason))
	}
	t, cookies := g.merged()
	l, err := usdt.AttachUSDT(g.prog, t, &usdt.Options{Cookies: cookies, LeftOut: note})
	if err == nil {
		return []link.Link{l}, leftOut
	}
	if len(g.members) == 1 || errors.Is(err, os.ErrPermission) {
		return nil, []error{err}
	}
	for _, m := range g.members {
		leftOut = nil
		l, err := usdt.AttachUSDT(g.prog, m.target, &usdt.Options{Cookie: m.cookie, LeftOut: note})
		if err != nil {
			problems = append(problems, err)
			continue
		}
		problems = append(problems, leftOut...)
		links = append(links, l)
	}
	return links, problems
}
