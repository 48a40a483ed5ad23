//go:build !linux

package feature

// The features of the tracing side: all absent here.
var (
	BPF         = absent("bpf program of type kprobe", "4.1")
	UprobeMulti = absent("uprobe_multi link", "6.6 with the pid filter of 6.10")
	PerfUprobe  = absent("uprobe as a perf event with bpf cookie", "5.15")
	RingBuf     = absent("bpf ring buffer", "5.8")
	Cookies     = absent("bpf_get_attach_cookie", "5.15")
)

func absent(name, since string) *Feature {
	return &Feature{Name: name, Since: since, probe: func() error { return ErrNotSupported }}
}
