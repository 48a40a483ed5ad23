// Package procwatch tells what happens to the executable mappings of all
// processes, as it happens and without polling: which file is mapped where, which
// process forks, executes another program, or ends.
//
// The kernel writes these records into the buffers of perf events that count
// nothing, one for each CPU (perf_event_open(2), PERF_COUNT_SW_DUMMY with mmap2,
// comm_exec and task). What it does not tell is that something was unmapped or
// moved: munmap and mremap leave no record. A watcher's records are therefore
// hints on where to look; /proc says what is the case.
//
// The package may not know of probes.
package procwatch

import (
	"errors"

	"github.com/nopfire/nopfire/internal/procmaps"
)

// A Kind says what happened.
type Kind uint8

// The kinds of an Event.
const (
	// Map: the process mapped a file executable, or made a mapping of a file
	// executable. Mapping says which.
	Map Kind = iota + 1
	// Fork: process Parent made the process, which has its mappings.
	Fork
	// Exec: the process executes another program; its mappings are gone. Map
	// events of the new ones stand before and after.
	Exec
	// Exit: a thread ended, the process with the last of them.
	Exit
)

// String returns the name of the kind in lower case.
func (k Kind) String() string {
	switch k {
	case Map:
		return "map"
	case Fork:
		return "fork"
	case Exec:
		return "exec"
	case Exit:
		return "exit"
	}
	return "invalid"
}

// An Event is something that happened to a process.
type Event struct {
	Kind Kind
	// Time orders events of all CPUs: nanoseconds of a clock of the kernel.
	Time uint64
	// PID and TID are the process and the thread, Parent the process that
	// forked, as the PID namespace of the watcher numbers them.
	PID, TID, Parent int
	// Mapping is what a Map event is about. Perms has no Shared for a
	// mapping that was made executable later.
	Mapping procmaps.Mapping
}

// Options change how a Watcher works; the zero value means the defaults.
type Options struct {
	// BufferSize is the number of bytes to buffer for each CPU, rounded up to
	// a power of two; 0 means 256 KiB, room for about 2000 events. A smaller
	// one is taken where the kernel does not grant that much.
	BufferSize int
}

// ErrClosed is returned by a Watcher that was closed.
var ErrClosed = errors.New("watcher is closed")
