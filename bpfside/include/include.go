// Package include holds the headers for BPF programs in C: usdt.bpf.h, which reads
// the arguments of USDT probes, and urdt.bpf.h, which does so for tracepoints that
// are defined at run time. They stand beside libbpf's bpf_helpers.h and
// bpf_tracing.h, and package usdt loads and attaches what is built with them.
//
// The folder system has what else a program takes from a machine, for package bpfc,
// which compiles on machines that have nothing: libbpf's headers, the little that
// BPF programs use of the kernel's, and those of a C compiler. All are texts of our
// own with the names of the originals, so that programs compile unchanged with
// either, by clang as well as by bpfc. vmlinux.h is not here: bpfc writes it from
// the types of the kernel.
package include

import "embed"

// Files are the headers: "usdt.bpf.h", "urdt.bpf.h", and those below "system".
//
//go:embed *.h system
var Files embed.FS

// Path is where in Files a program looks for headers, in this order: what clang
// would be told by -I. "bpf_helpers.h" is found as well as "bpf/bpf_helpers.h".
var Path = []string{".", "system", "system/bpf"}

//go:generate go run ./internal/gen -i helpers.txt -o system/bpf/bpf_helper_defs.h
