//go:build unix

package scan

import (
	"debug/elf"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openDirectory opens a directory. One below a given one is not followed if it has
// become a link since, and is nil if it is no directory any more.
func openDirectory(path string, top bool) (*os.File, error) {
	flags := os.O_RDONLY | syscall.O_DIRECTORY
	if !top {
		flags |= syscall.O_NOFOLLOW
	}
	d, err := os.OpenFile(path, flags, 0)
	if !top && (errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENOTDIR)) {
		return nil, nil
	}
	return d, err
}

// openELF opens a file in a directory if it is an ELF file; it returns nil for any
// other. If it is wanted, it returns the identity that the file had before it was read,
// as far as that is known. It is not os.Open, because most files are closed again at
// once, and takes the name in the directory, because a path costs a sixth more. What
// has become a link since the directory was read is not followed, and a named pipe
// does not hang.
func openELF(dir *os.File, name string, wantID bool) (*os.File, identity, error) {
	var id identity
	var fd int
	err := again(func() (err error) {
		fd, err = unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		return err
	})
	if errors.Is(err, syscall.ELOOP) {
		return nil, id, nil
	}
	if err != nil {
		return nil, id, err
	}
	if wantID {
		if known, ok := identifyOpen(fd); ok {
			id = known
		}
	}
	var magic [len(elf.ELFMAG)]byte
	n := 0
	err = again(func() (err error) {
		n, err = syscall.Pread(fd, magic[:], 0)
		return err
	})
	if err != nil || n < len(magic) || string(magic[:]) != elf.ELFMAG {
		syscall.Close(fd)
		if errors.Is(err, syscall.ESPIPE) || errors.Is(err, syscall.EISDIR) {
			id, err = identity{}, nil // it is no file any more
		}
		return nil, id, err
	}
	return os.NewFile(uintptr(fd), pathIn(dir, name)), id, nil
}

// again repeats a system call that a signal has interrupted.
func again(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// deviceOf returns the number of the device that a file is on.
func deviceOf(st fs.FileInfo) uint64 {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return uint64(sys.Dev)
	}
	return 0
}
