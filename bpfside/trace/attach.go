package trace

import (
	"errors"
	"fmt"
	"os"

	"github.com/cilium/ebpf"

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

// attach loads a program for each layout and attaches it to the targets that
// have it. It fails if nothing could be attached.
func (s *Session) attach(targets []*usdt.Target) error {
	groups, err := s.group(targets)
	if err != nil {
		return err
	}
	for _, g := range groups {
		s.attachGroup(g)
	}
	if len(s.links) > 0 {
		return nil
	}
	if len(s.problems) == 0 {
		return errors.New("no location can be attached to")
	}
	return errors.Join(s.problems...)
}

// group sorts the targets into groups and makes their programs and decoders.
func (s *Session) group(targets []*usdt.Target) ([]*group, error) {
	ns, err := ownPIDNamespace()
	if err != nil {
		return nil, err
	}
	var groups []*group
	byKey := make(map[groupKey]*group)
	progs := make(map[string]*ebpf.Program)
	seen := make(map[usdt.Key]bool)
	for _, target := range targets {
		if seen[target.Key()] {
			continue // a second link would double its events
		}
		seen[target.Key()] = true
		for _, t := range target.Layouts() {
			l, fields := plan(t, &s.opts)
			prog := progs[l.key()]
			if prog == nil {
				if prog, err = l.load(s.ring, s.lost, ns, s.opts.MaxString); err != nil {
					s.problems = append(s.problems, fmt.Errorf("%s: %w", t, err))
					continue
				}
				progs[l.key()] = prog
				s.progs = append(s.progs, prog)
			}
			cookie := uint64(len(s.probes))
			s.probes = append(s.probes, probe{t.Provider, t.Name, fields, l.size})
			key := groupKey{prog, t.Open, t.ID, t.PID}
			if g := byKey[key]; g == nil || !g.add(t, cookie) {
				g = &group{prog: prog, offsets: make(map[uint64]bool)}
				g.add(t, cookie)
				byKey[key] = g
				groups = append(groups, g)
			}
		}
	}
	return groups, nil
}

// attachGroup attaches a group as a whole, or else each member for itself, so
// that a fault costs the probe that has it.
func (s *Session) attachGroup(g *group) {
	t, cookies := g.merged()
	link, err := usdt.AttachUSDT(g.prog, t, &usdt.Options{Cookies: cookies})
	if err == nil {
		s.links = append(s.links, link)
		return
	}
	if len(g.members) == 1 || errors.Is(err, os.ErrPermission) {
		s.problems = append(s.problems, err)
		return
	}
	for _, m := range g.members {
		link, err := usdt.AttachUSDT(g.prog, m.target, &usdt.Options{Cookie: m.cookie})
		if err != nil {
			s.problems = append(s.problems, err)
			continue
		}
		s.links = append(s.links, link)
	}
}
