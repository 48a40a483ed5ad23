package feature

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

var instructions struct {
	sync.Mutex
	known map[string]error
}

// Instruction asks the kernel whether it takes a uprobe on an instruction of
// this machine: nil for yes, ErrNotSupported for no, any other error if it could
// not be found out. The answers are remembered. It takes what a uprobe takes, and
// some 50 ms, for the first time.
//
// Rules of the kernel's decoder change between versions: which prefixes are
// allowed, for instance (is_prefix_bad in arch/x86/kernel/uprobes.c).
func Instruction(code []byte) error {
	instructions.Lock()
	defer instructions.Unlock()
	if err, ok := instructions.known[string(code)]; ok {
		return err
	}
	err := tryInstruction(code)
	if err == nil || errors.Is(err, ErrNotSupported) {
		if instructions.known == nil {
			instructions.known = make(map[string]error)
		}
		instructions.known[string(code)] = err
	}
	return err
}

// tryInstruction maps the instruction executable, since the kernel looks at it
// when it is mapped and not before, and attaches a program to it.
func tryInstruction(code []byte) error {
	const enotsupp = unix.Errno(524) // ENOTSUPP of include/linux/errno.h
	multi := UprobeMulti.Check() == nil
	attach := ebpf.AttachNone
	if multi {
		attach = ebpf.AttachTraceUprobeMulti
	}
	p, err := tinyProgram(attach)
	if err != nil {
		return err
	}
	defer p.Close()
	path, closeFile, err := TargetFile()
	if err != nil {
		return err
	}
	defer closeFile()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteAt(code, TargetOffset); err != nil {
		return err
	}
	text, err := unix.Mmap(int(f.Fd()), 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
	if err != nil {
		return fmt.Errorf("map instruction: %w", err)
	}
	defer unix.Munmap(text)
	ex, err := link.OpenExecutable(path)
	if err != nil {
		return err
	}
	var l link.Link
	if multi {
		l, err = ex.UprobeMulti(nil, p, &link.UprobeMultiOptions{Addresses: []uint64{TargetOffset}, PID: uint32(os.Getpid())})
	} else {
		l, err = ex.Uprobe("", p, &link.UprobeOptions{Address: TargetOffset, PID: os.Getpid()})
	}
	if err == nil {
		return l.Close()
	}
	if errors.Is(err, enotsupp) {
		return fmt.Errorf("%w: the kernel takes no uprobe on instruction % x", ErrNotSupported, code)
	}
	return Explain("attach to an instruction", err, TracingCaps...)
}
