package trace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/procmaps"
)

// attachPaths attaches to the files that clauses name, whether or not somebody maps
// them.
func (s *Session) attachPaths() error {
	var errs []error
	seen := make(map[string]bool)
	for _, c := range s.clauses {
		if c.Path == "" || seen[c.Path] {
			continue
		}
		seen[c.Path] = true
		if err := s.attachPath(c.Path); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// attachPath attaches to the file of a path for the clauses that name it.
func (s *Session) attachPath(path string) error {
	var patterns []string
	for _, c := range s.clauses {
		if c.Path == path {
			patterns = append(patterns, c.Pattern)
		}
	}
	targets := mappedTargets(s.pid, path, patterns)
	if targets == nil {
		file, err := findFile(s.pid, path)
		if err != nil {
			return err
		}
		res, err := usdt.FileTargets(file, patterns...)
		s.problems = append(s.problems, res.Problems...)
		if err != nil {
			return err
		}
		for _, t := range res.Targets {
			t.PID = s.pid
		}
		targets = res.Targets
	}
	s.problems = append(s.problems, s.attach(path, targets)...)
	return nil
}

// mappedTargets returns the probes of the file that a process has mapped under a name:
// one that was replaced since is traced nevertheless, and a library is found wherever it
// comes from. It returns nil if there is no such file, or not a probe of each pattern.
func mappedTargets(pid int, name string, patterns []string) []*usdt.Target {
	if pid == 0 {
		return nil
	}
	mapped := ""
	for m, err := range procmaps.Of(pid) {
		if err == nil && m.Perms&procmaps.Exec != 0 && names(name, m.Path) {
			mapped = m.Path
			break
		}
	}
	if mapped == "" {
		return nil
	}
	res, err := usdt.ProcessTargets(pid, patterns...)
	if err != nil {
		return nil // the search by name says why
	}
	targets := slices.DeleteFunc(res.Targets, func(t *usdt.Target) bool { return t.Path != mapped })
	for _, text := range patterns {
		p, err := usdt.ParsePattern(text)
		if err != nil || !slices.ContainsFunc(targets, func(t *usdt.Target) bool { return p.Match(t.Provider, t.Name) }) {
			return nil
		}
	}
	return targets
}

// names reports whether a name, as usdt.FindFile takes it, may be that of a mapped file.
func names(name, path string) bool {
	if strings.Contains(name, "/") {
		return name == path
	}
	base := filepath.Base(path)
	if strings.Contains(name, ".so") {
		return base == name || strings.HasPrefix(base, name+".")
	}
	return base == name || strings.HasPrefix(base, "lib"+name+".so") || strings.HasPrefix(base, name+".so")
}

// attachFiles attaches to files that a process is going to map, for the clauses without
// a path. The follower finds them attached.
func (s *Session) attachFiles(files, patterns []string) (problems []error) {
	for _, file := range files {
		res, err := usdt.FileTargets(file, patterns...)
		if err != nil && !errors.Is(err, usdt.ErrNoProbe) {
			problems = append(problems, err)
		}
		for _, t := range res.Targets {
			t.PID = s.pid
		}
		problems = append(append(problems, res.Problems...), s.attach("", res.Targets)...)
	}
	return problems
}

// findFile returns the path of the file that a name means to a process, or, if that
// is 0, to this one.
func findFile(pid int, name string) (string, error) {
	root := fmt.Sprintf("/proc/%d/root", pid)
	if pid == 0 || sameRoot(pid) {
		return usdt.FindFile(name)
	}
	if filepath.IsAbs(name) {
		path := filepath.Join(root, name)
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("find %s of process %d: %w", printable(name), pid, errors.Unwrap(err))
		}
		return path, nil
	}
	path, err := usdt.FindFile(name)
	if err != nil || !filepath.IsAbs(path) {
		return path, err
	}
	if inside := filepath.Join(root, path); exists(inside) {
		return inside, nil
	}
	return path, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// sameRoot reports whether a process sees the files that this one sees.
func sameRoot(pid int) bool {
	ours, err1 := os.Readlink("/proc/self/ns/mnt")
	theirs, err2 := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", pid))
	if err1 != nil || err2 != nil {
		return true // nothing says otherwise
	}
	root, err := os.Readlink(fmt.Sprintf("/proc/%d/root", pid))
	return ours == theirs && (err != nil || root == "/")
}
