package emit

import (
	"sync"
	"syscall"

	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
	"github.com/nopfire/nopfire/internal/sys"
)

func hostMachine() (stapsdt.Machine, error) { return stapsdt.X86_64, nil }

var form struct {
	once sync.Once
	elfgen.NopForm
}

// hostForm returns the form whose uprobes are the fastest on this kernel. The
// wrong one is not wrong, only slow: a nop that the kernel does not know to
// replace, it single-steps.
func hostForm() elfgen.NopForm {
	form.once.Do(func() {
		form.NopForm = elfgen.FormNop1
		if mayAskUprobe(sys.MaySeccompKill, sys.KernelVersion) {
			form.NopForm = formOf(sys.UprobeErrno())
		}
	})
	return form.NopForm
}

// mayAskUprobe reports whether uprobe(2) can be called: under a seccomp filter
// that has not heard of it the process could die. Kernels that know the call
// do not ask the filter (__seccomp_filter, kernel/seccomp.c, since 6.18).
func mayAskUprobe(filtered func() bool, version func() (major, minor int)) bool {
	if !filtered() {
		return true
	}
	major, minor := version()
	return major > 6 || major == 6 && minor >= 18
}

// formOf reads the answer of uprobe(2), see sys.UprobeErrno.
func formOf(e syscall.Errno) elfgen.NopForm {
	switch e {
	case syscall.ENXIO:
		return elfgen.FormNop5
	case syscall.EPROTO:
		return elfgen.FormNop10
	}
	return elfgen.FormNop1
}
