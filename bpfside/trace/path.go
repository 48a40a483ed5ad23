package trace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/procmaps"
)

// attachPaths attaches to the files that clauses name, whether or not somebody maps
// them, and returns what is not there.
func (s *Session) attachPaths() (missing []error) {
	seen := make(map[string]bool)
	for _, c := range s.clauses {
		if c.Path == "" || seen[c.Path] {
			continue
		}
		seen[c.Path] = true
		if err := s.attachPath(c.Path); err != nil {
			missing = append(missing, err)
		}
	}
	return missing
}

// attachPath attaches to the file of a path for the clauses that name it.
func (s *Session) attachPath(path string) error {
	patterns := s.patternsOf(path)
	targets := mappedTargets(s.pid, path, patterns)
	if targets == nil {
		file, err := findFile(s.pid, path)
		if err != nil {
			return err
		}
		res, err := usdt.FileTargets(file, patterns...)
		s.problems = append(s.problems, res.Problems...)
		if err != nil && len(res.Targets) == 0 {
			return err
		}
		if err != nil {
			s.problems = append(s.problems, err)
		}
		for _, t := range res.Targets {
			t.PID = s.pid
		}
		targets = res.Targets
		if st, err := os.Stat(file); err == nil {
			s.paths = append(s.paths, watchedPath{path, file, st})
		}
	}
	s.problems = append(s.problems, s.attach(path, targets)...)
	return nil
}

// patternsOf returns the patterns of the clauses that name a path.
func (s *Session) patternsOf(path string) []string {
	var patterns []string
	for _, c := range s.clauses {
		if c.Path == path {
			patterns = append(patterns, c.Pattern)
		}
	}
	return patterns
}

// A watchedPath is a file that a clause names, as it was when it was attached to.
type watchedPath struct {
	path string // of the clause
	file string // that it means
	st   os.FileInfo
}

// pathInterval is how often it is looked whether a path leads to another file: one that
// an upgrade has put there.
const pathInterval = time.Second

// watchPaths attaches to files that replace those that were attached to, until the
// session is finished.
func (s *Session) watchPaths() {
	for {
		select {
		case <-s.finished:
			return
		case <-time.After(pathInterval):
		}
		for i := range s.paths {
			s.tell(s.lookAt(&s.paths[i]))
		}
	}
}

// lookAt attaches to a file that is another one by now. What was attached to stays, as
// processes may map it still; unless it is the same file with another content, whose
// offsets are wrong.
func (s *Session) lookAt(w *watchedPath) []error {
	st, err := os.Stat(w.file)
	if err != nil {
		return nil // between two, as a rule
	}
	same := os.SameFile(st, w.st)
	if same && st.ModTime().Equal(w.st.ModTime()) && st.Size() == w.st.Size() {
		return nil
	}
	s.attaching.Lock()
	defer s.attaching.Unlock()
	if s.detached {
		return nil
	}
	if same {
		for key, links := range s.links {
			if key.path == w.path {
				delete(s.links, key)
				closeLinks(links)
			}
		}
	}
	w.st = st
	res, err := usdt.FileTargets(w.file, s.patternsOf(w.path)...)
	problems := res.Problems
	if err != nil {
		problems = append(problems, err)
	}
	fresh := slices.DeleteFunc(res.Targets, func(t *usdt.Target) bool { return len(s.links[fileOf(w.path, t)]) > 0 })
	return append(problems, s.attach(w.path, fresh)...)
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
