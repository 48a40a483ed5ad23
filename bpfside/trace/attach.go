package trace

import (
	"errors"
	"fmt"
	"os"

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
	names   bool            // the program finds the cookies itself
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
// targets that have it: targets in the file that clauses name by a path, or, if that
// is "", in what processes have mapped. It returns what could not be attached.
func (s *Session) attach(path string, targets []*usdt.Target) (problems []error) {
	if path == "" {
		s.urdt.prepare(targets)
	}
	groups, problems := s.group(path, targets)
	problems = append(problems, s.attachGroups(path, groups)...)
	return append(problems, s.commitNames()...)
}

// attachGroups attaches groups of targets, and returns what could not be attached.
func (s *Session) attachGroups(path string, groups []*group) (problems []error) {
	for _, g := range groups {
		links, errs := g.attach(s.markAttached)
		problems = append(problems, errs...)
		if len(links) > 0 {
			key := fileOf(path, g.members[0].target)
			s.links[key] = append(s.links[key], links...)
		}
	}
	return problems
}

// A fileKey names what is attached to and detached together: the targets in one
// file, of one process or of all, for the clauses with one path.
type fileKey struct {
	path string
	id   usdt.FileID
	pid  int
}

func fileOf(path string, t *usdt.Target) fileKey { return fileKey{path, t.ID, t.PID} }

// group sorts the targets into groups, and makes the programs and decoders that
// they need.
func (s *Session) group(path string, targets []*usdt.Target) (groups []*group, problems []error) {
	byKey := make(map[groupKey]*group)
	seen := make(map[usdt.Key]bool)
	for _, target := range targets {
		if seen[target.Key()] {
			continue // a second link would double its events
		}
		seen[target.Key()] = true
		if path == "" && s.urdt.takes(target) {
			gs, errs := s.groupURDT(target)
			groups, problems = append(groups, gs...), append(problems, errs...)
		}
		for _, c := range s.clauses {
			if c.Path != path || !c.takes(target) {
				continue
			}
			c.selected = true
			for _, t := range target.Layouts() {
				prog, cookie, err := s.prepare(t, c, nil)
				if err != nil {
					if c.isNews(err) {
						problems = append(problems, err)
					}
					continue
				}
				key := groupKey{prog, t.Open, t.ID, t.PID}
				if g := byKey[key]; g == nil || !g.add(t, cookie) {
					g = &group{prog: prog, offsets: make(map[uint64]bool)}
					g.add(t, cookie)
					byKey[key] = g
					groups = append(groups, g)
				}
			}
		}
	}
	return groups, problems
}

// prepare returns the program that does for the hits of a target, which has one layout,
// what a clause says, and the cookie of what it leaves. Names may be nil.
func (s *Session) prepare(t *usdt.Target, c *clause, names *nameLookup) (*ebpf.Program, uint64, error) {
	l, fields, err := plan(t, c, &s.opts, s.compile)
	if err != nil {
		err = wrongProbe(t, err)
		if c.misfit == nil {
			c.misfit = err
		}
		return nil, 0, err
	}
	c.fits = true
	l.names = names
	prog, err := s.program(l)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", t, err)
	}
	p := &probe{clause: c, provider: t.Provider, name: t.Name, fields: fields, size: l.minSize()}
	if l.count != nil {
		p.signed, p.typ = l.count.signed, l.count.typ
	}
	return prog, s.probes.cookie(p), nil
}

// maxMisfits is of how many probes it is told that an expression does not fit them:
// with a pattern such as *:* it may fit few.
const maxMisfits = 5

// isNews reports whether an error is to be told.
func (c *clause) isNews(err error) bool {
	var m *misfit
	if !errors.As(err, &m) {
		return true
	}
	if c.told == nil {
		c.told = make(map[string]int)
	}
	news := false
	for _, e := range m.errs {
		c.told[e.Expr]++
		n := c.told[e.Expr]
		news = news || n <= maxMisfits
		if n == maxMisfits {
			e.Msg += " (other probes that it does not fit are not told)"
		}
	}
	return news
}

// wrongProbe says of which probe an error is.
func wrongProbe(t *usdt.Target, err error) error {
	var m *misfit
	if errors.As(err, &m) {
		return m.of(t.String())
	}
	return fmt.Errorf("%s: %w", t, err)
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
	if l.count == nil && l.size+ringHeader > s.opts.BufferSize {
		return nil, fmt.Errorf("an event of %d bytes does not fit into the buffer of %d", l.size, s.opts.BufferSize)
	}
	maps := programMaps{ring: s.ring, lost: s.lost, comms: s.comms}
	if l.count != nil {
		var err error
		if maps.counts, err = s.countsOf(l.count.clause, l.size); err != nil {
			return nil, err
		}
	}
	prog, err := l.load(&maps, s.ns)
	if err != nil {
		return nil, err
	}
	s.progs[key] = prog
	return prog, nil
}

// attach attaches a group as a whole, or else each member for itself, so that a
// fault costs the probe that has it. It tells the cookies of those that it attaches.
func (g *group) attach(attached func(cookie uint64)) (links []link.Link, problems []error) {
	// Locations that the kernel would refuse are left out beside others.
	var leftOut []error
	note := func(t *usdt.Target, _ *usdt.Location, reason error) {
		leftOut = append(leftOut, fmt.Errorf("%s in %s: %w", t, t.Path, reason))
	}
	t, cookies := g.merged()
	l, err := usdt.AttachUSDT(g.prog, t, &usdt.Options{Cookies: cookies, LeftOut: note})
	if err == nil {
		for _, m := range g.members {
			if !g.names {
				attached(m.cookie)
			}
		}
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
		if !g.names {
			attached(m.cookie)
		}
		problems = append(problems, leftOut...)
		links = append(links, l)
	}
	return links, problems
}
