//go:build amd64 || arm64

package urdt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/internal/sys"
)

// build returns the object for the running machine.
func build() (*elfgen.Object, error) { return elfgen.BuildURDT(hostMachine) }

// Entries of the auxiliary vector: include/uapi/linux/auxvec.h.
const (
	atNull   = 0
	atSecure = 23
)

// raisedPrivileges reports whether the process has got privileges from its
// program file (set-user-ID, set-group-ID, capabilities), so that whoever
// started it may have none: its environment is not to be trusted. What cannot
// be found out is taken for yes.
func raisedPrivileges() bool {
	if os.Getuid() != os.Geteuid() || os.Getgid() != os.Getegid() {
		return true
	}
	auxv, err := readAuxv()
	return err != nil || secure(auxv)
}

// readAuxv reads the auxiliary vector, as far as one page of it goes: Linux makes
// some 25 entries of 16 bytes. Not by os.ReadFile: the first file that package os
// opens sets the runtime's poller up, which ends a program that has no descriptors
// left, and this may be the first one.
func readAuxv() ([]byte, error) {
	fd, err := sys.Open("/proc/self/auxv", syscall.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	auxv := make([]byte, 4096)
	for {
		n, err := syscall.Read(fd, auxv)
		if err == syscall.EINTR {
			continue
		}
		return auxv[:max(n, 0)], err
	}
}

// secure finds AT_SECURE, the kernel's own answer, in an auxiliary vector.
func secure(auxv []byte) bool {
	for ; len(auxv) >= 16; auxv = auxv[16:] {
		switch binary.LittleEndian.Uint64(auxv) {
		case atSecure:
			return binary.LittleEndian.Uint64(auxv[8:]) != 0
		case atNull:
			return true
		}
	}
	return true
}

// makeUserDir makes the directory of the user's object, if it may be one.
func makeUserDir(dir string) error {
	if err := checkUserDir(dir); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return ownDir(dir)
}

// checkUserDir checks that the parent of dir is the user's own alone: sudo and
// su leave a stranger's in the environment. If dir is there it must be the
// user's own as well.
func checkUserDir(dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("%s is no absolute path", dir)
	}
	if err := ownDir(filepath.Dir(dir)); err != nil {
		// Not wrapped: that it is absent does not mean that the object is,
		// and would be made.
		return fmt.Errorf("runtime directory: %v", err)
	}
	if err := ownDir(dir); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// ownDir checks that dir is a directory, no symbolic link to one, that belongs
// to the effective user and that nobody else can write to.
func ownDir(dir string) error {
	var st syscall.Stat_t
	err := syscall.Lstat(dir, &st)
	switch {
	case err != nil:
		return &os.PathError{Op: "stat", Path: dir, Err: err}
	case st.Mode&syscall.S_IFMT != syscall.S_IFDIR:
		return fmt.Errorf("%s is not a directory", dir)
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%s is owned by user %d", dir, st.Uid)
	case st.Mode&0o022 != 0:
		return fmt.Errorf("%s is writable by others: mode %#o", dir, st.Mode&0o7777)
	}
	return nil
}

// ownedByRoot reports whether a file belongs to root.
func ownedByRoot(path string) bool {
	var st syscall.Stat_t
	return syscall.Lstat(path, &st) == nil && st.Uid == 0
}
