//go:build !linux

package doctor

import (
	"fmt"
	"runtime"

	"github.com/nopfire/nopfire/internal/feature"
)

// checks returns the one answer of a system that has no uprobes.
func checks(int) []Check {
	return []Check{{
		Group: GroupMachine, Name: "kernel", Status: Missing,
		Found:  runtime.GOOS + " " + runtime.GOARCH,
		Remedy: "trace on Linux; here nopfire reads files: list FILE, cc",
		err:    fmt.Errorf("%w on %s: tracing is by uprobes of Linux", feature.ErrNotSupported, runtime.GOOS),
	}}
}
