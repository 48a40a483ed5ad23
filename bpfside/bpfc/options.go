package bpfc

import (
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/lower"
	"github.com/nopfire/nopfire/bpfside/internal/kconfig"
)

// Options say what a program is compiled for. The zero value, as a nil *Options,
// is the running kernel.
type Options struct {
	// Include are the directories, in the file system of the program, in which
	// headers are looked for after the directory of the file that includes
	// them.
	Include []string
	// Defines are macros that are defined before the program begins: NAME, or
	// NAME=VALUE.
	Defines []string
	// Arch is the machine that the program runs on, as GOARCH names it: it
	// decides what PT_REGS_PARM1 is. "" is the machine that this runs on. The
	// machine must be little endian.
	Arch string
	// CPU is the level of the instruction set, 1 to 4, which is clang's -mcpu.
	// 0 is 3, which every kernel has that traces USDT. 4 needs Linux 6.6.
	CPU int

	// KernelBTF are the types of the kernel that the program will run in, for
	// vmlinux.h and for CO-RE: what is in /sys/kernel/btf/vmlinux there, or an
	// ELF file with a section .BTF. nil is the running kernel. They are not
	// looked at if the program has no use for them.
	KernelBTF []byte
	// KernelVersion is the version of the kernel that the program will run in,
	// as the macro KERNEL_VERSION makes it of its parts: what
	// LINUX_KERNEL_VERSION is, and what the verifier is known to be able to.
	// 0 is that of the running kernel.
	KernelVersion uint32
	// Kconfig is the configuration of the kernel that the program will run in,
	// lines of "CONFIG_HZ=250". nil is that of the running kernel.
	Kconfig io.Reader
}

// version returns a version as KERNEL_VERSION counts it.
func version(major, minor, patch uint32) uint32 { return major<<16 + minor<<8 + patch }

// A target is what Options describe: everything that is asked of a kernel, where
// nothing is asked before somebody wants to know.
type target struct {
	arch    string
	lower   lower.Options
	types   *kernelTypes
	kconfig *kconfig.Kernel
}

// bigEndian are the machines whose kernels want instructions the other way round.
var bigEndian = map[string]bool{"s390x": true, "ppc64": true, "mips": true, "mips64": true}

func newTarget(o *Options) (*target, error) {
	t := &target{arch: o.Arch, lower: lower.Options{CPU: o.CPU}, kconfig: kconfig.Running, types: &kernelTypes{given: o.KernelBTF}}
	if t.arch == "" {
		t.arch = runtime.GOARCH
	}
	if bigEndian[t.arch] {
		return nil, fmt.Errorf("machine %s is big endian: %w", t.arch, errors.ErrUnsupported)
	}
	if o.CPU < 0 || o.CPU > 4 {
		return nil, fmt.Errorf("CPU level %d is not within 1..4", o.CPU)
	}
	if o.KernelVersion != 0 || o.Kconfig != nil {
		t.kconfig = describedKernel(o)
	}
	// Up to 6.8 the verifier does not carry what a comparison says over to a
	// copy of the register in the frame (commit 98d7ca374ba4 of Linux 6.9). A
	// kernel that does not say its version may be one of those.
	if v, err := t.kconfig.Version(); err != nil || v < version(6, 9, 0) {
		t.lower.WriteBack = true
	}
	return t, nil
}

// describedKernel is the running kernel, but for what the options say of another.
func describedKernel(o *Options) *kconfig.Kernel {
	k := *kconfig.Running
	if v := o.KernelVersion; v != 0 {
		k.Version = func() (uint32, error) { return v, nil }
		// The cookies of programs for perf events (Linux 5.15), and the
		// wrappers of x86 (4.17) and arm64 (4.19), are older than any kernel
		// that this is for.
		k.Cookies = func() (bool, error) { return v >= version(5, 15, 0), nil }
		k.SyscallWrapper = func() (bool, error) { return v >= version(4, 19, 0), nil }
	}
	if o.Kconfig != nil {
		k.Options = func(names map[string]bool) (map[string]string, error) { return kconfig.Parse(o.Kconfig, names) }
	}
	return &k
}
