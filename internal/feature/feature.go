// Package feature tells what the running kernel and this process can do, by
// trying it: kernel versions lie, since distributions carry patches back.
//
// Each feature is a variable with a Check method. Nothing is probed before the
// first Check.
package feature

import (
	"errors"
	"fmt"
	"sync"
)

// ErrNotSupported is wrapped by the error of a Check whose result is final:
// this kernel, or this platform, does not have the feature.
var ErrNotSupported = errors.New("not supported")

// An UnsupportedError says that the kernel lacks a feature. It wraps
// ErrNotSupported and the kernel's own answer.
type UnsupportedError struct {
	// Feature is the name of the feature and Since the version of Linux
	// that brought it.
	Feature, Since string
	// Cause is what the kernel answered; nil if nothing was asked.
	Cause error
}

func (e *UnsupportedError) Error() string {
	s := fmt.Sprintf("%s: not supported (needs Linux %s)", e.Feature, e.Since)
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap returns ErrNotSupported and the cause.
func (e *UnsupportedError) Unwrap() []error {
	if e.Cause == nil {
		return []error{ErrNotSupported}
	}
	return []error{ErrNotSupported, e.Cause}
}

// A Feature is something that a kernel has or lacks.
type Feature struct {
	// Name says what it is, Since which version of Linux brought it.
	Name, Since string

	// probe tries the feature. It returns nil if it is there, an error that
	// wraps ErrNotSupported if it certainly is not, and any other error if
	// the attempt says nothing (no privilege, no memory).
	probe func() error

	mu     sync.Mutex
	done   bool
	result error
}

// Check returns nil if the kernel has the feature. An error that wraps
// ErrNotSupported is a final no and is remembered like a yes; any other error,
// a missing capability for instance, says nothing about the kernel and is tried
// anew by the next Check. Check may be called concurrently.
func (f *Feature) Check() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done {
		return f.result
	}
	err := f.probe()
	switch {
	case err == nil:
		f.done = true
	case errors.Is(err, ErrNotSupported):
		var ue *UnsupportedError
		if !errors.As(err, &ue) {
			ue = &UnsupportedError{Feature: f.Name, Since: f.Since}
			if err != ErrNotSupported { //nolint:errorlint // the bare sentinel carries no cause
				ue.Cause = err
			}
		}
		f.done, f.result = true, ue
		return ue
	default:
		// What is missing is missing for the operation itself, too: the name of
		// the feature would lead astray.
		var pe *PermissionError
		if errors.As(err, &pe) {
			return pe
		}
		return fmt.Errorf("probe for %s: %w", f.Name, err)
	}
	return nil
}
