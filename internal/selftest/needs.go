package selftest

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/cilium/ebpf/btf"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/emit"
	"github.com/nopfire/nopfire/internal/feature"
)

// A Need is a set of things that a machine must be able to do for a check.
type Need uint8

// The needs.
const (
	// Fires: probes fire on this platform.
	Fires Need = 1 << iota
	// Attaches: this process may attach BPF programs to probes.
	Attaches
	// KernelTypes: the kernel says what its types are, and may be read by tracing
	// programs.
	KernelTypes
	// MapsFiles: what lies in the directory of temporary files can be mapped
	// executable, as it can where that is not mounted noexec.
	MapsFiles
)

// traces is what nearly every check needs.
const traces = Fires | Attaches

// missing returns what keeps the check from running, as the reason of a skip. It is
// found out by trying. An error is an answer of the kernel that is no reason to skip.
func (n Need) missing() (reason string, err error) {
	if n&(Fires|Attaches) != 0 && (runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64") {
		return fmt.Sprintf("needs linux/amd64 or linux/arm64, this is %s/%s", runtime.GOOS, runtime.GOARCH), nil
	}
	if n&Attaches != 0 {
		for _, f := range []*feature.Feature{feature.BPF, feature.RingBuf, feature.Cookies} {
			if reason, err := reasonOf(f.Name, f.Check()); reason != "" || err != nil {
				return reason, err
			}
		}
		_, err := usdt.DefaultMethod()
		if reason, err := reasonOf("attach to a uprobe", err); reason != "" || err != nil {
			return reason, err
		}
	}
	if n&MapsFiles != 0 {
		if reason, err := mapsFiles(); reason != "" || err != nil {
			return reason, err
		}
	}
	if n&KernelTypes != 0 {
		if _, err := btf.LoadKernelSpec(); err != nil {
			return "needs the types of the kernel (CONFIG_DEBUG_INFO_BTF): " + oneLine(err), nil
		}
	}
	return "", nil
}

// mapsFiles defines a probe in a file, and returns why that is not what came of it.
func mapsFiles() (reason string, err error) {
	dir, err := os.MkdirTemp("", "nopfire-selftest-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	p, err := emit.NewProvider(provider, &emit.Options{Backing: emit.BackingFile, Dir: dir})
	if err != nil {
		return "", err
	}
	defer p.Close()
	if _, err := emit.NewProbe0(p, "mapped", nil); err != nil {
		return "", err
	}
	if err := p.Load(); err != nil {
		return "", err
	}
	if b := p.Backing(); b.Reason != nil {
		return "needs executable temporary files (TMPDIR on another file system): " + oneLine(b.Reason), nil
	}
	return "", nil
}

// reasonOf tells a lack from a failure.
func reasonOf(what string, err error) (reason string, failure error) {
	var pe *feature.PermissionError
	switch {
	case err == nil:
		return "", nil
	case errors.As(err, &pe):
		if len(pe.Missing) == 0 {
			return "needs the permission of the kernel: " + oneLine(err), nil
		}
		var names []string
		for _, c := range pe.Missing {
			names = append(names, c.String())
		}
		return "needs " + strings.Join(names, " and "), nil
	case errors.Is(err, feature.ErrNotSupported):
		return "needs " + what + ", which this kernel lacks", nil
	}
	return "", fmt.Errorf("%s: %w", what, err)
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// needMethod skips a check for a method of attaching that this kernel lacks.
func needMethod(t *T, m usdt.Method) {
	f := feature.PerfUprobe
	if m == usdt.UprobeMulti {
		f = feature.UprobeMulti
	}
	reason, err := reasonOf(f.Name, f.Check())
	t.Must(err)
	if reason != "" {
		t.Skipf("%s", reason)
	}
}
