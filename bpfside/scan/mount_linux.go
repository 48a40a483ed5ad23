package scan

import (
	"os"

	"golang.org/x/sys/unix"
)

// kernelFS are file systems whose files the kernel makes up. Reading there can have
// effects, as with trace_pipe, and /proc/kcore is an ELF file.
var kernelFS = map[uint32]string{
	unix.PROC_SUPER_MAGIC:     "proc file system",
	unix.SYSFS_MAGIC:          "sysfs",
	unix.DEVPTS_SUPER_MAGIC:   "devpts",
	unix.CGROUP_SUPER_MAGIC:   "cgroup file system",
	unix.CGROUP2_SUPER_MAGIC:  "cgroup file system",
	unix.DEBUGFS_MAGIC:        "debugfs",
	unix.TRACEFS_MAGIC:        "tracefs",
	unix.SECURITYFS_MAGIC:     "securityfs",
	unix.SELINUX_MAGIC:        "selinuxfs",
	unix.BPF_FS_MAGIC:         "bpf file system",
	unix.PSTOREFS_MAGIC:       "pstore",
	unix.EFIVARFS_MAGIC:       "efivarfs",
	unix.NSFS_MAGIC:           "nsfs",
	unix.BINFMTFS_MAGIC:       "binfmt_misc",
	unix.RDTGROUP_SUPER_MAGIC: "resctrl file system",
	0x62656570:                "configfs",   // CONFIGFS_MAGIC of fs/configfs/mount.c
	0x65735543:                "fusectl",    // FUSE_CTL_SUPER_MAGIC of fs/fuse/control.c
	0x67596969:                "rpc_pipefs", // RPCAUTH_GSSMAGIC of net/sunrpc/rpc_pipe.c
	0x19800202:                "mqueue",     // MQUEUE_MAGIC of ipc/mqueue.c
}

// A fileSystem is what matters about the file system of a directory.
type fileSystem struct {
	// foreign is what a file system is that holds no files of users, "" for one
	// that does.
	foreign string
	// lasting tells that an identity stands for a file for as long as that is
	// not changed.
	lasting bool
}

// fileSystemOf returns the file system of a directory. For statfs /dev is a tmpfs
// like others; what it has is a null device.
func fileSystemOf(d *os.File) fileSystem {
	fd := int(d.Fd())
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return fileSystem{}
	}
	typ := uint32(st.Type)
	if what := kernelFS[typ]; what != "" {
		return fileSystem{foreign: what}
	}
	var null unix.Stat_t
	err := unix.Fstatat(fd, "null", &null, unix.AT_SYMLINK_NOFOLLOW)
	if err == nil && null.Mode&unix.S_IFMT == unix.S_IFCHR && uint64(null.Rdev) == unix.Mkdev(1, 3) { // Documentation/admin-guide/devices.txt
		return fileSystem{foreign: "file system of devices"}
	}
	return fileSystem{lasting: lastingFS[typ]}
}
