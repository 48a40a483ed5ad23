//go:build amd64 || arm64

package sys

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// MaySeccompKill tells whether a system call that the program never used
// before could meet a seccomp filter. If that cannot be found out, it could.
func MaySeccompKill() bool {
	b, err := os.ReadFile("/proc/self/status")
	return err != nil || seccompMode(b) != "0"
}

// seccompMode finds the mode in the text of /proc/PID/status: "0" none, "1"
// strict, "2" filter, "" unknown. The line is absent from a kernel built
// without seccomp, and from the emulation of /proc by others.
func seccompMode(status []byte) string {
	for line := range bytes.Lines(status) {
		if v, ok := bytes.CutPrefix(line, []byte("Seccomp:")); ok {
			return string(bytes.TrimSpace(v))
		}
	}
	return ""
}

// KernelVersion returns the first two numbers of the running kernel's
// release, zeros if it cannot be understood.
func KernelVersion() (major, minor int) {
	var u syscall.Utsname
	if err := syscall.Uname(&u); err != nil {
		return 0, 0
	}
	var rel []byte
	for _, c := range u.Release {
		if c == 0 {
			break
		}
		rel = append(rel, byte(c))
	}
	return parseRelease(string(rel))
}

// parseRelease reads the start of a release such as "6.18.44-fc".
func parseRelease(s string) (major, minor int) {
	number := func() int {
		i := 0
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		n, err := strconv.Atoi(s[:i])
		if err != nil {
			return 0
		}
		s = s[i:]
		return n
	}
	major = number()
	if len(s) == 0 || s[0] != '.' {
		return major, 0
	}
	s = s[1:]
	return major, number()
}
