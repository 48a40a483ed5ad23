package usdt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nopfire/nopfire/internal/feature"
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

// ProcessTargets finds the probes in all files that a process has mapped
// executable: the program, its libraries, deleted files, files that were
// replaced since, memfds. Patterns and errors are as for FileTargets; the error
// of a process that does not exist wraps os.ErrNotExist.
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
		return s.res, fmt.Errorf("process %d: %w", pid, os.ErrNotExist)
	}
	type inode struct {
		major, minor uint32
		inode        uint64
	}
	seen := make(map[inode]bool)
	files := make(map[Key]bool)
	for m, err := range procmaps.Of(pid) {
		var fe *procmaps.FormatError
		if errors.As(err, &fe) {
			s.res.Problems = append(s.res.Problems, fmt.Errorf("process %d: %w", pid, err))
			continue
		}
		if err != nil {
			return s.res, feature.Explain("read mappings", err, feature.CapSysPtrace)
		}
		key := inode{m.Major, m.Minor, m.Inode}
		if m.Inode == 0 || m.Perms&procmaps.Exec == 0 || seen[key] {
			continue
		}
		seen[key] = true
		f, open, err := openMapping(pid, m)
		if err != nil {
			s.res.Problems = append(s.res.Problems, err)
			continue
		}
		// Two device numbers for one file, as btrfs has them, are told
		// apart by the identity.
		id := Key{ID: f.ID}
		if files[id] {
			continue
		}
		files[id] = true
		s.add(f, open, pid)
	}
	return s.res, s.unmatched(fmt.Sprintf("process %d", pid))
}

// A search collects targets.
type search struct {
	res      *Result
	patterns []Pattern
	matched  []bool
	names    []string // of all probes seen, for messages
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
	for _, problem := range f.Problems {
		if s.concerns(problem) {
			s.res.Problems = append(s.res.Problems, problem)
		}
	}
	if len(f.Probes) == 0 {
		return
	}
	s.res.Files = append(s.res.Files, f)
	for _, p := range f.Probes {
		s.names = append(s.names, p.String())
		wanted := len(s.patterns) == 0
		for i, pat := range s.patterns {
			if pat.Match(p.Provider, p.Name) {
				wanted, s.matched[i] = true, true
			}
		}
		if wanted {
			s.res.Targets = append(s.res.Targets, &Target{Probe: *p, Path: f.Path, Open: open, ID: f.ID, PID: pid})
		}
	}
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
	for i, ok := range s.matched {
		if !ok {
			text := s.patterns[i].String()
			errs = append(errs, &NoProbeError{text, where, near(text, s.names), len(s.names)})
		}
	}
	return errors.Join(errs...)
}

// openMapping reads the file behind a mapping, and returns the path under which
// it was opened.
func openMapping(pid int, m procmaps.Mapping) (*File, string, error) {
	open := m.MapFile(pid)
	f, err := openRegular(open)
	if err != nil && !errors.Is(err, ErrNotELF) {
		var fallbackErr error
		if f, open, fallbackErr = openByName(pid, m); fallbackErr != nil {
			err = feature.Explain("open "+m.MapFile(pid), unwrapPath(err), feature.CapCheckpointRestore)
			return nil, "", &FileError{m.Path, "", -1, "", fmt.Errorf("process %d: %w (and %w)", pid, err, fallbackErr)}
		}
		err = nil
	}
	if err != nil {
		return &File{Path: m.Path}, open, nil // a device: no file with notes
	}
	defer f.Close()
	file, err := readFile(f, m.Path)
	if errors.Is(err, ErrNotELF) {
		// Plenty of programs map other files executable.
		file, err = &File{Path: m.Path}, nil
		file.ID, _ = identify(f)
	}
	return file, open, err
}

// errNoSuchFile is the fault of a mapping whose file cannot be reached.
var errNoSuchFile = errors.New("no name and no descriptor leads to the mapped file")

// openByName looks for the file of a mapping without map_files: under its name,
// and among the open files of the process, where a memfd usually is. The inode
// number must be the mapped one; the device is not compared, because some file
// systems show another one in the mappings than in stat.
func openByName(pid int, m procmaps.Mapping) (*os.File, string, error) {
	try := func(path string) (*os.File, bool) {
		f, err := openRegular(path)
		if err != nil {
			return nil, false
		}
		if id, err := identify(f); err == nil && id.Inode == m.Inode {
			return f, true
		}
		f.Close()
		return nil, false
	}
	if !m.Deleted && filepath.IsAbs(m.Path) {
		path := fmt.Sprintf("/proc/%d/root%s", pid, m.Path)
		if f, ok := try(path); ok {
			return f, path, nil
		}
		// /proc/PID/root takes the right to trace the process; the name
		// alone does in the common case of one mount namespace.
		if f, ok := try(m.Path); ok {
			return f, m.Path, nil
		}
	}
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	fds, err := os.ReadDir(dir)
	if err != nil {
		return nil, "", feature.Explain("read "+dir, unwrapPath(err), feature.CapSysPtrace)
	}
	for _, fd := range fds {
		if _, err := strconv.Atoi(fd.Name()); err != nil {
			continue
		}
		// The name as well as the number: an inode number alone may
		// belong to a file of another file system.
		path := dir + "/" + fd.Name()
		link, err := os.Readlink(path)
		if err != nil || strings.TrimSuffix(link, " (deleted)") != m.Path {
			continue
		}
		st, err := os.Stat(path)
		if err != nil || !st.Mode().IsRegular() {
			continue
		}
		if id, err := identityOf(st); err != nil || id.Inode != m.Inode {
			continue
		}
		if f, ok := try(path); ok {
			return f, path, nil
		}
	}
	return nil, "", fmt.Errorf("%w: %w", errNoSuchFile, fs.ErrNotExist)
}
