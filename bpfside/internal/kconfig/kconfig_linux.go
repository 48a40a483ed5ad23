package kconfig

import (
	"bufio"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Running is the kernel that this process runs on.
var Running = &Kernel{
	Version: func() (uint32, error) {
		var u unix.Utsname
		if err := unix.Uname(&u); err != nil {
			return 0, err
		}
		signature, _ := os.ReadFile("/proc/version_signature") // Ubuntu only
		return kernelVersion(unix.ByteSliceToString(u.Release[:]), unix.ByteSliceToString(u.Version[:]), string(signature))
	},
	Cookies:        haveCookies,
	SyscallWrapper: hasSyscallWrapper,
	Options: func(names map[string]bool) (map[string]string, error) {
		var u unix.Utsname
		if err := unix.Uname(&u); err != nil {
			return nil, err
		}
		f, err := openOptions(unix.ByteSliceToString(u.Release[:]))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return Parse(f, names)
	},
}

// hasSyscallWrapper tells whether system calls get their arguments by a pointer to
// registers, which shows in the names of their functions
// (CONFIG_ARCH_HAS_SYSCALL_WRAPPER; arch/*/include/asm/syscall_wrapper.h).
func hasSyscallWrapper() (bool, error) {
	prefix := map[string]string{
		"amd64": "__x64_", "386": "__ia32_", "arm64": "__arm64_", "s390x": "__s390x_", "riscv64": "__riscv_",
	}[runtime.GOARCH]
	if prefix == "" {
		return false, nil
	}
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		return false, err
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		// address type name [module]
		if fields := strings.Fields(sc.Text()); len(fields) > 2 && fields[2] == prefix+"sys_bpf" {
			return true, nil
		}
	}
	return false, sc.Err()
}
