package doctor

import (
	"strings"

	"github.com/nopfire/nopfire/internal/feature"
)

// tracers are the commands that need what tracing needs.
const tracers = "trace, argdist, count, run"

// capabilities are those that something here asks for.
var capabilities = []struct {
	cap feature.Capability
	// purpose is what it is for. A capability that is not needed says what is
	// lost without it.
	purpose, without string
	needed           bool
}{
	{cap: feature.CapBPF, purpose: "loads programs (" + tracers + ")", needed: true},
	{cap: feature.CapPerfmon, purpose: "attaches them, and follows processes (" + tracers + ")", needed: true},
	{cap: feature.CapSysAdmin, purpose: "attaches where the kernel has no uprobe_multi; run: bpf_printk",
		without: "tracing does without it where the kernel has uprobe_multi; run does not show bpf_printk"},
	{cap: feature.CapSysPtrace, purpose: "looks at processes of other users (-p, --all)",
		without: "processes of other users are not looked at (-p, --all)"},
	{cap: feature.CapCheckpointRestore, purpose: "opens what a process has mapped, whatever became of its name",
		without: "files that are deleted or replaced are found by the descriptors of the process only"},
	{cap: feature.CapSysResource, purpose: "exceeds limits: locked memory of old kernels, open files",
		without: "limits hold: many probes at once need open files (ulimit -n) where the kernel has no uprobe_multi"},
}

// privileges says what this process may do.
func (h *host) privileges() []Check {
	var checks []Check
	effective, bounding := h.caps("CapEff"), h.caps("CapBnd")
	userNS := h.inUserNS()
	for _, c := range capabilities {
		check := Check{Group: GroupPrivileges, Name: c.cap.String()}
		switch {
		case effective.Has(c.cap) && userNS:
			check.Found = "in the user namespace only, where it does not count"
			check.Status = Note
		case effective.Has(c.cap):
			check.Found = c.purpose
		case len(effective.Missing(c.cap)) == 0:
			check.Status, check.Found = OK, "by CAP_SYS_ADMIN: "+c.purpose
		case c.needed:
			check.Status, check.Found = Missing, "not there; it "+c.purpose
			check.Remedy = h.capRemedy(bounding, c.cap)
		default:
			check.Status, check.Found = Note, "not there; "+c.without
		}
		checks = append(checks, check)
	}
	lacking := len(effective.Missing(feature.TracingCaps...)) > 0
	return append(append(checks, h.obstacles(lacking)...), h.settings(effective)...)
}

// capRemedy says how to come by a capability that tracing needs.
func (h *host) capRemedy(bounding feature.CapSet, c feature.Capability) string {
	switch {
	case h.inUserNS():
		return "run nopfire outside of the user namespace"
	case !bounding.Has(c) && !bounding.Has(feature.CapSysAdmin):
		// Not even root can have it here, so a container took it away.
		return "give it to the container: --cap-add " + strings.TrimPrefix(c.String(), "CAP_") + " (docker, podman), or capabilities.add (kubernetes)"
	}
	return "run as root, or: setcap cap_bpf,cap_perfmon=ep " + h.exe
}

// obstacles says what takes effect on capabilities, or keeps a process that has
// them from using them. Lacking tells that capabilities are missing.
func (h *host) obstacles(lacking bool) []Check {
	var checks []Check
	add := func(name string, status Status, found, remedy string) {
		checks = append(checks, Check{Group: GroupPrivileges, Name: name, Status: status, Found: found, Remedy: remedy})
	}
	if lacking && h.line("NoNewPrivs") == "1" {
		add("no_new_privs", Missing, "set: sudo and capabilities of files have no effect here",
			"start nopfire from another session, or the container without no-new-privileges (allowPrivilegeEscalation: true)")
	}
	if lacking && h.nosuid {
		add("nosuid", Note, "the file system of "+h.exe+" is mounted nosuid: setcap on it has no effect", "")
	}
	switch h.line("Seccomp") {
	case "", "0":
		add("seccomp", OK, "no filter", "")
	default:
		// Whether it refuses bpf and perf_event_open is told by the trials.
		add("seccomp", Note, "a filter is active: if bpf or perf_event_open is refused below in spite of the capabilities, it is the reason (docker and podman allow them with the capabilities, or by --security-opt seccomp=unconfined)", "")
	}
	if lsm, err := h.read("/sys/kernel/security/lsm"); err == nil {
		profile, _ := h.read("/proc/self/attr/current")
		found := lsm
		if profile = strings.TrimRight(profile, "\x00"); profile != "" {
			found += "; this process: " + profile
		}
		add("security modules", OK, found, "")
	}
	return append(checks, h.lockdown())
}

// lockdown says which mode of kernel lockdown is on (kernel_lockdown(7)).
func (h *host) lockdown() Check {
	c := Check{Group: GroupPrivileges, Name: "lockdown", Found: "none"}
	modes, err := h.read("/sys/kernel/security/lockdown")
	if err != nil {
		c.Found = "none that is shown" // no securityfs, or a kernel without it
		return c
	}
	switch {
	case strings.Contains(modes, "[confidentiality]"):
		// LOCKDOWN_BPF_READ_KERNEL, LOCKDOWN_PERF and LOCKDOWN_TRACEFS of
		// include/linux/security.h.
		c.Status, c.Found = Missing, "confidentiality: programs of run cannot read memory of the kernel, and tracefs is closed"
		c.Remedy = "boot with lockdown=integrity, or without Secure Boot's lockdown"
	case strings.Contains(modes, "[integrity]"):
		c.Found = "integrity: traces all the same; bpf_probe_write_user is refused"
	}
	return c
}

// settings are those of sysctl that operators ask about.
func (h *host) settings(effective feature.CapSet) []Check {
	var checks []Check
	add := func(name string, status Status, found string) {
		checks = append(checks, Check{Group: GroupPrivileges, Name: name, Status: status, Found: found})
	}
	if v, err := h.read("/proc/sys/kernel/unprivileged_bpf_disabled"); err == nil {
		add("kernel.unprivileged_bpf_disabled", OK, v+": of no matter, as probes take the capabilities in any case")
	}
	if v, err := h.read("/proc/sys/kernel/perf_event_paranoid"); err == nil {
		switch {
		case len(effective.Missing(feature.CapPerfmon)) == 0 && !h.inUserNS():
			add("kernel.perf_event_paranoid", OK, v+": of no matter, as CAP_PERFMON is there")
		default:
			add("kernel.perf_event_paranoid", Note, v+": with 0 or -1 processes could be followed without CAP_PERFMON, but not traced")
		}
	}
	if v, err := h.read("/proc/sys/kernel/yama/ptrace_scope"); err == nil {
		add("kernel.yama.ptrace_scope", OK, v+": of no matter, as nopfire attaches to no process with ptrace")
	}
	return checks
}
