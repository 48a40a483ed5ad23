// Package bpfc compiles BPF programs in C, as they are written for libbpf, without
// clang: the machine needs nothing but this package.
//
//	spec, err := bpfc.Compile(ctx, os.DirFS("."), "prog.bpf.c", nil)
//
// The result is what cilium/ebpf loads. Give it to usdt.NewCollection (package
// bpfside/usdt), which knows programs for USDT probes and for URDT besides, or to
// ebpf.NewCollection. [CompileELF] gives the same as an object file, which
// bpftool, libbpf and cilium/ebpf load.
//
// # Headers
//
// bpf_helpers.h, bpf_tracing.h, bpf_core_read.h, bpf_endian.h, usdt.bpf.h and
// urdt.bpf.h are part of this package, as are the few of the kernel and of the
// compiler that programs include. vmlinux.h is made from the types of the kernel,
// with those that the program names. A file of the same name in the program's file
// system comes before them.
//
// # What is settled when
//
// libbpf settles some things when a program is loaded: offsets of fields that
// differ between kernels (CO-RE), and variables marked __kconfig. Here that is
// done while compiling, for the running kernel or for the one that [Options]
// describe, and the verifier sees constants. So an object of [CompileELF] is for
// the kernel that it was made for; kconfig variables alone are left to its loader.
//
// # Errors
//
// What is wrong with a program is a [Diagnostics], with the place and the line of
// each fault. C that this package does not know is such a fault: it is named, and
// never compiled to something else. [Explain] does the same for what the
// verifier refuses.
package bpfc
