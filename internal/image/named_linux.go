//go:build amd64 || arm64

package image

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/internal/sys"
)

// fileSuffix ends the names of File backings; only such files are swept.
const fileSuffix = ".nopfire.so"

// openNamed backs the object by a file <provider>-<pid>-<unique>.nopfire.so
// in o.Dir. It is locked from before it is visible until it is closed, at the
// latest by the death of the process: a file whose lock is free is a leftover.
func openNamed(obj *elfgen.Object, o Options) (*mapping, error) {
	sweepOnce(o.Dir)
	for range 100 {
		name := fmt.Sprintf("%s-%d-%016x%s", fileStem(o.Provider), os.Getpid(), rand.Uint64(), fileSuffix)
		f, err := createLocked(filepath.Join(o.Dir, name), obj.Image)
		if errors.Is(err, syscall.EEXIST) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return mapOrClose(f, obj)
	}
	return nil, fmt.Errorf("create in %s: every name is taken", o.Dir)
}

// createLocked makes the file path, which must not exist. Between open and lock
// another process may take the file for a leftover and remove it: then it has
// no name, and the answer is EEXIST, try another.
//
// An O_TMPFILE that is linked when it is whole would have no such moment, but
// its mappings keep the name "/dir/#inode (deleted)" in /proc/PID/maps, and
// tracers that go by that name find nothing.
func createLocked(path string, content []byte) (*file, error) {
	fd, err := sys.Open(path, syscall.O_RDWR|syscall.O_CREAT|syscall.O_EXCL, 0o644)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	f := &file{fd: fd}
	if err = f.adopt(path); err == nil {
		err = sys.TryLock(fd)
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = syscall.EEXIST // the sweeper has it
	}
	if err == nil {
		var st syscall.Stat_t
		if st, err = sys.Fstat(fd); err == nil && st.Nlink == 0 {
			err = syscall.EEXIST
		}
	}
	if err == nil {
		err = sys.WriteAll(fd, content)
	}
	if err != nil {
		f.close()
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	return f, nil
}

// adopt makes path the file's own name.
func (f *file) adopt(path string) error {
	st, err := sys.Fstat(f.fd)
	if err != nil {
		return err
	}
	f.name, f.own, f.id = path, true, sys.ID(&st)
	return nil
}

// removeIfSame removes path if it still is the file id: somebody may have
// removed it, or put another in its place.
func removeIfSame(path string, id sys.FileID) error {
	var st syscall.Stat_t
	err := syscall.Lstat(path, &st)
	if err == nil && sys.ID(&st) == id {
		err = syscall.Unlink(path)
	}
	if err != nil && !errors.Is(err, syscall.ENOENT) {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	return nil
}

var swept sync.Map // directories, each swept once in a process

func sweepOnce(dir string) {
	if _, done := swept.LoadOrStore(dir, true); !done {
		sweep(dir)
	}
}

// sweep removes from dir what dead processes left: regular files of our name
// pattern and our user whose lock is free. Faults are left to the next sweep.
func sweep(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.Type().IsRegular() && isOurName(e.Name()) {
			sweepFile(filepath.Join(dir, e.Name()))
		}
	}
}

func sweepFile(path string) {
	fd, err := sys.Open(path, syscall.O_RDONLY, 0)
	if err != nil {
		return
	}
	defer syscall.Close(fd)
	st, err := sys.Fstat(fd)
	if err != nil || st.Mode&syscall.S_IFMT != syscall.S_IFREG || int(st.Uid) != os.Geteuid() {
		return
	}
	if sys.TryLock(fd) != nil {
		return // in use
	}
	_ = removeIfSame(path, sys.ID(&st))
}

// isOurName reports whether a file is named <stem>-<pid>-<16 hex digits> and
// suffix.
func isOurName(name string) bool {
	name, ok := strings.CutSuffix(name, fileSuffix)
	if !ok {
		return false
	}
	rest, unique, ok := cutLast(name)
	if !ok || len(unique) != 16 || strings.Trim(unique, "0123456789abcdef") != "" {
		return false
	}
	stem, pid, ok := cutLast(rest)
	if !ok || stem == "" {
		return false
	}
	n, err := strconv.ParseUint(pid, 10, 31)
	return err == nil && n > 0
}

// cutLast cuts at the last '-': the stem may hold some of its own.
func cutLast(s string) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, '-')
	if i < 0 {
		return "", "", false
	}
	return s[:i], s[i+1:], true
}
