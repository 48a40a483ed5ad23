//go:build !linux

package usdt

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf/link"
)

// AutoAttach is the function of this name, for the collection of the manager.
// Here it returns an error that wraps ErrNotSupported.
func (m *Manager) AutoAttach(*AutoOptions) (*Attached, error) {
	return nil, fmt.Errorf("attach: %w: needs Linux", ErrNotSupported)
}

func closeAll(links []link.Link) error {
	var errs []error
	for _, l := range links {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}
