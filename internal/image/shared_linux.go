//go:build amd64 || arm64

package image

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"unsafe"

	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/internal/sys"
)

// registry holds the mappings of shared files: two providers of a process that
// share a file must share its mapping, or one of them would hold a semaphore
// that never changes.
var registry struct {
	sync.Mutex
	m map[sys.FileID]*mapping
}

// SharedName returns the name, without directory, of the shared file of an
// object. It holds the build-id, which covers every byte.
func SharedName(provider string, obj *elfgen.Object) string {
	return fmt.Sprintf("%s-%x.so", fileStem(provider), obj.BuildID)
}

// openShared backs the object by the shared file in o.Dir, which it makes if
// there is none.
func openShared(obj *elfgen.Object, o Options) (*mapping, error) {
	return openSharedFile(obj, filepath.Join(o.Dir, SharedName(o.Provider, obj)), true)
}

// openSharedFile backs the object by the file path, if that can be trusted.
func openSharedFile(obj *elfgen.Object, path string, create bool) (*mapping, error) {
	f, err := openVerified(path, obj.Image, create)
	if err != nil {
		return nil, err
	}
	registry.Lock()
	defer registry.Unlock()
	if m := registry.m[f.id]; m != nil {
		f.close()
		m.refs++
		m.open++
		return m, nil
	}
	m, err := mapOrClose(f, obj)
	if err != nil {
		return nil, err
	}
	if registry.m == nil {
		registry.m = make(map[sys.FileID]*mapping)
	}
	registry.m[f.id] = m
	m.mu = &registry
	m.unregister = func() { delete(registry.m, f.id) }
	return m, nil
}

// openVerified opens the file path, makes it if it is not there and create is
// set, and decides whether to trust it.
func openVerified(path string, content []byte, create bool) (*file, error) {
	open := openOrPublish
	if !create {
		open = func(path string, _ []byte) (int, error) { return sys.Open(path, syscall.O_RDONLY, 0) }
	}
	fd, err := open(path, content)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	f := &file{fd: fd, name: path}
	if err := f.verify(content); err != nil {
		f.close()
		return nil, fmt.Errorf("do not trust %s: %w", path, err)
	}
	return f, nil
}

// OpenFile backs the object by the file path and maps it, if the file can be
// trusted: see Verify. If there is none, and create is set, it is made at once
// with all of its content; its directory must exist. There is no fall-back.
// The caller closes the Image, as one of Open; the file stays.
func OpenFile(obj *elfgen.Object, path string, create bool) (*Image, error) {
	if len(obj.Image) == 0 || obj.Text.Len == 0 {
		return nil, errors.New("map object: no text")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("map object: %w", err)
	}
	m, err := openSharedFile(obj, path, create)
	if err != nil {
		return nil, err
	}
	return newImage(m, Shared, nil), nil
}

// Verify decides whether a program may execute the file path, which must hold
// content and nothing else: it is a regular file, no symbolic link, belongs to
// root or to the effective user, nobody else can write it, and its bytes, seen
// through a mapping, are the wanted ones. The error says why not.
func Verify(path string, content []byte) error {
	f, err := openVerified(path, content, false)
	if err != nil {
		return err
	}
	return f.close()
}

// openOrPublish opens the file path, and makes it if there is none. Somebody
// may make it, or remove it, at the same time.
func openOrPublish(path string, content []byte) (fd int, err error) {
	for range 100 {
		fd, err = sys.Open(path, syscall.O_RDONLY, 0)
		if !errors.Is(err, syscall.ENOENT) {
			return fd, err
		}
		if err := publish(path, content); err != nil && !errors.Is(err, syscall.EEXIST) {
			return -1, err
		}
	}
	return -1, err
}

// verify decides whether to execute a file that another process may have
// made: it must be a plain file that only root or we can change, and its bytes
// must be the ones we would have written. A later change by its owner is
// outside of what can be defended against.
func (f *file) verify(want []byte) error {
	st, err := sys.Fstat(f.fd)
	if err != nil {
		return err
	}
	f.id = sys.ID(&st)
	switch {
	case st.Mode&syscall.S_IFMT != syscall.S_IFREG:
		return errors.New("not a regular file")
	case st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return fmt.Errorf("owned by user %d", st.Uid)
	case st.Mode&0o022 != 0:
		return fmt.Errorf("writable by others: mode %#o", st.Mode&0o7777)
	case st.Size != int64(len(want)):
		return fmt.Errorf("size is %d, not %d", st.Size, len(want))
	}
	// Through a mapping, because read(2) may be answered by something else
	// than the pages that are executed. A shared mapping: it shows the same
	// pages of the file as the private one of the text will, and the kernel
	// never puts a breakpoint into it (valid_vma wants no VM_MAYSHARE),
	// which it does at once into every private one while the file is traced.
	p, err := sys.Mmap(len(want), syscall.PROT_READ, syscall.MAP_SHARED, f.fd, 0)
	if err != nil {
		return fmt.Errorf("map: %w", err)
	}
	same := bytes.Equal(unsafe.Slice((*byte)(p), len(want)), want)
	if err := sys.Munmap(p, len(want)); err != nil {
		return fmt.Errorf("unmap: %w", err)
	}
	if !same {
		return errors.New("content differs")
	}
	return nil
}

// publish makes the file path with all of its content at once, so that nobody
// ever opens a part of it. If another process was first, that is EEXIST. The
// file is nobody's to write: a change would be a new file.
func publish(path string, content []byte) error {
	const mode = 0o444
	fd, err := sys.OpenTmpfile(filepath.Dir(path), mode)
	if err != nil {
		return publishExcl(path, content, mode)
	}
	defer syscall.Close(fd)
	if err = sys.WriteAll(fd, content); err == nil {
		err = syscall.Fchmod(fd, mode) // whatever the umask
	}
	if err == nil {
		err = sys.Link(fd, path)
	}
	if err != nil && !errors.Is(err, syscall.EEXIST) {
		return publishExcl(path, content, mode)
	}
	return err
}

// publishExcl does the same where unnamed files cannot be had.
func publishExcl(path string, content []byte, mode uint32) error {
	temp := fmt.Sprintf("%s.%016x", path, rand.Uint64())
	fd, err := sys.Open(temp, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	defer syscall.Unlink(temp)
	defer syscall.Close(fd)
	if err = sys.WriteAll(fd, content); err == nil {
		err = syscall.Fchmod(fd, mode)
	}
	if err == nil {
		err = syscall.Link(temp, path)
	}
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	return nil
}
