//go:build !linux

package procwatch

import (
	"errors"
	"fmt"
	"time"
)

// A Watcher gathers the events of all processes, on Linux.
type Watcher struct{}

// New returns an error that wraps errors.ErrUnsupported.
func New(*Options) (*Watcher, error) {
	return nil, fmt.Errorf("watch the mappings of all processes: %w: needs Linux", errors.ErrUnsupported)
}

// Refresh does nothing.
func (*Watcher) Refresh() (bool, error) { return false, ErrClosed }

// Read returns ErrClosed.
func (*Watcher) Read(dst []Event, _ time.Duration) ([]Event, bool, error) {
	return dst, false, ErrClosed
}

// Wake does nothing.
func (*Watcher) Wake() {}

// Close does nothing.
func (*Watcher) Close() error { return nil }
