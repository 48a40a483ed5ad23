//go:build !linux

package usdt

import (
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// AttachUSDT attaches a program to all locations of a target on Linux; here it
// returns an error that wraps ErrNotSupported.
func AttachUSDT(_ *ebpf.Program, t *Target, _ *Options) (link.Link, error) {
	return nil, &AttachError{t.Provider, t.Name, t.Path, t.PID, Auto, fmt.Errorf("%w: needs Linux", ErrNotSupported)}
}
