package run

import "github.com/cilium/ebpf"

func newPerfReader(string, *ebpf.Map) (reader, error) { return nil, ebpf.ErrNotSupported }
