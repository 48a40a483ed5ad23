package usdt

import (
	"errors"
	"fmt"
	"sync"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
	"github.com/nopfire/nopfire/internal/feature"
)

// A Cost is what the kernel does at a traced instruction, which decides what a
// hit costs.
type Cost uint8

// The costs, with the time of a hit relative to Trap as measured on Linux 6.18.
const (
	// CostUnknown: this kernel cannot be asked, or does not run the file's
	// machine, or the instruction could not be decoded.
	CostUnknown Cost = iota
	// Optimized: the instruction is replaced by a call, 0.8 times.
	Optimized
	// Trap: a breakpoint, whose handler does what the instruction would
	// have done.
	Trap
	// SingleStep: a breakpoint, after which the instruction runs by itself
	// elsewhere, with a second trap behind it: 16 times.
	SingleStep
	// Refused: the kernel does not put a breakpoint there, or must not.
	Refused
)

var costNames = [...]string{"unknown", "optimized call", "breakpoint", "single-stepped", "refused"}

// String returns the cost in words.
func (c Cost) String() string {
	if int(c) < len(costNames) {
		return costNames[c]
	}
	return "invalid"
}

// ErrRefused is wrapped by Site.Err: no probe can be put on the instruction.
var ErrRefused = errors.New("instruction cannot be probed")

// A Site is the instruction at a location, and what becomes of it when the
// location is traced on this machine.
type Site struct {
	// Code are the bytes of the probed instruction; nil if it could not be
	// decoded. Text is its disassembly in GNU syntax.
	Code []byte
	Text string
	// Nop tells that the instruction does nothing. sys/sdt.h always makes a
	// nop of one byte (x86) or one instruction.
	Nop bool
	// Shift is the number of bytes behind the location at which AttachUSDT
	// puts the probe: 0, unless there are nops in between and the kernel
	// optimizes the one at Shift alone. Code and Text are of that one.
	Shift int
	// Cost is what the kernel does there, and Err the reason of Refused,
	// which wraps ErrRefused.
	Cost Cost
	Err  error
}

// refuse marks the site as refused with a reason, if there is one.
func (site *Site) refuse(reason error) {
	if reason != nil {
		site.Cost, site.Err = Refused, fmt.Errorf("%w: %w", ErrRefused, reason)
	}
}

// A decoder tells what a kernel does at an instruction.
type decoder struct {
	// host is the machine of the kernel, 0 if it is not known.
	host stapsdt.Machine
	// optimizedNop is the length of the nop that the kernel replaces by a
	// call, 0 if it does so with none.
	optimizedNop int
	// asked tells that optimizedNop is what the kernel said.
	asked bool
	// simulatesNop tells that the kernel of an arm64 steps over a nop by
	// itself.
	simulatesNop bool
	// takes asks the kernel whether it takes a probe on an instruction: nil,
	// an error that wraps ErrNotSupported, or another if it does not answer.
	takes func(code []byte) error
}

// thisKernel returns the decoder for the running kernel, which is asked once.
var thisKernel = sync.OnceValue(func() *decoder {
	host, _ := HostMachine()
	d := &decoder{host: host, takes: feature.Instruction, simulatesNop: feature.SimulatesNop()}
	var err error
	d.optimizedNop, err = feature.OptimizedNop()
	d.asked = err == nil
	return d
})

// A spot is a place in a file that is decoded.
type spot struct {
	machine stapsdt.Machine
	// code are the bytes from the location on: as many as an instruction
	// and its nops can have, fewer at the end of the segment.
	code []byte
	// address is that of the location, for the text. offset is its place in
	// the file, whose low bits are those of the address wherever the file
	// is mapped.
	address, offset uint64
	// fixed forbids to put the probe elsewhere: an argument counts from it.
	fixed bool
	// isLocation reports whether another note points at an offset.
	isLocation func(offset uint64) bool
}

// maxSpot is the number of bytes that a decision can need: 16 bytes of nops
// behind each other, and the longest instruction of x86 is 15.
const maxSpot = 32

// decode decodes the instruction of a spot.
func (d *decoder) decode(s spot) Site {
	switch s.machine {
	case stapsdt.X86_64, stapsdt.I386:
		return d.decodeX86(s)
	case stapsdt.ARM64:
		return d.decodeARM64(s)
	}
	return Site{}
}

// runs reports whether the kernel runs programs for a machine.
func (d *decoder) runs(m stapsdt.Machine) bool {
	return d.host != 0 && (m == d.host || m == stapsdt.I386 && d.host == stapsdt.X86_64)
}
