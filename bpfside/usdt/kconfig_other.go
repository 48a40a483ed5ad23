//go:build !linux

package usdt

import "fmt"

func noKernel[T any]() (v T, err error) { return v, fmt.Errorf("%w: needs Linux", ErrNotSupported) }

// runningKernel are the facts of a kernel that is not there.
var runningKernel = &kernelFacts{
	version:    noKernel[uint32],
	cookies:    haveCookies,
	sysWrapper: noKernel[bool],
	options:    func(map[string]bool) (map[string]string, error) { return noKernel[map[string]string]() },
}
