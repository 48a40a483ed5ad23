package doctor

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/nopfire/nopfire/internal/feature"
)

// testFunction is a function of the kernel that is there to be traced and is
// never called but by BPF_PROG_TEST_RUN (net/bpf/test_run.c).
const testFunction = "bpf_fentry_test1"

// programs tries what programs of nopfire run and cc can be beside probes.
func programs() []Check {
	var checks []Check
	for _, t := range []trial{
		{name: "BTF", found: "/sys/kernel/btf/vmlinux", wanted: true,
			lost: "no vmlinux.h and no CO-RE", remedy: "a kernel with CONFIG_DEBUG_INFO_BTF", try: tryBTF},
		{name: "tp_btf", found: "attaches", lost: "no programs for typed tracepoints", try: trying(tryTypedTracepoint)},
		{name: "fentry", found: "attaches", lost: "no typed programs for functions of the kernel", try: trying(tryFentry)},
		{name: "kprobe", found: "attaches", lost: "no programs for functions of the kernel", try: trying(tryKprobe)},
		{name: "kernel symbols", found: "/proc/kallsyms has addresses",
			lost: "no __ksym in programs", try: tryKallsyms},
		{name: "tracefs", lost: "no programs for classic tracepoints (tp/…)",
			remedy: "mount -t tracefs tracefs /sys/kernel/tracing", wanted: true, try: tryTracefs},
	} {
		t.group = GroupRun
		checks = append(checks, t.check())
	}
	return checks
}

func tryBTF() (string, error) {
	_, err := btf.LoadKernelSpec()
	return "", notSupported(err, "BTF of the kernel", "5.2")
}

// attachTracing loads a program for something of the kernel and attaches it.
func attachTracing(kind ebpf.AttachType, to, what string) error {
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "nopfire_doctor", Type: ebpf.Tracing, AttachType: kind, AttachTo: to,
		License:      "Dual MIT/GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	})
	if err != nil {
		return notSupported(feature.Explain("load a program", err, feature.TracingCaps...), what, "5.5")
	}
	defer p.Close()
	l, err := link.AttachTracing(link.TracingOptions{Program: p, AttachType: kind})
	if err != nil {
		return notSupported(feature.Explain("attach a program", err, feature.TracingCaps...), what, "5.5")
	}
	return l.Close()
}

func tryTypedTracepoint() error {
	return attachTracing(ebpf.AttachTraceRawTp, "sched_process_exec", "tp_btf")
}

func tryFentry() error { return attachTracing(ebpf.AttachTraceFEntry, testFunction, "fentry") }

func tryKprobe() error {
	// Else it would be tried by way of tracefs, which is another question.
	if _, err := os.Stat("/sys/bus/event_source/devices/kprobe"); errors.Is(err, os.ErrNotExist) {
		return &feature.UnsupportedError{Feature: "kprobe", Since: "4.17, with CONFIG_KPROBE_EVENTS"}
	}
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "nopfire_doctor", Type: ebpf.Kprobe, License: "Dual MIT/GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	})
	if err != nil {
		return feature.Explain("load a program", err, feature.TracingCaps...)
	}
	defer p.Close()
	l, err := link.Kprobe(testFunction, p, nil)
	if err != nil {
		return notSupported(feature.Explain("attach a program", err, feature.PerfUprobeCaps...), "kprobe", "4.17")
	}
	return l.Close()
}

// notSupported makes of an error that says so one that says since when.
func notSupported(err error, what, since string) error {
	if errors.Is(err, ebpf.ErrNotSupported) || errors.Is(err, unix.Errno(524)) { // ENOTSUPP of include/linux/errno.h
		return &feature.UnsupportedError{Feature: what, Since: since}
	}
	return err
}

// tryKallsyms looks whether some symbol has an address.
func tryKallsyms() (string, error) {
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		return "", err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 0; n < 100 && lines.Scan(); n++ {
		if addr, _, _ := strings.Cut(lines.Text(), " "); strings.Trim(addr, "0") != "" {
			return "", nil
		}
	}
	err = errors.New("/proc/kallsyms shows no addresses")
	if v, readErr := os.ReadFile("/proc/sys/kernel/kptr_restrict"); readErr == nil {
		err = fmt.Errorf("%w (kernel.kptr_restrict is %s)", err, strings.TrimSpace(string(v)))
	}
	return "", err
}

// tryTracefs looks where tracefs is mounted.
func tryTracefs() (string, error) {
	var denied string
	for _, dir := range []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"} {
		var st unix.Statfs_t
		err := unix.Statfs(dir, &st)
		if errors.Is(err, unix.EACCES) || err == nil && st.Type == unix.TRACEFS_MAGIC && unix.Access(dir, unix.R_OK|unix.X_OK) != nil {
			denied = dir
			continue
		}
		if err == nil && st.Type == unix.TRACEFS_MAGIC {
			return dir, nil
		}
	}
	if denied != "" {
		return "", &feature.PermissionError{Op: "open " + denied, Err: fmt.Errorf("%s is for root: %w", denied, unix.EACCES)}
	}
	return "", errors.New("not mounted")
}
