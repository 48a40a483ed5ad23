//go:build !linux

package kconfig

import (
	"fmt"

	"github.com/nopfire/nopfire/internal/feature"
)

func noKernel[T any]() (v T, err error) {
	return v, fmt.Errorf("%w: needs Linux", feature.ErrNotSupported)
}

// Running is a kernel that is not there.
var Running = &Kernel{
	Version:        noKernel[uint32],
	Cookies:        haveCookies,
	SyscallWrapper: noKernel[bool],
	Options:        func(map[string]bool) (map[string]string, error) { return noKernel[map[string]string]() },
}
