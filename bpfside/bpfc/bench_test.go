package bpfc_test

import (
	"context"
	"os"
	"testing"

	"github.com/nopfire/nopfire/bpfside/bpfc"
)

// BenchmarkCompile compiles a program for URDT that includes vmlinux.h. The types of
// the kernel are read each time. selftests has the same in a process of its own,
// beside clang.
func BenchmarkCompile(b *testing.B) {
	dir := os.DirFS("../../selftests/testprogs/bpfccompile/bpf")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := bpfc.Compile(context.Background(), dir, "requests.bpf.c", nil); err != nil {
			b.Fatal(err)
		}
	}
}
