package usdt

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nopfire/nopfire/internal/feature"
	"github.com/nopfire/nopfire/internal/procmaps"
)

// executableFiles yields the mappings of a process that show a file executable,
// each file once as far as its numbers tell. Errors are as those of procmaps.Of,
// and name the process.
func executableFiles(pid int) iter.Seq2[procmaps.Mapping, error] {
	return func(yield func(procmaps.Mapping, error) bool) {
		seen := make(map[inode]bool)
		for m, err := range procmaps.Of(pid) {
			var fe *procmaps.FormatError
			if errors.As(err, &fe) {
				err = fmt.Errorf("process %d: %w", pid, err)
			}
			if err == nil && (m.Inode == 0 || m.Perms&procmaps.Exec == 0 || seen[inodeOf(m)]) {
				continue
			}
			if err == nil {
				seen[inodeOf(m)] = true
			}
			if !yield(m, err) {
				return
			}
		}
	}
}

// explainMaps says what to do about an error of executableFiles that stands for
// missing privilege, and leaves every other as it is.
func explainMaps(op string, err error) error {
	if !errors.Is(err, os.ErrPermission) {
		return err
	}
	return feature.Explain(op, unwrapPath(err), feature.CapSysPtrace)
}

// An inode is a file as the mappings of a process number it.
type inode struct {
	major, minor uint32
	inode        uint64
}

func inodeOf(m procmaps.Mapping) inode { return inode{m.Major, m.Minor, m.Inode} }

// A fileCache reads each file once, whichever process maps it. Files are told
// apart by what stat says: the device numbers in mappings are one for several
// file systems of btrfs.
type fileCache map[FileID]*File

// read reads the file behind a mapping, and returns the path under which it was
// opened. First tells that the file was not met before; the error of one that
// cannot be read comes with that only, and its File is nil afterwards, as is that
// of a mapping that has gone.
func (c fileCache) read(pid int, m procmaps.Mapping) (f *File, open string, first bool, err error) {
	r, open, err := openMapped(pid, m)
	if errors.Is(err, errUnmapped) {
		return nil, "", false, nil
	}
	if err != nil {
		return nil, "", true, err
	}
	if r == nil {
		return &File{Path: m.Path}, open, false, nil
	}
	defer r.Close()
	id, err := identify(r)
	if err != nil {
		return nil, "", true, fmt.Errorf("open %s: %w", printable(m.Path), err)
	}
	if f, ok := c[id]; ok {
		return f, open, false, nil
	}
	f, err = readMapped(r, m.Path)
	c[id] = f
	return f, open, true, err
}

// readMapped reads the notes of a mapped file. That it is no ELF file is no
// fault: plenty of programs map other files executable.
func readMapped(r *os.File, path string) (*File, error) {
	f, err := ReadFile(r, path)
	if errors.Is(err, ErrNotELF) {
		f, err = &File{Path: path}, nil
		f.ID, _ = identify(r)
	}
	return f, err
}

// errUnmapped says that a mapping was gone when its file was to be opened, or its
// process.
var errUnmapped = errors.New("is not mapped any more")

// openMapped opens the file behind a mapping, and returns the path under which it
// did. It is nil for a device, which has no notes. The error of a mapping that has
// gone since it was read wraps errUnmapped, also if another has taken its place.
func openMapped(pid int, m procmaps.Mapping) (*os.File, string, error) {
	const tries = 3 // as the mapping may be split or grow meanwhile
	for try := 1; ; try++ {
		open := m.MapFile(pid)
		f, err := openRegular(open)
		if errors.Is(err, ErrNotELF) {
			return nil, open, nil
		}
		if err == nil {
			if id, err := identify(f); err == nil && id.Inode == m.Inode {
				return f, open, nil
			}
		}
		var byName error
		if errors.Is(err, os.ErrPermission) { // the usual case of an ordinary user
			var path string
			if f, path, byName = openOtherwise(pid, m, err); byName == nil {
				return f, path, nil
			}
		}
		now, ok, mapsErr := findMapping(pid, m)
		here := ok && now.Start == m.Start && now.End == m.End
		switch {
		case mapsErr != nil && byName == nil:
			// That it has gone is not known: too many open files, say.
			if err == nil {
				f.Close()
			}
			return nil, "", &FileError{m.Path, "", -1, "", fmt.Errorf("process %d: %w", pid, mapsErr)}
		case err == nil && here:
			// The file system has one number for stat and one for mappings.
			return f, open, nil
		case err == nil: // what was mapped there since
			f.Close()
			err = errUnmapped
		}
		switch {
		case !ok:
			return nil, "", fmt.Errorf("process %d: %s: %w", pid, printable(m.Path), errUnmapped)
		case byName != nil:
			return nil, "", byName
		case here || try == tries:
			f, path, otherwise := openOtherwise(pid, now, err)
			if otherwise != nil && (errors.Is(err, syscall.ESRCH) || errors.Is(err, os.ErrNotExist)) && ends(pid, now) {
				otherwise = fmt.Errorf("process %d: %s: %w", pid, printable(m.Path), errUnmapped)
			}
			return f, path, otherwise
		}
		m = now
	}
}

