// Package doctor finds out what this kernel and this user can do of what the
// command nopfire does, and what would help where they cannot.
//
// It goes by trying wherever something can be tried: versions, settings and
// capabilities are looked at for the sake of the explanation. The last trial is
// the whole way of a probe, from its definition in this process to an event.
//
// The package may not know of flags and printing. Nothing is attached to a process
// but the calling one, and nothing is left behind.
package doctor

// A Status says how a check went.
type Status uint8

// The statuses.
const (
	// OK: it is there, or as it should be.
	OK Status = iota
	// Missing: it is not, and something does not work for it. The check has a
	// Remedy.
	Missing
	// Note: it is not there, and that takes nothing away, or only what Found
	// says; or it could not be found out.
	Note
)

// String returns "ok", "missing" or "note".
func (s Status) String() string {
	switch s {
	case OK:
		return "ok"
	case Missing:
		return "missing"
	case Note:
		return "note"
	}
	return "invalid"
}

// A Check is one thing that was looked at.
type Check struct {
	// Group is what the check belongs to, one of the Group constants.
	Group string
	// Name is the thing, the same in every run and release.
	Name   string
	Status Status
	// Found is what was found, a few words. It may quote names from the outside.
	Found string
	// Remedy is what would help; "" unless the status is Missing.
	Remedy string

	// err is why tracing does not work, if that hinges on this check.
	err error
}

// The groups of checks, in their order.
const (
	GroupMachine    = "machine"
	GroupPrivileges = "privileges"
	GroupTracing    = "tracing"
	GroupRun        = "programs of nopfire run"
	GroupDefining   = "probes defined at run time"
	GroupProcess    = "process"
)

// A Report is the result of all checks.
type Report struct {
	// Checks are grouped: those of a group stand together.
	Checks []Check
}

// Blocker returns the check that tracing fails for, nil if it works. Of several it is
// the first, as the later ones follow from it.
func (r *Report) Blocker() *Check {
	for i := range r.Checks {
		if r.Checks[i].err != nil {
			return &r.Checks[i]
		}
	}
	return nil
}

// Err returns why tracing does not work, nil if it does. The error wraps a
// *feature.PermissionError if privileges are what is missing.
func (r *Report) Err() error {
	if c := r.Blocker(); c != nil {
		return c.err
	}
	return nil
}

// Run does all checks; those of a process too, unless pid is 0. It takes about
// half a second, as the kernel takes its time to forget what was tried.
func Run(pid int) *Report { return &Report{Checks: checks(pid)} }
