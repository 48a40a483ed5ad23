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
	return nil, attachError(t, 0, t.PID, Auto, fmt.Errorf("%w: needs Linux", ErrNotSupported))
}

// AttachAll attaches a program to all locations of several targets on Linux; here
// it returns an error that wraps ErrNotSupported.
func AttachAll(*ebpf.Program, []*Target, *Options) ([]link.Link, error) {
	return nil, fmt.Errorf("attach: %w: needs Linux", ErrNotSupported)
}

func attachGroups(_ *ebpf.Program, groups []*group, o *Options) ([]link.Link, error) {
	return nil, groups[0].fail(o.Method, fmt.Errorf("%w: needs Linux", ErrNotSupported))
}

// together makes one link of several: here there is none.
func together([]link.Link) link.Link { return nil }

// eachConflict finds none: nobody traces here.
func eachConflict(FileID, []place, func(string, FileID) bool, func(uint64, string) bool) error {
	return nil
}
