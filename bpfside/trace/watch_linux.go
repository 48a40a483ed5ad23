package trace

import (
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"
)

const (
	// sysPidfdOpen has one number on every architecture
	// (include/uapi/asm-generic/unistd.h; Linux 5.3).
	sysPidfdOpen = 434
	pollIn       = 0x1
	// clockBoottime is CLOCK_BOOTTIME of include/uapi/linux/time.h, the clock
	// of bpf_ktime_get_boot_ns.
	clockBoottime = 7
	// initPIDNamespace is PROC_PID_INIT_INO of include/linux/proc_ns.h, the
	// inode of the initial PID namespace.
	initPIDNamespace = 0xEFFFFFFC
)

// openPidfd returns a file for the process that becomes readable when the
// process ends. O_NONBLOCK puts it under the runtime's poller; kernels before
// 5.10 refuse the flag.
func openPidfd(pid int) (*os.File, error) {
	fd, _, errno := syscall.Syscall(sysPidfdOpen, uintptr(pid), syscall.O_NONBLOCK, 0)
	if errno != 0 {
		return nil, fmt.Errorf("pidfd_open %d: %w", pid, errno)
	}
	return os.NewFile(fd, "pidfd"), nil
}

// waitExit blocks until the process of the pidfd has ended, and reports whether
// it has: false means that the file was closed.
func waitExit(pidfd *os.File) bool {
	conn, err := pidfd.SyscallConn()
	if err != nil {
		return false
	}
	// Read calls the function, waits for the poller if it says false, and
	// calls it again. A plain read(2) of a pidfd is an error: ask poll.
	return conn.Read(func(fd uintptr) bool {
		p := struct {
			fd              int32
			events, revents int16
		}{fd: int32(fd), events: pollIn}
		var now syscall.Timespec
		_, _, errno := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(&now)), 0, 0, 0)
		return errno == 0 && p.revents != 0
	}) == nil
}

// bootTime returns the wall-clock time at which CLOCK_BOOTTIME was zero.
func bootTime() (time.Time, error) {
	var ts syscall.Timespec
	before := time.Now()
	_, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&ts)), 0)
	now := before.Add(time.Since(before) / 2)
	if errno != 0 {
		return time.Time{}, fmt.Errorf("clock_gettime CLOCK_BOOTTIME: %w", errno)
	}
	return now.Add(-time.Duration(ts.Nano())).Round(0), nil
}

// ownPIDNamespace returns the PID namespace of this process, zero for the
// initial one.
func ownPIDNamespace() (pidNamespace, error) {
	var st syscall.Stat_t
	if err := syscall.Stat("/proc/self/ns/pid", &st); err != nil {
		return pidNamespace{}, fmt.Errorf("stat /proc/self/ns/pid: %w", err)
	}
	if st.Ino == initPIDNamespace {
		return pidNamespace{}, nil
	}
	return pidNamespace{dev: uint64(st.Dev), ino: uint64(st.Ino)}, nil
}
