//go:build linux && (amd64 || arm64)

package selftests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// emptyProgram loads a BPF program that only returns.
func emptyProgram(tb testing.TB) *ebpf.Program {
	tb.Helper()
	method, err := usdt.DefaultMethod()
	if err != nil {
		tb.Fatal(err)
	}
	spec := &ebpf.ProgramSpec{
		Name: "empty", Type: ebpf.Kprobe, License: "Dual MIT/GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	}
	if err := usdt.PrepareProgram(spec, method); err != nil {
		tb.Fatal(err)
	}
	prog, err := ebpf.NewProgram(spec)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { prog.Close() })
	return prog
}

// attach attaches prog to the one probe that pattern names in the result of a
// search.
func attach(tb testing.TB, prog *ebpf.Program, found *usdt.Result, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
	if len(found.Targets) != 1 {
		tb.Fatalf("%d targets", len(found.Targets))
	}
	l, err := usdt.AttachUSDT(prog, found.Targets[0], nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { l.Close() })
}

// BenchmarkFireEnabled compares a fire that is seen by an empty BPF program with
// the same from a C program, in the same run, each in a process of its own and by
// that process's clock: with the nop of sys/sdt.h and, on x86-64, with the one
// that the kernel replaces by a call.
func BenchmarkFireEnabled(b *testing.B) {
	testutils.NeedBPF(b)
	nops := []string{"1", "5"}
	if runtime.GOARCH != "amd64" {
		nops = nops[:1]
	}
	for _, nop := range nops {
		b.Run("nop"+nop+"/emit", func(b *testing.B) {
			e := startEmitter(b, "-form", "nop"+nop)
			// By file, as in C: a pid filter costs some 60 ns more.
			found, err := usdt.FileTargets(e.Path, "selftest:text")
			attach(b, emptyProgram(b), found, err)
			reportLoop(b, e.Child, "loop ")
		})
		b.Run("nop"+nop+"/C", func(b *testing.B) {
			peer := buildPeer(b)
			found, err := usdt.FileTargets(peer, "peer:nop"+nop)
			attach(b, emptyProgram(b), found, err)
			reportLoop(b, testutils.Start(b, peer), nop+" ")
		})
	}
}

// reportLoop has a child run its loop, and reports the time that it measures.
func reportLoop(b *testing.B, c *testutils.Child, command string) {
	b.Helper()
	var ns float64
	for _, n := range []int{1000, b.N} { // the first hits are slow: they optimize
		c.WriteLine(command + strconv.Itoa(n))
		if _, err := fmt.Sscan(c.ReadLine(), &ns); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(ns, "ns/op")
}

// buildPeer compiles testprogs/peer.
func buildPeer(tb testing.TB) string {
	tb.Helper()
	peer := filepath.Join(sharedDir, "peer")
	if _, err := os.Stat(peer); err == nil {
		return peer
	}
	out, err := exec.Command(testutils.Oracle(tb, "gcc"), "-O2", "-o", peer, "testprogs/peer/nop5.c").CombinedOutput()
	if err != nil {
		tb.Fatalf("%v\n%s", err, out)
	}
	return peer
}
