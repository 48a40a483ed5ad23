//go:build amd64 || arm64

package sys

import (
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

// Flags of MemfdCreate: include/uapi/linux/memfd.h.
const (
	MFD_CLOEXEC       = 0x1
	MFD_ALLOW_SEALING = 0x2
	MFD_NOEXEC_SEAL   = 0x8  // since 6.3
	MFD_EXEC          = 0x10 // since 6.3
)

// Seals of a memfd: include/uapi/linux/fcntl.h.
const (
	F_SEAL_SEAL   = 0x1
	F_SEAL_SHRINK = 0x2
	F_SEAL_GROW   = 0x4
	F_SEAL_WRITE  = 0x8
)

const (
	fAddSeals = 1033 // F_ADD_SEALS, F_LINUX_SPECIFIC_BASE + 9
	fGetSeals = 1034 // F_GET_SEALS

	// oTmpfile is __O_TMPFILE without the O_DIRECTORY that goes with it:
	// include/uapi/asm-generic/fcntl.h. O_DIRECTORY differs by machine.
	oTmpfile = 0x400000

	atFdcwd         = -0x64
	atSymlinkFollow = 0x400
)

// MemfdCreate makes an anonymous file. The name shows in /proc/PID/maps as
// "/memfd:NAME (deleted)"; the kernel allows 249 bytes. The caller closes the
// descriptor.
func MemfdCreate(name string, flags int) (fd int, err error) {
	p, err := syscall.BytePtrFromString(name)
	if err != nil {
		return -1, err
	}
	r, _, e := syscall.Syscall(nrMemfdCreate, uintptr(unsafe.Pointer(p)), uintptr(flags), 0)
	runtime.KeepAlive(p)
	if e != 0 {
		return -1, e
	}
	return int(r), nil
}

// AddSeals seals a memfd for good.
func AddSeals(fd, seals int) error {
	_, _, e := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), fAddSeals, uintptr(seals))
	return errnoErr(e)
}

// Seals returns the seals of a memfd.
func Seals(fd int) (int, error) {
	r, _, e := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), fGetSeals, 0)
	return int(r), errnoErr(e)
}

// OpenTmpfile makes a file without a name in dir, open for reading and
// writing. Filesystems that cannot answer EOPNOTSUPP. The caller closes the
// descriptor.
func OpenTmpfile(dir string, mode uint32) (fd int, err error) {
	err = eintr(func() error {
		fd, err = syscall.Open(dir, oTmpfile|syscall.O_DIRECTORY|syscall.O_RDWR|syscall.O_CLOEXEC, mode)
		return err
	})
	return fd, err
}

// Link gives the file behind fd, made by OpenTmpfile, the name path, which
// must not exist. It goes through /proc/self/fd: AT_EMPTY_PATH would need
// CAP_DAC_READ_SEARCH before Linux 6.10.
func Link(fd int, path string) error {
	from, err := syscall.BytePtrFromString("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		return err
	}
	to, err := syscall.BytePtrFromString(path)
	if err != nil {
		return err
	}
	cwd := atFdcwd
	_, _, e := syscall.Syscall6(syscall.SYS_LINKAT, uintptr(cwd), uintptr(unsafe.Pointer(from)),
		uintptr(cwd), uintptr(unsafe.Pointer(to)), atSymlinkFollow, 0)
	runtime.KeepAlive(from)
	runtime.KeepAlive(to)
	return errnoErr(e)
}

// Open opens path with O_CLOEXEC and O_NOFOLLOW and never waits: a FIFO under
// a name that we expect to be ours must not stop us.
func Open(path string, flags int, mode uint32) (fd int, err error) {
	flags |= syscall.O_CLOEXEC | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	err = eintr(func() error {
		fd, err = syscall.Open(path, flags, mode)
		return err
	})
	return fd, err
}

// TryLock takes the exclusive advisory lock of the file behind fd, or answers
// EWOULDBLOCK. The lock belongs to the open file description: it ends with the
// last descriptor, thus at the latest with the process, however that dies.
func TryLock(fd int) error {
	return eintr(func() error { return syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB) })
}

// WriteAll writes b at the start of the file behind fd.
func WriteAll(fd int, b []byte) error { return WriteAt(fd, b, 0) }

// WriteAt writes all of b at offset off of the file behind fd.
func WriteAt(fd int, b []byte, off int64) error {
	for len(b) > 0 {
		var n int
		err := eintr(func() (err error) { n, err = syscall.Pwrite(fd, b, off); return err })
		if err != nil {
			return err
		}
		if n == 0 {
			return syscall.EIO
		}
		b, off = b[n:], off+int64(n)
	}
	return nil
}

// ReadFull fills b from offset off of the file behind fd; a file that ends
// too early is EIO.
func ReadFull(fd int, b []byte, off int64) error {
	for len(b) > 0 {
		var n int
		err := eintr(func() (err error) { n, err = syscall.Pread(fd, b, off); return err })
		if err != nil {
			return err
		}
		if n == 0 {
			return syscall.EIO
		}
		b, off = b[n:], off+int64(n)
	}
	return nil
}

// A FileID tells one file from all others of the machine as long as it is
// open.
type FileID struct{ Dev, Ino uint64 }

// ID returns the identity of a file.
func ID(st *syscall.Stat_t) FileID { return FileID{Dev: st.Dev, Ino: st.Ino} }

// Fstat is fstat(2), restarted.
func Fstat(fd int) (st syscall.Stat_t, err error) {
	err = eintr(func() error { return syscall.Fstat(fd, &st) })
	return st, err
}

// eintr repeats f while a signal interrupts it: Go's own preemption signals
// come at any time, and package syscall leaves the repetition to the caller.
func eintr(f func() error) error {
	for {
		if err := f(); err != syscall.EINTR {
			return err
		}
	}
}

// errnoErr makes a nil interface of the zero Errno.
func errnoErr(e syscall.Errno) error {
	if e != 0 {
		return e
	}
	return nil
}
