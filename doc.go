// Package nopfire is the root of a module for runtime-defined user-space
// tracepoints. It holds no code: programs that define probes import
// [github.com/nopfire/nopfire/emit], programs that trace import
// [github.com/nopfire/nopfire/bpfside/usdt] or
// [github.com/nopfire/nopfire/bpfside/trace], and the command is in
// cmd/nopfire. ARCHITECTURE.md draws the whole.
package nopfire
