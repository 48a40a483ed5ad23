//go:build unix

package usdt

import (
	"fmt"
	"os"
	"syscall"
)

// openNonblock is the flag with which open(2) of a named pipe does not wait for
// its other end.
const openNonblock = syscall.O_NONBLOCK

// identify returns the identity of an opened file.
func identify(f *os.File) (FileID, error) {
	st, err := f.Stat()
	if err != nil {
		return FileID{}, unwrapPath(err)
	}
	return identityOf(st)
}

// identityOf returns the identity of a file by what stat says about it.
func identityOf(st os.FileInfo) (FileID, error) {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return FileID{}, fmt.Errorf("identify %s: %w", st.Name(), ErrNotSupported)
	}
	return FileID{uint64(sys.Dev), uint64(sys.Ino), st.Size(), st.ModTime().UnixNano()}, nil
}
