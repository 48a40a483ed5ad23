package scan

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// lastingFS are file systems on which an identity stands for a file: the numbers of
// devices that are no disks, and of inodes in images that were made elsewhere, are
// used anew for other files with the same times.
var lastingFS = map[uint32]bool{
	unix.EXT4_SUPER_MAGIC: true, unix.XFS_SUPER_MAGIC: true, unix.BTRFS_SUPER_MAGIC: true,
	unix.F2FS_SUPER_MAGIC: true, unix.OVERLAYFS_SUPER_MAGIC: true,
}

// identify returns the identity of a file in a directory, which is not followed if it
// is a link. It is false for all but regular files.
func identify(dir *os.File, name string) (identity, bool) {
	var st unix.Stat_t
	err := again(func() error { return unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		return identity{}, false
	}
	return identityOf(&st)
}

// identifyOpen returns the identity of an opened file.
func identifyOpen(fd int) (identity, bool) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return identity{}, false
	}
	return identityOf(&st)
}

func identityOf(st *unix.Stat_t) (identity, bool) {
	return identity{
		Device: uint64(st.Dev), Inode: uint64(st.Ino), Size: int64(st.Size),
		MTime: st.Mtim.Nano(), CTime: st.Ctim.Nano(),
	}, st.Mode&unix.S_IFMT == unix.S_IFREG
}

// ownedByUser reports whether a file belongs to the user that this process acts for.
func ownedByUser(st os.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == os.Geteuid()
}

// openOwn opens a file of this user that nobody else may write.
func openOwn(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && (!st.Mode().IsRegular() || !ownedByUser(st) || st.Mode().Perm()&0o022 != 0) {
		err = fmt.Errorf("%s: %w", quoted(path), ErrUntrusted)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
