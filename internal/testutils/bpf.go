package testutils

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// BuildBPF compiles a BPF program in C with clang, against the headers of libbpf
// and the kernel that are installed, and returns the path of the object, which
// lives as long as the test. The flags are given to clang.
func BuildBPF(t testing.TB, file string, flags ...string) string {
	t.Helper()
	clang := Oracle(t, "clang-14", "clang")
	if _, err := os.Stat("/usr/include/bpf/usdt.bpf.h"); err != nil {
		SkipOrFail(t, "no libbpf headers: %v", err)
	}
	arch, triplet := "x86", "x86_64-linux-gnu"
	if runtime.GOARCH == "arm64" {
		arch, triplet = "arm64", "aarch64-linux-gnu"
	}
	out := filepath.Join(t.TempDir(), "prog.bpf.o")
	args := append([]string{"-O2", "-g", "-Wall", "-target", "bpf", "-D__TARGET_ARCH_" + arch,
		"-I/usr/include/" + triplet, "-c", file, "-o", out}, flags...)
	if msg, err := exec.Command(clang, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", clang, strings.Join(args, " "), err, msg)
	}
	return out
}
