//go:build amd64 || arm64

package image

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/internal/sys"
)

// A file is what backs an object. Its descriptor stays open as long as the
// object: tracers open a file without a name through /proc/PID/fd.
type file struct {
	fd   int
	name string     // "" for a file without a name
	own  bool       // close removes the name
	id   sys.FileID // of a file with a name
}

// path returns where a tracer finds the file.
func (f *file) path() string {
	if f.name != "" {
		return f.name
	}
	return "/proc/" + strconv.Itoa(os.Getpid()) + "/fd/" + strconv.Itoa(f.fd)
}

// close removes the name, if it is the file's own, and closes the descriptor,
// and with it the lock.
func (f *file) close() error {
	var err error
	if f.own {
		err = removeIfSame(f.name, f.id)
	}
	if e := syscall.Close(f.fd); e != nil && err == nil {
		err = fmt.Errorf("close object file: %w", e)
	}
	return err
}

// openMemfd backs the object by a memfd and seals it.
//
// The fall-backs are those of the policy on executable memfds
// (Documentation/userspace-api/mfd_noexec.rst): kernels before 6.3 do not know
// MFD_EXEC; vm.memfd_noexec=2 refuses it, and leaves MFD_NOEXEC_SEAL, which
// forbids execve only, not PROT_EXEC.
func openMemfd(obj *elfgen.Object, provider string) (*mapping, error) {
	const flags = sys.MFD_CLOEXEC | sys.MFD_ALLOW_SEALING
	name := "nopfire:" + provider
	fd, err := sys.MemfdCreate(name, flags|sys.MFD_EXEC)
	if errors.Is(err, syscall.EINVAL) {
		fd, err = sys.MemfdCreate(name, flags)
	}
	if errors.Is(err, syscall.EACCES) {
		fd, err = sys.MemfdCreate(name, flags|sys.MFD_NOEXEC_SEAL)
	}
	if err != nil {
		return nil, fmt.Errorf("create: %w", err)
	}
	f := &file{fd: fd}
	if err := sys.WriteAll(fd, obj.Image); err != nil {
		f.close()
		return nil, fmt.Errorf("write: %w", err)
	}
	const seals = sys.F_SEAL_SEAL | sys.F_SEAL_SHRINK | sys.F_SEAL_GROW | sys.F_SEAL_WRITE
	if err := sys.AddSeals(fd, seals); err != nil {
		f.close()
		return nil, fmt.Errorf("seal: %w", err)
	}
	return mapOrClose(f, obj)
}

// openUnlinked backs the object by a file that never has a name, in the first
// directory that can make one and is not mounted noexec.
func openUnlinked(obj *elfgen.Object) (*mapping, error) {
	var reasons []error
	for _, dir := range []string{os.TempDir(), "/dev/shm", "/var/tmp", os.Getenv("XDG_RUNTIME_DIR")} {
		if dir == "" {
			continue
		}
		fd, err := sys.OpenTmpfile(dir, 0o600)
		if err != nil {
			reasons = append(reasons, fmt.Errorf("create in %s: %w", dir, err))
			continue
		}
		f := &file{fd: fd}
		if err := sys.WriteAll(fd, obj.Image); err != nil {
			f.close()
			reasons = append(reasons, fmt.Errorf("write in %s: %w", dir, err))
			continue
		}
		m, err := mapOrClose(f, obj)
		if err == nil {
			return m, nil
		}
		reasons = append(reasons, fmt.Errorf("in %s: %w", dir, err))
	}
	return nil, errors.Join(reasons...)
}
