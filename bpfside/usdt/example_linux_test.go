package usdt_test

import (
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/nopfire/nopfire/bpfside/usdt"
)

// Count how often the probes of a process fire.
func ExampleAttachUSDT() {
	res, err := usdt.ProcessTargets(4242, "postgresql:transaction__*")
	if errors.Is(err, os.ErrNotExist) {
		fmt.Println("no such process")
		return
	}
	if err != nil {
		log.Fatal(err)
	}

	counts, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer counts.Close()

	spec := &ebpf.ProgramSpec{
		License: "Dual MIT/GPL",
		Instructions: asm.Instructions{
			asm.StoreImm(asm.R10, -4, 0, asm.Word),
			asm.LoadMapPtr(asm.R1, counts.FD()),
			asm.Mov.Reg(asm.R2, asm.R10), asm.Add.Imm(asm.R2, -4),
			asm.FnMapLookupElem.Call(),
			asm.JEq.Imm(asm.R0, 0, "out"),
			asm.Mov.Imm(asm.R1, 1),
			asm.StoreXAdd(asm.R0, asm.R1, asm.DWord),
			asm.Mov.Imm(asm.R0, 0).WithSymbol("out"),
			asm.Return(),
		},
	}
	if err := usdt.PrepareProgram(spec, usdt.Auto); err != nil {
		log.Fatal(err) // names the missing capabilities, or the kernel needed
	}
	prog, err := ebpf.NewProgram(spec)
	if err != nil {
		log.Fatal(err)
	}
	defer prog.Close()

	for _, target := range res.Targets {
		l, err := usdt.AttachUSDT(prog, target, nil)
		if err != nil {
			log.Print(err) // this target only
			continue
		}
		defer l.Close()
	}
	// … wait, then counts.Lookup(uint32(0), &n)
}

// Read the first argument of a probe in a BPF program.
func ExampleLoadArg() {
	host, _ := usdt.HostMachine()
	loc := usdt.Location{Machine: host, ArgString: "-4@$7 8@$1"}
	frame := usdt.Frame{Ctx: asm.R6, Dst: asm.R7, Scratch: -8}

	insns := asm.Instructions{asm.Mov.Reg(asm.R6, asm.R1)} // keep the context
	for _, arg := range loc.Args()[:1] {
		load, err := usdt.LoadArg(loc.Machine, &arg, frame)
		if err != nil {
			log.Fatal(err) // names the argument and the reason
		}
		insns = append(insns, load...)
	}
	// The value is in R7, the status in R0.
	fmt.Println(len(insns), "instructions")
	// Output: 3 instructions
}
