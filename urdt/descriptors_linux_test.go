//go:build amd64 || arm64

package urdt

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// A first use in a program that has two descriptors left must not end it, as a
// first file of package os would, which sets the runtime's poller up.
func TestFirstUseWithFewDescriptors(t *testing.T) {
	const role = "NOPFIRE_TEST_FEW_DESCRIPTORS"
	if os.Getenv(role) != "" {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 64, Max: 64}); err != nil {
			t.Fatal(err)
		}
		var fds []int
		for {
			fd, err := syscall.Open("/dev/null", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
			if err != nil {
				break
			}
			fds = append(fds, fd)
		}
		for _, fd := range fds[len(fds)-2:] {
			syscall.Close(fd)
		}
		fmt.Println("reach:", Scope().Reach)
		return
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestFirstUseWithFewDescriptors$")
	cmd.Env = []string{role + "=1"}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.ENOEXEC) {
		t.Skip("skipped: this process runs under an emulator that cannot start itself")
	}
	if err != nil || !strings.Contains(string(out), "reach: process") && !strings.Contains(string(out), "reach: system") {
		t.Errorf("%v\n%s", err, out)
	}
}
