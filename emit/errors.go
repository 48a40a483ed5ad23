package emit

import (
	"errors"
	"fmt"

	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/internal/sys"
)

// ErrClosed is returned by the methods of a Provider that is closed.
var ErrClosed = errors.New("provider is closed")

// ErrNotSupported is wrapped by the error of Load on platforms that cannot
// fire probes.
var ErrNotSupported = sys.ErrNotSupported

// An ArgError says that a call of Probe.Fire does not fit the probe. Nothing
// was fired.
type ArgError struct {
	Provider, Probe string
	// Index is the number of the argument, -1 if their count is wrong.
	Index int
	// Name is the name of the argument, "" if it has none.
	Name string
	// Reason is the fault.
	Reason string
}

func (e *ArgError) Error() string {
	if e.Index < 0 {
		return fmt.Sprintf("fire %s:%s: %s", e.Provider, e.Probe, e.Reason)
	}
	name := e.Name
	if name == "" {
		name = fmt.Sprintf("arg%d", e.Index+1)
	}
	return fmt.Sprintf("fire %s:%s: argument %s: %s", e.Provider, e.Probe, name, e.Reason)
}

// specError is the error of a definition that elfgen does not see.
func specError(provider, probe string, arg int, argName, format string, args ...any) error {
	return &elfgen.SpecError{
		Provider: provider,
		Probe:    probe, ProbeIndex: 0,
		Argument: argName, ArgumentIndex: arg,
		Reason: fmt.Sprintf(format, args...),
	}
}

// Must returns v, and panics if err is not nil. It is for probes in package
// variables, whose definitions are constants of the program: the names and
// types are right or wrong in every run.
func Must[T any](v T, err error) T {
	if err != nil {
		panic("emit: " + err.Error())
	}
	return v
}
