package feature

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// The features of the tracing side.
var (
	// BPF is the right and the ability to load a uprobe program at all.
	BPF = &Feature{Name: "bpf program of type kprobe", Since: "4.1", probe: func() error {
		p, err := tinyProgram(ebpf.AttachNone)
		if err != nil {
			return err
		}
		return p.Close()
	}}

	// UprobeMulti is one link for many uprobes, with a pid filter that
	// covers all threads of a process: the first kernels that had
	// uprobe_multi (6.6) filtered by thread, until commit 46ba0e49b642
	// ("bpf: fix multi-uprobe PID filtering logic"), and count as lacking
	// it here.
	UprobeMulti = &Feature{Name: "uprobe_multi link", Since: "6.6 with the pid filter of 6.10", probe: probeUprobeMulti}

	// PerfUprobe is a uprobe as a perf event with a semaphore and a bpf
	// link that carries a cookie.
	PerfUprobe = &Feature{Name: "uprobe as a perf event with bpf cookie", Since: "5.15", probe: probePerfUprobe}

	// RingBuf is the BPF ring buffer.
	RingBuf = &Feature{Name: "bpf ring buffer", Since: "5.8", probe: fromCilium(func() error {
		return features.HaveMapType(ebpf.RingBuf)
	})}

	// Cookies is bpf_get_attach_cookie in uprobe programs.
	Cookies = &Feature{Name: "bpf_get_attach_cookie", Since: "5.15", probe: fromCilium(func() error {
		return features.HaveProgramHelper(ebpf.Kprobe, asm.FnGetAttachCookie)
	})}
)

// fromCilium translates the verdict of cilium's feature probes.
func fromCilium(probe func() error) func() error {
	return func() error {
		err := probe()
		if errors.Is(err, ebpf.ErrNotSupported) {
			return ErrNotSupported
		}
		return Explain("load a bpf program", err, TracingCaps...)
	}
}

// tinyProgram loads a program that does nothing.
func tinyProgram(attach ebpf.AttachType) (*ebpf.Program, error) {
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name:         "nopfire_probe",
		Type:         ebpf.Kprobe,
		AttachType:   attach,
		License:      "Dual MIT/GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	})
	if err == nil {
		return p, nil
	}
	if errors.Is(err, unix.ENOSYS) {
		return nil, fmt.Errorf("%w: %w", ErrNotSupported, err)
	}
	return nil, Explain("load a bpf program", err, TracingCaps...)
}

// TargetFile makes a file to try an attach on, and returns a path to it and a
// function that closes it. It is a memfd that nobody maps: the kernel takes note
// of the uprobe and patches nothing. 0x90 is a nop of x86, but no instruction is
// looked at before somebody maps the file.
func TargetFile() (path string, closeFile func(), err error) {
	fd, err := unix.MemfdCreate("nopfire-probe", unix.MFD_CLOEXEC)
	if err != nil {
		return "", nil, fmt.Errorf("memfd_create: %w", err)
	}
	f := os.NewFile(uintptr(fd), "memfd:nopfire-probe")
	if _, err := f.Write(bytes.Repeat([]byte{0x90}, os.Getpagesize())); err != nil {
		f.Close()
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d", fd), func() { f.Close() }, nil
}

// TargetOffset is where to attach in the target file: not 0, which
// cilium/ebpf takes for "look up a symbol".
const TargetOffset = 16

func probeUprobeMulti() error {
	p, err := tinyProgram(ebpf.AttachTraceUprobeMulti)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.E2BIG) {
		// A kernel that does not know the attach type; that programs
		// load at all is what BPF checks.
		if bpfErr := BPF.Check(); bpfErr != nil {
			return bpfErr
		}
		return fmt.Errorf("%w: %w", ErrNotSupported, err)
	}
	if err != nil {
		return err
	}
	defer p.Close()
	path, closeFile, err := TargetFile()
	if err != nil {
		return err
	}
	defer closeFile()
	ex, err := link.OpenExecutable(path)
	if err != nil {
		return err
	}
	// That the link is known at all is asked by one that cannot be: to make a
	// real one takes 50 ms, which is how long the kernel waits before it forgets
	// the uprobe again.
	if err := fromCilium(features.HaveBPFLinkUprobeMulti)(); err != nil {
		return err
	}
	// The kernel that filters by thread takes pid -1 for a pid and answers
	// ESRCH; the one that filters by process answers EINVAL at once. libbpf
	// tells them apart in the same way.
	l, err := ex.UprobeMulti(nil, p, &link.UprobeMultiOptions{Addresses: []uint64{TargetOffset}, PID: 1<<32 - 1})
	switch {
	case err == nil:
		l.Close()
		return fmt.Errorf("%w: pid -1 was taken", ErrNotSupported)
	case errors.Is(err, unix.EINVAL):
		return nil
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ESRCH):
		return fmt.Errorf("%w: the pid filter works by thread", ErrNotSupported)
	}
	return Explain("attach uprobe_multi", err, TracingCaps...)
}

func probePerfUprobe() error {
	const pmu = "/sys/bus/event_source/devices/uprobe/format/ref_ctr_offset"
	if _, err := os.Stat(pmu); errors.Is(err, os.ErrNotExist) {
		if _, err := os.Stat("/sys/bus/event_source"); err != nil {
			return fmt.Errorf("look for the uprobe event source (is sysfs mounted?): %w", err)
		}
		return fmt.Errorf("%w: no %s", ErrNotSupported, pmu)
	}
	p, err := tinyProgram(ebpf.AttachNone)
	if err != nil {
		return err
	}
	defer p.Close()
	path, closeFile, err := TargetFile()
	if err != nil {
		return err
	}
	defer closeFile()
	ex, err := link.OpenExecutable(path)
	if err != nil {
		return err
	}
	l, err := ex.Uprobe("", p, &link.UprobeOptions{Address: TargetOffset, Cookie: 1, PID: os.Getpid()})
	switch {
	case err == nil:
		return l.Close()
	case errors.Is(err, ebpf.ErrNotSupported), errors.Is(err, syscall.EOPNOTSUPP):
		return fmt.Errorf("%w: %w", ErrNotSupported, err)
	}
	return Explain("attach a uprobe perf event", err, PerfUprobeCaps...)
}
