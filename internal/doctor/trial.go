package doctor

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/nopfire/nopfire/internal/feature"
)

// A trial is a check that consists in trying.
type trial struct {
	group, name string
	// found is what success means.
	found string
	// lost is what does not work without it, for a trial that is not needed.
	lost string
	// remedy is what helps where privileges are not the reason.
	remedy string
	// needed says that tracing does not work without it; wanted, that something
	// does not that nopfire is for.
	needed, wanted bool
	// try tries, and may return something to say instead of found.
	try func() (string, error)
}

// trying makes a trial's function of one that says nothing but an error.
func trying(f func() error) func() (string, error) {
	return func() (string, error) { return "", f() }
}

// privilegesFirst is the remedy for what privileges would bring.
const privilegesFirst = "the privileges that are missing above"

// refused is the remedy where the kernel refuses what it has.
const refused = "see seccomp, lockdown and the security modules above; in a container, its runtime's policy"

// userNamespaceFirst is that for what capabilities would bring in another user
// namespace.
const userNamespaceFirst = "the user namespace above"

// check tries.
func (t *trial) check() Check {
	c := Check{Group: t.group, Name: t.name, Found: t.found}
	said, err := t.try()
	if said != "" {
		c.Found = said
	}
	if err == nil {
		return c
	}
	c.Status, c.Found = Note, reason(err)
	var pe *feature.PermissionError
	if errors.As(err, &pe) && !t.needed && !t.wanted {
		// Nothing is known, and a remedy stands where the capability does.
		c.Found = "not known: " + c.Found
		return c
	}
	if t.lost != "" {
		c.Found += "; " + t.lost
	}
	if t.needed || t.wanted {
		c.Status, c.Remedy = Missing, t.remedy
		switch {
		case pe == nil:
		case pe.UserNamespace:
			c.Remedy = userNamespaceFirst
		case len(pe.Missing) > 0:
			c.Remedy = privilegesFirst
		default: // the kernel has it, and refuses it
			c.Remedy = refused
		}
	}
	switch {
	case !t.needed:
	case pe != nil: // what was tried first is of no interest
		c.err = &feature.PermissionError{Op: "trace", Missing: pe.Missing, UserNamespace: pe.UserNamespace, Err: pe.Err}
	default:
		c.err = fmt.Errorf("%s: %w", t.name, err)
	}
	return c
}

// reason says in a few words why something is not there.
func reason(err error) string {
	var ue *feature.UnsupportedError
	if errors.As(err, &ue) {
		s := "not supported (needs Linux " + ue.Since + ")"
		if ue.Cause != nil {
			s += ": " + firstLine(ue.Cause)
		}
		return s
	}
	var pe *feature.PermissionError
	if errors.As(err, &pe) {
		if pe.UserNamespace {
			return "refused in this user namespace: " + answer(pe.Err)
		}
		if len(pe.Missing) == 0 {
			return "refused in spite of all capabilities: " + answer(pe.Err)
		}
		return "missing " + join(pe.Missing)
	}
	return firstLine(err)
}

// answer is what the kernel said, without what others make of it.
func answer(err error) string {
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		return errno.Error()
	}
	return firstLine(err)
}

// firstLine returns the first line of an error: the verifier says more.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// join writes capabilities as "A and B".
func join(caps []feature.Capability) string {
	names := make([]string, len(caps))
	for i, c := range caps {
		names[i] = c.String()
	}
	return strings.Join(names, " and ")
}
