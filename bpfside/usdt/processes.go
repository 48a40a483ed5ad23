package usdt

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/nopfire/nopfire/internal/procmaps"
)

// AllTargets finds the probes in all files that any process has mapped
// executable. Each file is there once, however many processes map it: its targets
// have PID 0, so that an attach traces them all and those that map the file
// later, and their PIDs tell which map it now. Patterns and errors are as for
// FileTargets, privileges as for ProcessTargets. A process that ends meanwhile is
// no fault; those that this process may not look at are one Problem, a
// *ProcessError.
func AllTargets(patterns ...string) (*Result, error) {
	s, err := newSearch(patterns)
	if err != nil {
		return s.res, err
	}
	pids, err := processes()
	if err != nil {
		return s.res, err
	}
	files := make(fileCache)
	users := make(map[FileID]*fileUsers)
	var denied deniedProcesses
	for _, pid := range pids {
		for m, err := range executableFiles(pid) {
			var fe *procmaps.FormatError
			if errors.As(err, &fe) {
				s.res.Problems = append(s.res.Problems, err)
				continue
			}
			if err != nil {
				denied.add(pid, err)
				break
			}
			f, open, first, err := files.read(pid, m)
			if err != nil {
				s.res.Problems = append(s.res.Problems, err)
				continue
			}
			if f == nil || len(f.Probes) == 0 {
				continue
			}
			if first {
				s.add(f, open, 0)
				users[f.ID] = newFileUsers(f.ID, m)
			}
			users[f.ID].add(pid, open)
		}
	}
	for _, t := range s.res.Targets {
		users[t.ID].describe(t)
	}
	if err := denied.problem(); err != nil {
		s.res.Problems = append(s.res.Problems, err)
	}
	return s.res, s.unmatched("any process")
}

// processes returns the ids of all processes, ascending.
func processes() ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("list processes: %w: %w", ErrNotSupported, err)
	}
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}

// alive reports whether a process is there and has not ended, as one has that
// nobody has waited for. Of a process with several threads the first may end
// before the others: it is alive.
func alive(pid int) bool {
	rest, ok := processStat(pid)
	if !ok || !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X") {
		return ok
	}
	for _, err := range procmaps.Of(pid) {
		return err == nil
	}
	return false
}

// errZombie is the fault of a process that has ended and is still there.
var errZombie = fmt.Errorf("has ended, and its parent has not waited for it (a zombie): %w", os.ErrNotExist)

// errNoProcess is the fault of a process that is not there.
const errNoProcess = notExist("no such process")

// withoutFiles explains a process that has mapped nothing, nil if it is alive.
func withoutFiles(pid int) error {
	switch _, ok := processStat(pid); {
	case !ok:
		return fmt.Errorf("process %d: %w", pid, errNoProcess)
	case !alive(pid):
		return fmt.Errorf("process %d: %w", pid, errZombie)
	}
	return nil
}

// startTime returns when a process started, which does not change when it executes
// another program: two that had the same number one after the other differ in it.
// It is "" for a process that does not exist.
func startTime(pid int) string {
	rest, _ := processStat(pid)
	fields := strings.Fields(rest)
	// Field 22 of proc_pid_stat(5), in ticks since boot; the first here is 3.
	const start = 22 - 3
	if len(fields) <= start {
		return ""
	}
	return fields[start]
}

// processStat returns what /proc/PID/stat says behind the name: the state first.
func processStat(pid int) (rest string, ok bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false
	}
	// pid (comm) state …, where comm may hold anything.
	_, rest, ok = cutLast(string(data), ") ")
	return rest, ok
}

// A ProcessError says that some processes could not be looked at.
type ProcessError struct {
	PIDs []int
	// Err is the reason of the first.
	Err error
}

func (e *ProcessError) Error() string {
	if len(e.PIDs) == 1 {
		return fmt.Sprintf("process %d: %v", e.PIDs[0], e.Err)
	}
	return fmt.Sprintf("%d processes, such as %d: %v", len(e.PIDs), e.PIDs[0], e.Err)
}

// Unwrap returns the reason.
func (e *ProcessError) Unwrap() error { return e.Err }

// deniedProcesses gathers processes that cannot be looked at.
type deniedProcesses struct {
	pids  []int
	first error
}

// add takes note of the error of a process, unless it is that there is no such
// process any more.
func (d *deniedProcesses) add(pid int, err error) {
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	d.pids = append(d.pids, pid)
	if d.first == nil {
		d.first = explainMaps("read mappings", err)
	}
}

// problem returns all of it as one error, nil if there is none.
func (d *deniedProcesses) problem() error {
	if len(d.pids) == 0 {
		return nil
	}
	return &ProcessError{d.pids, d.first}
}

// fileUsers are the processes that map a file.
type fileUsers struct {
	name string // a path that leads to the file by itself; "" if none does
	open map[int]string
}

func newFileUsers(id FileID, m procmaps.Mapping) *fileUsers {
	u := &fileUsers{open: make(map[int]string)}
	// The plain name stays when processes go. In other mount namespaces it
	// may be that of another file.
	if !m.Deleted && strings.HasPrefix(m.Path, "/") {
		if st, err := os.Stat(m.Path); err == nil {
			if got, err := identityOf(st); err == nil && got == id {
				u.name = m.Path
			}
		}
	}
	return u
}

// add takes note of a process, and of the path by which the file was opened
// there.
func (u *fileUsers) add(pid int, open string) { u.open[pid] = open }

// remove forgets a process.
func (u *fileUsers) remove(pid int) { delete(u.open, pid) }

// describe makes a target tell who maps its file, and how to open that.
func (u *fileUsers) describe(t *Target) {
	t.PIDs = nil
	for pid := range u.open {
		t.PIDs = append(t.PIDs, pid)
	}
	slices.Sort(t.PIDs)
	switch {
	case u.name != "":
		t.Open = u.name
	case len(t.PIDs) > 0:
		t.Open = u.open[t.PIDs[0]]
	}
}
