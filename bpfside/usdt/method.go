package usdt

import (
	"errors"
	"fmt"
	"os"

	"github.com/cilium/ebpf"

	"github.com/nopfire/nopfire/internal/feature"
)

// A Method is a way of the kernel to attach a program to locations. It is
// settled when the program is loaded: a program that was loaded for one cannot
// be attached by another.
type Method uint8

// The methods.
const (
	// Auto is the best method that the kernel has: see DefaultMethod.
	Auto Method = iota
	// UprobeMulti is one link for any number of locations in a file. A
	// kernel has it since 6.6, and with a pid filter that works since 6.10.
	UprobeMulti
	// PerfEvent is one perf event and one link for each location, since
	// 5.15. Detaching takes some 80 ms for each location, one after the
	// other, and the program stays loaded meanwhile.
	PerfEvent
)

var methodNames = [...]string{"auto", "uprobe_multi", "perf_event"}

// String returns the name of the method as the kernel and EnvMethod spell it.
func (m Method) String() string {
	if int(m) < len(methodNames) {
		return methodNames[m]
	}
	return "invalid"
}

// EnvMethod names an environment variable that forces the method that Auto
// stands for: "uprobe_multi" or "perf_event". It is for tests and for a kernel
// whose best method is broken.
const EnvMethod = "NOPFIRE_ATTACH"

// DefaultMethod returns the method that Auto stands for: what the environment
// forces, else UprobeMulti if the kernel has it, else PerfEvent. It asks the
// kernel once. The error wraps ErrNotSupported where there is neither, or is a
// missing privilege.
func DefaultMethod() (Method, error) {
	switch v := os.Getenv(EnvMethod); v {
	case "", Auto.String():
	case UprobeMulti.String():
		return UprobeMulti, nil
	case PerfEvent.String():
		return PerfEvent, nil
	default:
		return Auto, fmt.Errorf("%s=%q: want %s or %s", EnvMethod, v, UprobeMulti, PerfEvent)
	}
	multiErr := feature.UprobeMulti.Check()
	if multiErr == nil {
		return UprobeMulti, nil
	}
	if !errors.Is(multiErr, ErrNotSupported) {
		return Auto, multiErr
	}
	if err := feature.PerfUprobe.Check(); err != nil {
		return Auto, err
	}
	return PerfEvent, nil
}

// resolve turns Auto into what it stands for.
func (m Method) resolve() (Method, error) {
	switch m {
	case Auto:
		return DefaultMethod()
	case UprobeMulti, PerfEvent:
		return m, nil
	}
	return m, fmt.Errorf("attach method %d is not known", m)
}

// PrepareProgram makes a program specification fit for AttachUSDT with the given
// method: it sets the type and the attach type. Call it before the program is
// loaded, and give AttachUSDT the same method.
func PrepareProgram(spec *ebpf.ProgramSpec, m Method) error {
	m, err := m.resolve()
	if err != nil {
		return fmt.Errorf("prepare program %s: %w", spec.Name, err)
	}
	if spec.Type != ebpf.UnspecifiedProgram && spec.Type != ebpf.Kprobe {
		return fmt.Errorf("prepare program %s: type %s cannot be attached to a probe, want %s", spec.Name, spec.Type, ebpf.Kprobe)
	}
	spec.Type = ebpf.Kprobe
	spec.AttachType = ebpf.AttachNone
	if m == UprobeMulti {
		spec.AttachType = ebpf.AttachTraceUprobeMulti
	}
	return nil
}
