package usdt

import (
	"errors"
	"fmt"
	"os"
)

// A group are targets that one link can hold.
type group struct {
	pid     int // 0: all processes
	targets []*Target
	cookies [][]uint64 // of each target; nil: the one of the options

	file   *os.File
	places []place
}

// groupTargets splits targets by file and process.
func groupTargets(targets []*Target, o *Options) ([]*group, error) {
	type key struct {
		id  FileID
		pid int
	}
	var groups []*group
	byKey := make(map[key]*group)
	cookies := o.Cookies
	for _, t := range targets {
		if t == nil {
			return nil, errors.New("attach: target is nil")
		}
		k := key{t.ID, o.PID}
		switch {
		case o.PID == 0:
			k.pid = t.PID
		case o.PID < 0:
			k.pid = 0
		}
		g := byKey[k]
		if g == nil {
			g = &group{pid: k.pid}
			byKey[k] = g
			groups = append(groups, g)
		}
		g.targets = append(g.targets, t)
		var own []uint64
		if o.Cookies != nil {
			if len(cookies) < len(t.Locations) {
				return nil, g.fail(o.Method, fmt.Errorf("%d cookies for more locations", len(o.Cookies)))
			}
			own, cookies = cookies[:len(t.Locations)], cookies[len(t.Locations):]
		}
		g.cookies = append(g.cookies, own)
	}
	switch {
	case len(targets) == 0:
		return nil, errors.New("attach: no target")
	case len(cookies) > 0:
		return nil, groups[0].fail(o.Method, fmt.Errorf("%d cookies for %d locations", len(o.Cookies), len(o.Cookies)-len(cookies)))
	}
	return groups, nil
}

func (g *group) fail(m Method, err error) error {
	return attachError(g.targets[0], len(g.targets)-1, g.pid, m, err)
}

// plan opens the file, and decides where to attach.
func (g *group) plan(o *Options) error {
	var err error
	if locs := g.targets[0].Locations; len(locs) > 0 {
		if err := checkHost(locs[0].Machine); err != nil {
			return err
		}
	}
	if g.file, err = reopen(g.targets[0]); err != nil {
		return err
	}
	sr := newSiteReader(g.file, g.targets[0].ID.Size, g.targets[0].Path, thisKernel())
	for i, t := range g.targets {
		places, err := plan(t, o, g.cookies[i], sr.sites(t))
		if err != nil {
			if i > 0 { // the error names the first probe
				err = fmt.Errorf("%s: %w", printable(t.String()), err)
			}
			return err
		}
		g.places = append(g.places, places...)
	}
	if len(g.targets) > 1 {
		if g.places, err = merge(g.places); err != nil {
			return err
		}
	}
	return checkSemaphores(g.places)
}

// merge drops places that are there already, as those of a file that was found in
// two processes and is traced in all. A place with two cookies stays twice, so that
// the program runs for both.
func merge(places []place) ([]place, error) {
	seen := make(map[place]bool, len(places))
	refCtr := make(map[uint64]uint64, len(places))
	out := places[:0]
	for _, p := range places {
		if seen[p] {
			continue
		}
		seen[p] = true
		if first, ok := refCtr[p.offset]; ok && first != p.refCtr {
			return nil, twoSemaphores(p.offset, first, p.refCtr)
		}
		refCtr[p.offset] = p.refCtr
		out = append(out, p)
	}
	return out, nil
}

func (g *group) close() {
	if g.file != nil {
		g.file.Close()
	}
}

// join is errors.Join, but that a single error stays as it is.
func join(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}
