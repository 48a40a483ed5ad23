package urdt

import (
	"errors"
	"fmt"

	"github.com/nopfire/nopfire/internal/sys"
)

// ErrNotSupported is wrapped by the Reason of a Status on platforms that cannot
// fire.
var ErrNotSupported = sys.ErrNotSupported

// ErrInUse is wrapped by the error of Use when the package has been used before.
var ErrInUse = errors.New("an object is in use")

// A NameError says that a handle cannot be made.
type NameError struct {
	Provider, Name string
	// Reason is the fault.
	Reason string
}

func (e *NameError) Error() string {
	return fmt.Sprintf("name %q:%q: %s", e.Provider, e.Name, e.Reason)
}

func nameError(provider, name, reason string) error {
	return &NameError{Provider: provider, Name: name, Reason: reason}
}

// A CollisionError says that two names of a process would be one to a tracer
// that knows the first hash alone. Rename one of them.
type CollisionError struct {
	// Name is the refused name, Other the one that was there before, both
	// as PROVIDER:NAME.
	Name, Other string
	// NArgs is the number of arguments that both have.
	NArgs int
	// Hash is the hash of both.
	Hash uint32
}

func (e *CollisionError) Error() string {
	return fmt.Sprintf("name %s with %d arguments has the hash %#08x of %s", e.Name, e.NArgs, e.Hash, e.Other)
}

// An ArgError says that a call of Handle.Fire does not fit. Nothing was fired.
type ArgError struct {
	// Probe is the name, as PROVIDER:NAME.
	Probe string
	// Index is the number of the argument, -1 if their count is wrong.
	Index int
	// Reason is the fault.
	Reason string
}

func (e *ArgError) Error() string {
	if e.Index < 0 {
		return fmt.Sprintf("fire %s: %s", e.Probe, e.Reason)
	}
	return fmt.Sprintf("fire %s: argument %d: %s", e.Probe, e.Index+1, e.Reason)
}

// Must returns v, and panics if err is not nil. It is for handles in package
// variables, whose names and types are constants of the program.
func Must[T any](v T, err error) T {
	if err != nil {
		panic("urdt: " + err.Error())
	}
	return v
}