// ends reports whether a mapping goes within a moment. When a process ends, its first
// thread may be gone while others still show the mappings: map_files has ESRCH then
// (mm_access in kernel/fork.c), or ENOENT before Linux 6.14. So it is with a process that lives on without its first
// thread, which is a fault that has to be told.
func ends(pid int, m procmaps.Mapping) bool {
	for range 20 {
		if _, ok, err := findMapping(pid, m); err == nil && !ok {
			return true
		}
		time.Sleep(2 * time.Millisecond)
	}
	return false
}

// openMapping is openMapped for a mapping of any kind.
func openMapping(pid int, m procmaps.Mapping) (*os.File, string, error) {
	open := m.MapFile(pid)
	f, err := openRegular(open)
	switch {
	case err == nil:
		return f, open, nil
	case errors.Is(err, ErrNotELF):
		return nil, open, nil
	}
	f, path, otherwise := openOtherwise(pid, m, err)
	if otherwise != nil && !isMapped(pid, m) {
		return nil, "", fmt.Errorf("process %d: %s: %w", pid, printable(m.Path), errUnmapped)
	}
	return f, path, otherwise
}

// isMapped reports whether a mapping is still as it was read.
func isMapped(pid int, m procmaps.Mapping) bool {
	for now, err := range procmaps.Of(pid) {
		if err == nil && now == m {
			return true
		}
	}
	return false
}

// openOtherwise opens the file behind a mapping without map_files, for the reason
// given.
func openOtherwise(pid int, m procmaps.Mapping, reason error) (*os.File, string, error) {
	f, open, err := openByName(pid, m)
	if err == nil {
		return f, open, nil
	}
	reason = feature.Explain("open "+m.MapFile(pid), unwrapPath(reason), feature.CapCheckpointRestore)
	return nil, "", &FileError{m.Path, "", -1, "", fmt.Errorf("process %d: %w (and %w)", pid, reason, err)}
}

// findAgain opens the file of a target through any process that is known to map it
// and still does; nil if there is none.
func findAgain(t *Target) *os.File {
	pids := t.PIDs
	if t.PID > 0 {
		pids = []int{t.PID}
	}
	for _, pid := range pids {
		for m, err := range executableFiles(pid) {
			if err != nil || m.Inode != t.ID.Inode {
				continue
			}
			f, _, err := openMapped(pid, m)
			if err != nil || f == nil {
				continue
			}
			if id, err := identify(f); err == nil && id == t.ID {
				return f
			}
			f.Close()
		}
	}
	return nil
}

// findMapping looks for an executable mapping of the file of m, by its numbers. Should
// these be others than an event had, the address and the name will do. The error is
// that the mappings could not be read, for want of descriptors for instance; that the
// process has ended, or must not be looked at, is none.
func findMapping(pid int, m procmaps.Mapping) (now procmaps.Mapping, found bool, err error) {
	var alike procmaps.Mapping
	for now, err := range executableFiles(pid) {
		var fe *procmaps.FormatError
		switch {
		case errors.As(err, &fe), errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
		case err != nil:
			return alike, false, err
		case inodeOf(now) == inodeOf(m):
			return now, true, nil
		case now.Start == m.Start && filepath.Base(now.Path) == filepath.Base(m.Path):
			alike, found = now, true
		}
	}
	return alike, found, nil
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
