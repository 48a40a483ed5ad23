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
	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/emit"
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
// the same from a C program, in the same run: with the nop of sys/sdt.h and, on
// x86-64, with the one that the kernel replaces by a call.
func BenchmarkFireEnabled(b *testing.B) {
	testutils.NeedBPF(b)
	forms := []struct {
		form elfgen.NopForm
		nop  int
	}{{elfgen.FormNop1, 1}, {elfgen.FormNop5, 5}}
	if runtime.GOARCH != "amd64" {
		forms = forms[:1]
	}
	for _, f := range forms {
		b.Run(fmt.Sprintf("nop%d/emit", f.nop), func(b *testing.B) {
			name := fmt.Sprintf("bench%d", f.nop)
			p, err := emit.NewProvider(name, &emit.Options{NopForm: f.form})
			if err != nil {
				b.Fatal(err)
			}
			defer p.Close()
			probe, err := emit.NewProbe2[int64, string](p, "fire", nil)
			if err != nil {
				b.Fatal(err)
			}
			if err := p.Load(); err != nil {
				b.Fatal(err)
			}
			found, err := usdt.ProcessTargets(os.Getpid(), name+":fire")
			attach(b, emptyProgram(b), found, err)
			b.ReportAllocs()
			for i := range int64(b.N) {
				probe.Fire(i, "/index.html")
			}
		})
		b.Run(fmt.Sprintf("nop%d/C", f.nop), func(b *testing.B) {
			peer := buildPeer(b)
			found, err := usdt.FileTargets(peer, fmt.Sprintf("peer:nop%d", f.nop))
			attach(b, emptyProgram(b), found, err)
			c := testutils.Start(b, peer)
			c.WriteLine(fmt.Sprintf("%d 1000", f.nop)) // the first hit optimizes
			c.ReadLine()
			c.WriteLine(fmt.Sprintf("%d %d", f.nop, b.N))
			ns, err := strconv.ParseFloat(c.ReadLine(), 64)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(ns, "ns/op") // the C program's own clock
		})
	}
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
