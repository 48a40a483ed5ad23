// Package include holds the headers for BPF programs in C: usdt.bpf.h, which reads
// the arguments of USDT probes, and urdt.bpf.h, which does so for tracepoints that
// are defined at run time. They stand beside libbpf's bpf_helpers.h and
// bpf_tracing.h and are written for clang; package usdt loads and attaches what is
// built with them.
package include

import "embed"

// Files are the headers: "usdt.bpf.h", "urdt.bpf.h".
//
//go:embed *.h
var Files embed.FS
