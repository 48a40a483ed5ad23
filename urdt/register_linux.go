//go:build amd64 || arm64

package urdt

import (
	"errors"
	"syscall"

	"github.com/nopfire/nopfire/internal/sys"
	"github.com/nopfire/nopfire/urdt/abi"
)

// A registryFile is an anonymous file that stays open and mapped until the
// process ends. Where it cannot be had the names are not seen, and nothing else
// happens.
type registryFile struct {
	fd     int // once opened
	opened bool
	broken bool
	size   int64
}

// append writes a record behind the others. A reader sees it in one piece or
// finds the end of the file in it, which it knows how to take.
func (f *registryFile) append(record []byte) {
	if !f.opened && !f.broken {
		f.broken = f.open() != nil
		f.opened = !f.broken
	}
	if f.broken {
		return
	}
	if err := sys.WriteAt(f.fd, record, f.size); err != nil {
		f.broken = true // the reader stops here
		return
	}
	f.size += int64(len(record))
}

func (f *registryFile) open() (err error) {
	// Nobody executes it: kernels before 6.3 do not know how to say so.
	f.fd, err = sys.MemfdCreate(abi.RegistryFile, sys.MFD_CLOEXEC|sys.MFD_NOEXEC_SEAL)
	if errors.Is(err, syscall.EINVAL) {
		f.fd, err = sys.MemfdCreate(abi.RegistryFile, sys.MFD_CLOEXEC)
	}
	if err != nil {
		return err
	}
	// For its name in /proc/PID/maps alone. Nothing reads through it.
	if _, err := sys.Mmap(1, syscall.PROT_READ, syscall.MAP_SHARED, f.fd, 0); err != nil {
		_ = syscall.Close(f.fd) // empty, and nobody has seen it
		return err
	}
	return nil
}
