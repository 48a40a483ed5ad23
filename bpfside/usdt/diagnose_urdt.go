package usdt

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/nopfire/nopfire/urdt/abi"
)

// cutURDTName cuts urdt:PROVIDER:NAME, the name of a tracepoint that is defined at run
// time: with two colons, where urdt:probe2 is a probe like any other.
func cutURDTName(pattern string) (provider, name string, ok bool) {
	rest, ok := strings.CutPrefix(pattern, abi.Provider+":")
	if !ok {
		return "", "", false
	}
	provider, name, ok = strings.Cut(rest, ":")
	name, _, _ = strings.Cut(name, "/") // its number of arguments
	return provider, name, ok
}

// runURDT tells whether a tracepoint that is defined at run time can be traced. There
// is no note of it: what is there are objects through which any name fires.
func (d *diagnoser) runURDT(provider, name string) {
	if d.PID != 0 && !d.checkAlive() {
		return
	}
	objects, err := d.urdtObjects()
	switch {
	case err != nil:
		d.fault("object", ReasonNoAccess, "%v", err)
		return
	case len(objects) == 0:
		d.fault("object", ReasonNoObject, "%s", d.among("has mapped an object through which names of run time fire"))
		return
	}
	d.ok("object", "%s: %s", count(len(objects), "object"), printable(strings.Join(objects, ", ")))

	names, problems := RegisteredNames(d.PID)
	for _, p := range problems {
		d.caution("name", ReasonNoAccess, "%v", p)
	}
	want := provider + ":" + name
	var all []string
	by := 0
	for _, n := range names {
		all = append(all, n.Provider+":"+n.Name)
		if n.Provider == provider && n.Name == name {
			by++
		}
	}
	if by > 0 {
		d.ok("name", "%s is registered, by %s", printable(want), count(by, "process or library"))
	} else {
		text := d.among("has registered " + printable(want))
		slices.Sort(all)
		if like := near(want, slices.Compact(all)); len(like) > 0 {
			text += ": did you mean " + printable(strings.Join(like, ", ")) + "?"
		}
		d.caution("name", ReasonNotRegistered, "%s", text)
	}
	d.Probes, d.Traceable = 1, 1
}

// among says that nobody does something, or that the process does not.
func (d *diagnoser) among(what string) string {
	if d.PID == 0 {
		return "no process " + what
	}
	return fmt.Sprintf("process %d has not %s", d.PID, strings.TrimPrefix(what, "has "))
}

// urdtObjects returns the paths of the objects through which names fire.
func (d *diagnoser) urdtObjects() (paths []string, err error) {
	var found *Result
	var targets []*Target
	if d.PID != 0 {
		found, err = ProcessTargets(d.PID, abi.Provider+":*")
	} else {
		targets, _ = KnownURDT()
		found, err = AllTargets(abi.Provider + ":*")
	}
	if err != nil && !errors.Is(err, ErrNoProbe) && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, t := range append(targets, found.Targets...) {
		if _, ok := t.IsURDT(); ok && !slices.Contains(paths, t.Path) {
			paths = append(paths, t.Path)
		}
	}
	return paths, nil
}
