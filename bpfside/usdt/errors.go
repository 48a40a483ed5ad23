package usdt

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/nopfire/nopfire/internal/feature"
	"github.com/nopfire/nopfire/internal/spelling"
)

// Errors to decide by.
var (
	// ErrNoProbe is wrapped when no probe has the wanted name.
	ErrNoProbe = errors.New("no such probe")
	// ErrNotSupported is wrapped when this kernel, or this platform, cannot.
	ErrNotSupported = feature.ErrNotSupported
	// ErrNotELF is wrapped when a file is no ELF file at all.
	ErrNotELF = errors.New("not an ELF file")
	// ErrChanged is wrapped when the file at a target's path is not the one
	// whose notes were read: read it anew.
	ErrChanged = errors.New("file has changed since its notes were read")
	// ErrUnreadable is wrapped when a BPF program cannot read an argument.
	ErrUnreadable = errors.New("argument is not readable in bpf")
)

// A NoProbeError says that a pattern selects nothing. It wraps ErrNoProbe.
type NoProbeError struct {
	Pattern string
	// Where names the file or the process that was searched.
	Where string
	// Near are probes with similar names, the best first.
	Near []string
	// Probes is the number of probes that there are.
	Probes int
}

func (e *NoProbeError) Error() string {
	s := fmt.Sprintf("%s: no such probe in %s", printable(e.Pattern), e.Where)
	switch {
	case len(e.Near) > 0:
		names := make([]string, len(e.Near))
		for i, n := range e.Near {
			names[i] = printable(n)
		}
		s += ": did you mean " + strings.Join(names, ", ") + "?"
	case e.Probes == 0:
		s += ": there are none at all"
	case e.Probes == 1:
		s += ": there is one other"
	default:
		s += fmt.Sprintf(": there are %d others", e.Probes)
	}
	return s
}

// Unwrap returns ErrNoProbe.
func (e *NoProbeError) Unwrap() error { return ErrNoProbe }

// A FileError says what is wrong with a file or a part of it.
type FileError struct {
	// Path is the file for people; "" for a reader without a name.
	Path string
	// Section is the section at fault, "" for the file as a whole, and Off
	// the place of the fault in the file; -1 if it has none.
	Section string
	Off     int64
	// Probe is the PROVIDER:NAME at fault, "" if it is not about one.
	Probe string
	Err   error
}

func (e *FileError) Error() string {
	var b strings.Builder
	sep := func() {
		if b.Len() > 0 {
			b.WriteString(": ")
		}
	}
	if e.Path != "" {
		fmt.Fprintf(&b, "%s", printable(e.Path))
	}
	if e.Section != "" {
		sep()
		b.WriteString(e.Section)
	}
	if e.Off >= 0 {
		sep()
		fmt.Fprintf(&b, "at %#x", e.Off)
	}
	if e.Probe != "" {
		sep()
		b.WriteString(printable(e.Probe))
	}
	sep()
	fmt.Fprintf(&b, "%v", e.Err)
	return b.String()
}

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// A notExist says what is not there. It is os.ErrNotExist, whose text speaks of files.
type notExist string

func (e notExist) Error() string      { return string(e) }
func (notExist) Is(target error) bool { return target == os.ErrNotExist }

// printable quotes a foreign name unless it is plain: nothing in it moves the
// cursor of a terminal, reorders the line, or is no UTF-8.
func printable(s string) string {
	for _, r := range s {
		if !strconv.IsPrint(r) || r == '\ufffd' {
			return fmt.Sprintf("%q", s)
		}
	}
	return s
}

// nearProbes returns the near ones among the names of probes for a pattern that
// matches none. A part of the pattern that stands for everything is not compared.
func nearProbes(p Pattern, names []string) []string {
	every := func(part string) bool { return strings.Trim(part, "*") == "" }
	switch {
	case every(p.Provider) && !every(p.Probe):
		return nearBy(p.Probe, names, func(name string) string { _, probe, _ := strings.Cut(name, ":"); return probe })
	case every(p.Probe) && !every(p.Provider):
		return nearBy(p.Provider, names, func(name string) string { provider, _, _ := strings.Cut(name, ":"); return provider })
	}
	return near(p.String(), names)
}

// near returns up to three of the names that look most like want, each once.
func near(want string, names []string) []string {
	return nearBy(want, names, func(name string) string { return name })
}

// nearBy is near for a part of the names.
func nearBy(want string, names []string, part func(name string) string) []string {
	const most = 3
	type scored struct {
		name string
		d    int
	}
	var best []scored
	limit := max(2, len(want)/3)
	for _, n := range names {
		// Names that differ this much in length cannot be near, and a
		// hostile one must not cost quadratic time.
		like := part(n)
		if len(like) > len(want)+limit || len(like)+limit < len(want) || len(want) > 256 {
			continue
		}
		d := spelling.Distance(want, like)
		if d > limit || slices.Contains(best, scored{n, d}) {
			continue
		}
		at := len(best)
		for at > 0 && best[at-1].d > d {
			at--
		}
		best = append(best[:at], append([]scored{{n, d}}, best[at:]...)...)
		if len(best) > most {
			best = best[:most]
		}
	}
	out := make([]string, len(best))
	for i, b := range best {
		out[i] = b.name
	}
	return out
}
