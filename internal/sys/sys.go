// Package sys holds the few Linux system calls that package emit needs and
// package syscall lacks: memfds and their seals, mappings by address,
// publishing of unnamed files, and the question which nop the kernel
// optimizes.
//
// It stands on package syscall alone, because it is linked into the programs
// that emit probes. It knows nothing of ELF, probes or files' meaning. The
// calls exist for the machines that can fire (amd64, arm64); on all other
// platforms the package holds ErrNotSupported and no more.
package sys

import "errors"

// ErrNotSupported says that this platform cannot fire probes: there is no
// fall-back, the handles stay inert.
var ErrNotSupported = errors.New("not supported on this platform")
