// Package corpus has a test that builds a checkout of bcc's libbpf-tools, which is
// public and not part of this repository, by clang and by bpfc, loads both and
// tells what the verifier says:
//
//	NOPFIRE_CORPUS=PATH go test -v ./bpfside/bpfc/internal/difftest/corpus
//
// clang includes NOPFIRE_CORPUS_INCLUDE, a list of directories as PATH is one, with
// a whole vmlinux.h and libbpf's headers; without it the headers of the checkout
// and of the machine. The table goes to NOPFIRE_CORPUS_OUT as well, if set.
package corpus
