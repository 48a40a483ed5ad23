//go:build linux && (amd64 || arm64)

package selftests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/nopfire/nopfire/internal/testutils"
)

// A usage is what a child process took.
type usage struct {
	time   time.Duration // of the clock
	peakKB int64         // of memory, at most
}

func measure(b testing.TB, name string, args ...string) usage {
	b.Helper()
	cmd := exec.Command(name, args...)
	start := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return usage{time.Since(start), cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss}
}

// BenchmarkCompile is a process that compiles a program for URDT from C and loads
// it, beside one of clang that compiles the same with a vmlinux.h of this kernel.
func BenchmarkCompile(b *testing.B) {
	testutils.NeedBPF(b)
	run := func(name string, args ...string) func(b *testing.B) {
		return func(b *testing.B) {
			var peak int64
			for b.Loop() {
				peak = max(peak, measure(b, name, args...).peakKB)
			}
			b.ReportMetric(float64(peak), "peak-KB")
		}
	}
	prog := testutils.GoBuild(b, "./testprogs/bpfccompile")
	b.Run("bpfc and load", run(prog, "0", "0", "bench"))

	clang := testutils.Oracle(b, "clang-14", "clang")
	headers := b.TempDir()
	vmlinux, err := exec.Command(testutils.Oracle(b, "bpftool"), "btf", "dump", "file", "/sys/kernel/btf/vmlinux", "format", "c").Output()
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(headers, "vmlinux.h"), vmlinux, 0o644); err != nil {
		b.Fatal(err)
	}
	arch := map[string]string{"amd64": "x86", "arm64": "arm64"}[runtime.GOARCH]
	b.Run("clang", run(clang, "-O2", "-g", "-target", "bpf", "-mcpu=v3", fmt.Sprint("-D__TARGET_ARCH_", arch), "-I", headers,
		"-I../bpfside/include", "-I../bpfside/include/system", "-c", "testprogs/bpfccompile/bpf/requests.bpf.c",
		"-o", filepath.Join(headers, "out.o")))
}

// A small program is compiled and loaded with little memory.
func TestCompileMemory(t *testing.T) {
	testutils.NeedBPF(t)
	const limitKB = 60 * 1024
	prog := testutils.GoBuild(t, "./testprogs/bpfccompile")
	u := measure(t, prog, "0", "0", "bench")
	t.Logf("%v, %d KB at most", u.time, u.peakKB)
	if u.peakKB > limitKB {
		t.Errorf("%d KB at most, want no more than %d", u.peakKB, limitKB)
	}
}
