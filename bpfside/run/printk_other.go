//go:build !linux

package run

import "github.com/cilium/ebpf"

func newPrintkReader() (reader, error) { return nil, ebpf.ErrNotSupported }
