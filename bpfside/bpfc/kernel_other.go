//go:build !linux

package bpfc

import (
	"errors"
	"fmt"
	"runtime"
)

// openRunning returns an error: there is no kernel that runs BPF programs.
func openRunning() (data []byte, release func(), err error) {
	return nil, nil, fmt.Errorf("%s has none: %w", runtime.GOOS, errors.ErrUnsupported)
}
