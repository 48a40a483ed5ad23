// Package usdt finds USDT probes in files and processes and attaches BPF
// programs to them, through cilium/ebpf and without any tool of the host.
//
// The terms, spelled one way everywhere: a provider has probes; a probe has
// locations, each described by one note of section .note.stapsdt, with the
// arguments as an argument string; a semaphore is a counter in the traced
// program that the kernel keeps above zero while somebody traces (the kernel
// calls its file offset ref_ctr_offset). A Target is a probe in one opened
// file, which is what can be attached to:
//
//	file or pid  → notes → Targets → AttachUSDT → link.Link
//
// The instruction at a location decides what tracing it costs: see Target.Sites.
//
// FileTargets searches a file, which FindFile finds by the name of a program or a
// library, ProcessTargets a process and AllTargets all of them. A Follower goes on
// searching: it tells of processes that start later, of objects that are loaded
// later, and of what is gone.
//
// BPF objects that clang built, also those on libbpf's unmodified usdt.bpf.h, are
// loaded by LoadCollection. Its Manager attaches their programs and describes the
// arguments to them; AutoAttach does so by the names of their sections:
//
//	object → LoadCollection → Collection → AutoAttach → link.Links
//
// What is read is written by strangers and taken for hostile: a fault costs the
// argument, the note or the file that it is in, is reported with its reason, and
// never hides a neighbour.
//
// Reading works on every platform, for files of every machine that package
// stapsdt knows. Attaching works on Linux.
package usdt
