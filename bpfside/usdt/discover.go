package usdt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nopfire/nopfire/internal/procmaps"
)

// A Result is what a search found. It is never nil, also beside an error.
type Result struct {
	// Targets are the probes that were asked for.
	Targets []*Target
	// Files are all files with probes that were read.
	Files []*File
	// Problems are the faults that were met on the way: files that could
	// not be read, and the problems of each file, but for those of probes
	// that were not asked for. They concern what they name and hide nothing
	// else.
	Problems []error
}

// FileTargets finds the probes of a file that match one of the patterns, all of
// them if there are no patterns. A pattern without a match gives an error that
// wraps ErrNoProbe; the Result still holds what the other patterns found.
func FileTargets(path string, patterns ...string) (*Result, error) {
	s, err := newSearch(patterns)
	if err != nil {
		return s.res, err
	}
	f, err := Open(path)
	if err != nil {
		return s.res, err
	}
	open, err := filepath.Abs(path) // the directory may change before the attach
	if err != nil {
		return s.res, err
	}
	s.add(f, open, 0)
	return s.res, s.unmatched(printable(path))
}

// Select chooses the probes that match one of the patterns from files that were
// read already, as FileTargets does from one. A pattern without a match in any of
// them gives an error, in which where names what was searched.
func Select(files []*File, where string, patterns ...string) (*Result, error) {
	s, err := newSearch(patterns)
	if err != nil {
		return s.res, err
	}
	for _, f := range files {
		open, err := filepath.Abs(f.Path)
		if err != nil {
			return s.res, err
		}
		s.add(f, open, 0)
	}
	return s.res, s.unmatched(printable(where))
}

// ProcessTargets finds the probes in all files that a process has mapped
// executable: the program, its libraries, deleted files, files that were
// replaced since, memfds. Patterns and errors are as for FileTargets; the error
// of a process that does not exist, or has ended and was not waited for, wraps
// os.ErrNotExist.
//
// Files are opened through /proc/PID/map_files, which takes
// CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN; without, by their names as the
// process sees them and through its file descriptors, as long as they are the
// same files.
func ProcessTargets(pid int, patterns ...string) (*Result, error) {
	s, err := newSearch(patterns)
	if err != nil {
		return s.res, err
	}
	if pid <= 0 {
		return s.res, fmt.Errorf("process %d: %w", pid, errNoProcess)
	}
	files := make(fileCache)
	any := false
	for m, err := range executableFiles(pid) {
		any = true
		var fe *procmaps.FormatError
		if errors.As(err, &fe) {
			s.res.Problems = append(s.res.Problems, err)
			continue
		}
		if errors.Is(err, os.ErrNotExist) {
			return s.res, fmt.Errorf("process %d: %w", pid, errNoProcess)
		}
		if err != nil {
			return s.res, explainMaps(fmt.Sprintf("read mappings of process %d", pid), err)
		}
		f, open, first, err := files.read(pid, m)
		switch {
		case err != nil && first:
			s.res.Problems = append(s.res.Problems, err)
		case err == nil && first:
			s.add(f, open, pid)
		}
	}
	if !any {
		if err := withoutFiles(pid); err != nil {
			return s.res, err
		}
		s.res.Problems = append(s.res.Problems, fmt.Errorf("process %d: has no file mapped executable (a thread of the kernel?)", pid))
	}
	return s.res, s.unmatched(fmt.Sprintf("process %d", pid))
}

// A search collects targets.
type search struct {
	res      *Result
	patterns []Pattern
	matched  []bool
}

func newSearch(patterns []string) (*search, error) {
	s := &search{res: new(Result)}
	for _, text := range patterns {
		p, err := ParsePattern(text)
		if err != nil {
			return s, err
		}
		s.patterns = append(s.patterns, p)
	}
	s.matched = make([]bool, len(s.patterns))
	return s, nil
}

// add takes the wanted probes of a file, which can be opened as open.
func (s *search) add(f *File, open string, pid int) {
	targets, problems := s.choose(f, open, pid)
	s.res.Problems = append(s.res.Problems, problems...)
	s.res.Targets = append(s.res.Targets, targets...)
	if len(f.Probes) > 0 {
		s.res.Files = append(s.res.Files, f)
	}
}

// choose returns the wanted probes of a file, which can be opened as open, and
// the faults that concern them.
func (s *search) choose(f *File, open string, pid int) (targets []*Target, problems []error) {
	for _, problem := range f.Problems {
		if s.concerns(problem) {
			problems = append(problems, problem)
		}
	}
	for _, p := range f.Probes {
		wanted := len(s.patterns) == 0
		for i, pat := range s.patterns {
			if pat.Match(p.Provider, p.Name) {
				wanted, s.matched[i] = true, true
			}
		}
		if wanted {
			targets = append(targets, &Target{Probe: *p, Path: f.Path, Open: open, ID: f.ID, PID: pid})
		}
	}
	return targets, problems
}

// concerns reports whether a fault is about a probe that is wanted, or about a
// file as a whole.
func (s *search) concerns(problem error) bool {
	var fe *FileError
	if len(s.patterns) == 0 || !errors.As(problem, &fe) || fe.Probe == "" {
		return true
	}
	// The first colon parts the names: a provider cannot hold one.
	provider, name, _ := strings.Cut(fe.Probe, ":")
	return slices.ContainsFunc(s.patterns, func(p Pattern) bool { return p.Match(provider, name) })
}

// unmatched returns an error for each pattern that nothing matched.
func (s *search) unmatched(where string) error {
	var errs []error
	var names []string // of all probes seen
	for i, ok := range s.matched {
		if !ok {
			if names == nil {
				for _, f := range s.res.Files {
					for _, p := range f.Probes {
						names = append(names, p.String())
					}
				}
			}
			p := s.patterns[i]
			errs = append(errs, &NoProbeError{p.String(), where, nearProbes(p, names), len(names)})
		}
	}
	return errors.Join(errs...)
}
