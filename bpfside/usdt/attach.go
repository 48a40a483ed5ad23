package usdt

import (
	"errors"
	"fmt"
	"strings"
)

// Options say how to attach. The zero value of each field is the usual choice,
// and a nil *Options is all of them.
type Options struct {
	// Cookie is what bpf_get_attach_cookie returns in the program.
	Cookie uint64
	// Cookies, if not nil, has a cookie for each location of the target; of
	// all targets, one after another, in AttachAll.
	Cookies []uint64
	// PID is the process to trace; 0: the one of the target; AllProcesses:
	// every process that maps the file, later ones too.
	PID int
	// Method is the method that the program was prepared for.
	Method Method
	// LeftOut, if not nil, is called for each location that is not attached
	// to while others are, with the reason: Location.Err, or Site.Err.
	LeftOut func(t *Target, loc *Location, reason error)
}

// AllProcesses is the PID that stands for every process.
const AllProcesses = -1

// MaxSharedSemaphore is the largest number of locations with one semaphore that
// can be attached at once: the kernel adds one for each to a signed 16-bit
// counter, and refuses to go beyond after it has changed processes
// (__update_ref_ctr in kernel/events/uprobes.c).
const MaxSharedSemaphore = 32767

// A place is a location as the kernel takes it.
type place struct {
	offset, refCtr, cookie uint64
}

// plan checks a target and returns what to attach to: each offset once, in the
// order of the locations, with the cookie of the same index. Locations that cannot
// be attached to, because of their Err or that of their site, are left out, unless
// there is no other. Nothing has been changed in any process when it refuses. Sites
// may be nil: then the instructions are taken as they are.
func plan(t *Target, o *Options, cookies []uint64, sites []Site) ([]place, error) {
	if len(t.Locations) == 0 {
		return nil, errors.New("target has no location")
	}
	type fault struct {
		loc *Location
		err error
	}
	var places []place
	var faults []fault
	at := make(map[uint64]place, len(t.Locations))
	for i := range t.Locations {
		loc := &t.Locations[i]
		p := place{loc.Offset, loc.RefCtrOffset, o.Cookie}
		err := loc.Err
		if err == nil && sites != nil {
			if err = sites[i].Err; err != nil {
				err = fmt.Errorf("location %#x: %w", loc.Offset, err)
			}
			p.offset += uint64(sites[i].Shift)
		}
		if err != nil {
			faults = append(faults, fault{loc, err})
			continue
		}
		if cookies != nil {
			p.cookie = cookies[i]
		}
		if first, dup := at[p.offset]; dup {
			if first.refCtr != p.refCtr {
				return nil, twoSemaphores(p.offset, first.refCtr, p.refCtr)
			}
			continue
		}
		at[p.offset] = p
		places = append(places, p)
	}
	if len(places) == 0 {
		var errs []error
		for _, f := range faults {
			errs = append(errs, f.err)
		}
		return nil, fmt.Errorf("none of %d locations can be attached to: %w", len(t.Locations), errors.Join(dedup(errs)...))
	}
	if err := checkSemaphores(places); err != nil {
		return nil, err
	}
	if o.LeftOut != nil {
		for _, f := range faults {
			o.LeftOut(t, f.loc, f.err)
		}
	}
	return places, nil
}

func twoSemaphores(offset, first, second uint64) error {
	return fmt.Errorf("location %#x stands in two notes with semaphores at %#x and %#x: the kernel takes one for an instruction", offset, first, second)
}

// checkSemaphores refuses places that would make a semaphore overflow when they
// are attached to together.
func checkSemaphores(places []place) error {
	shared := make(map[uint64]int)
	for _, p := range places {
		if p.refCtr == 0 {
			continue
		}
		if shared[p.refCtr]++; shared[p.refCtr] > MaxSharedSemaphore {
			return fmt.Errorf("more than %d locations share the semaphore at %#x, which would overflow: attach to fewer at once",
				MaxSharedSemaphore, p.refCtr)
		}
	}
	return nil
}

// dedup drops errors with a text that stood before.
func dedup(errs []error) []error {
	seen := make(map[string]bool)
	var out []error
	for _, err := range errs {
		if !seen[err.Error()] {
			seen[err.Error()] = true
			out = append(out, err)
		}
	}
	return out
}

// An AttachError says why a target cannot be attached to.
type AttachError struct {
	// Provider and Probe name the probe, Path its file.
	Provider, Probe, Path string
	// Others is the number of other probes of the file that were to be
	// attached to by the same link.
	Others int
	// PID is the process that was asked for, 0 for all.
	PID int
	// Method is the method that was tried.
	Method Method
	Err    error
}

func attachError(t *Target, others, pid int, m Method, err error) *AttachError {
	return &AttachError{t.Provider, t.Name, t.Path, others, pid, m, err}
}

func (e *AttachError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "attach to %s", printable(e.Provider+":"+e.Probe))
	if e.Others > 0 {
		fmt.Fprintf(&b, " and %d other probes", e.Others)
	}
	fmt.Fprintf(&b, " in %s", printable(e.Path))
	if e.PID != 0 {
		fmt.Fprintf(&b, " of process %d", e.PID)
	}
	if e.Method != Auto {
		fmt.Fprintf(&b, " by %s", e.Method)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	return b.String()
}

// Unwrap returns the cause.
func (e *AttachError) Unwrap() error { return e.Err }

// A ConflictError says that somebody else traces a location with another
// semaphore, or without one, which the kernel does not allow: all tracers of an
// instruction must agree on it.
type ConflictError struct {
	// Holders are the BPF links that are known to stand there; none if the
	// other tracer uses something else: perf, tracefs, perf_event links.
	Holders []string
	Err     error
}

func (e *ConflictError) Error() string {
	s := fmt.Sprintf("%v: another tracer holds a location with another semaphore setting", e.Err)
	if len(e.Holders) > 0 {
		return s + ": " + strings.Join(e.Holders, ", ")
	}
	return s + " (a tool of bcc with -p, or perf, tracefs or another that does not name the semaphore); end it first"
}

// Unwrap returns the answer of the kernel.
func (e *ConflictError) Unwrap() error { return e.Err }
