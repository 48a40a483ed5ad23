//go:build !linux || !(amd64 || arm64)

package emit

import (
	"fmt"
	"runtime"

	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

func hostMachine() (stapsdt.Machine, error) {
	return 0, fmt.Errorf("fire on %s/%s: %w", runtime.GOOS, runtime.GOARCH, ErrNotSupported)
}

func hostForm() elfgen.NopForm { return elfgen.FormNop1 }
