package feature

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// A Capability is a Linux capability, numbered as in
// include/uapi/linux/capability.h.
type Capability uint

// The capabilities that tracing asks for.
const (
	CapDACOverride Capability = 1
	CapSysPtrace   Capability = 19
	CapSysAdmin    Capability = 21
	CapSysResource Capability = 24
	CapPerfmon     Capability = 38
	CapBPF         Capability = 39
	// CapCheckpointRestore opens /proc/PID/map_files, as CapSysAdmin does.
	CapCheckpointRestore Capability = 40
)

// String returns the name of the capability as capabilities(7) writes it.
func (c Capability) String() string {
	switch c {
	case CapDACOverride:
		return "CAP_DAC_OVERRIDE"
	case CapSysPtrace:
		return "CAP_SYS_PTRACE"
	case CapSysAdmin:
		return "CAP_SYS_ADMIN"
	case CapSysResource:
		return "CAP_SYS_RESOURCE"
	case CapPerfmon:
		return "CAP_PERFMON"
	case CapBPF:
		return "CAP_BPF"
	case CapCheckpointRestore:
		return "CAP_CHECKPOINT_RESTORE"
	}
	return "CAP_" + strconv.Itoa(int(c))
}

// A CapSet is a set of capabilities, bit n for capability n.
type CapSet uint64

// Has reports whether c is in the set.
func (s CapSet) Has(c Capability) bool { return c < 64 && s&(1<<c) != 0 }

// Effective returns the effective capabilities of this process; the empty set
// where they cannot be known.
func Effective() CapSet {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	return parseCapEff(data)
}

// parseCapEff finds the CapEff line of a /proc/PID/status file.
func parseCapEff(status []byte) CapSet {
	sc := bufio.NewScanner(bytes.NewReader(status))
	for sc.Scan() {
		if rest, ok := strings.CutPrefix(sc.Text(), "CapEff:"); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(rest), 16, 64)
			if err != nil {
				return 0
			}
			return CapSet(n)
		}
	}
	return 0
}

// TracingCaps is what attaching a BPF program to a uprobe asks for since Linux
// 5.8. CAP_SYS_ADMIN stands in for both.
var TracingCaps = []Capability{CapBPF, CapPerfmon}

// PerfUprobeCaps is what a uprobe as a perf event asks for: Linux 6.18 refuses
// it to CAP_PERFMON.
var PerfUprobeCaps = []Capability{CapBPF, CapSysAdmin}

// Missing returns which of the wanted capabilities are not in the set.
// CAP_SYS_ADMIN includes CAP_BPF, CAP_PERFMON and CAP_CHECKPOINT_RESTORE
// (bpf_capable, perfmon_capable and checkpoint_restore_ns_capable in
// include/linux/capability.h).
func (s CapSet) Missing(want ...Capability) []Capability {
	var missing []Capability
	for _, c := range want {
		if s.Has(c) {
			continue
		}
		if (c == CapBPF || c == CapPerfmon || c == CapCheckpointRestore) && s.Has(CapSysAdmin) {
			continue
		}
		missing = append(missing, c)
	}
	return missing
}

// A PermissionError says that the kernel refused an operation for want of
// privilege, and what would help.
type PermissionError struct {
	// Op is the operation that was refused.
	Op string
	// Missing are the capabilities that the operation asks for and this
	// process lacks. It is empty if the process has them all: then a
	// lockdown, an LSM or a limit is in the way.
	Missing []Capability
	// UserNamespace tells that this process is not in the initial user
	// namespace: whatever capabilities it has do not count.
	UserNamespace bool
	// Err is the answer of the kernel.
	Err error
}

func (e *PermissionError) Error() string {
	// What others guess of an errno (cilium says MEMLOCK) leads astray.
	answer := e.Err
	if errno := syscall.Errno(0); errors.As(e.Err, &errno) {
		answer = errno
	}
	var b strings.Builder
	switch {
	case e.UserNamespace:
		fmt.Fprintf(&b, "%s: %v: capabilities count in the initial user namespace only, and this process is in another", e.Op, answer)
		return b.String()
	case len(e.Missing) == 0:
		fmt.Fprintf(&b, "%s: %v, although the capabilities are there: lockdown, seccomp, a security module or a limit forbids it", e.Op, answer)
		return b.String()
	}
	fmt.Fprintf(&b, "%s: %v: missing ", e.Op, answer)
	for i, c := range e.Missing {
		if i > 0 {
			b.WriteString(" and ")
		}
		b.WriteString(c.String())
	}
	b.WriteString(" (run as root, or give the program these capabilities)")
	return b.String()
}

// Unwrap returns the answer of the kernel.
func (e *PermissionError) Unwrap() error { return e.Err }

// Explain wraps an error of the kernel that stands for missing privilege into a
// PermissionError, and returns every other error as it is.
func Explain(op string, err error, want ...Capability) error {
	if err == nil || (!errors.Is(err, syscall.EPERM) && !errors.Is(err, syscall.EACCES)) {
		return err
	}
	var pe *PermissionError
	if errors.As(err, &pe) {
		return err
	}
	return &PermissionError{Op: op, Missing: Effective().Missing(want...), UserNamespace: inUserNamespace(), Err: err}
}

// inUserNamespace reports whether this process is in another user namespace than the
// initial one, whose inode is PROC_USER_INIT_INO of include/linux/proc_ns.h.
func inUserNamespace() bool {
	const initial = "user:[4026531837]"
	ns, err := os.Readlink("/proc/self/ns/user")
	return err == nil && ns != initial
}
