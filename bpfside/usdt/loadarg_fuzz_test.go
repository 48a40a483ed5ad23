package usdt_test

import (
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"github.com/cilium/ebpf/asm"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// Whatever the arguments of a file are, the instructions for them are such as the
// assembler takes, or there is a reason against them.
func FuzzLoadArg(f *testing.F) {
	for m, args := range machineArgs {
		f.Add(uint8(m), args)
	}
	f.Add(uint8(stapsdt.X86_64), "8@-9223372036854775808(%rax,%rbx,8) 16@(%rax) 8f@%xmm0 8@$v 4@v+4(%rip)")
	f.Fuzz(func(t *testing.T, machine uint8, args string) {
		loc := usdt.Location{Machine: stapsdt.Machine(machine), Address: 0x1000, ArgString: args, Symbols: map[string]uint64{"v": 0x2000, "NBuffers": 0x3001}}
		for _, a := range loc.Args() {
			frame := usdt.Frame{Ctx: asm.R6, Dst: asm.R7, Scratch: -8}
			insns, err := usdt.LoadArg(loc.Machine, &a, frame)
			if err != nil {
				if !errors.Is(err, usdt.ErrUnreadable) || len(insns) > 0 {
					t.Fatalf("%q: %d instructions, error %v", a.Text, len(insns), err)
				}
				continue
			}
			if a.Err != nil {
				t.Fatalf("%q is loaded, though %v", a.Text, a.Err)
			}
			if err := insns.Marshal(io.Discard, binary.LittleEndian); err != nil || len(insns) == 0 {
				t.Fatalf("%q: %v\n%v", a.Text, err, insns)
			}
			if a.Operand.Kind == stapsdt.Memory {
				if _, err := usdt.LoadAddress(loc.Machine, &a, asm.R6, asm.R7); err != nil {
					t.Fatalf("%q can be loaded, and its address not: %v", a.Text, err)
				}
			}
		}
	})
}
