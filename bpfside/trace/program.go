package trace

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
	"github.com/nopfire/nopfire/internal/feature"
)

// A load is one argument that a program puts into the record: which, and
// where.
type load struct {
	op         op
	arg        stapsdt.Arg
	len        stapsdt.Arg // opBytes: the argument that holds the length
	slot, area int
}

// A layout is what one program does: the loads in order, and the size of the
// record. Probes with equal layouts share a program, whatever their names and
// types.
type layout struct {
	machine stapsdt.Machine
	loads   []load
	size    int
	names   *nameLookup // nil for a probe that has one name
}

// A nameLookup makes a program go on only if it finds the hash that it is called
// with, which is an argument, in a map of names. The cookie of the event is what it
// finds there.
type nameLookup struct {
	hash    stapsdt.Arg
	second  bool // the upper half of the argument is a second hash
	class   uint64
	entries *ebpf.Map
}

// finish places slots and areas for strings and bytes of up to max bytes.
func (l *layout) finish(max int) {
	l.size = headerLen + slotLen*len(l.loads)
	for i := range l.loads {
		ld := &l.loads[i]
		ld.slot = headerLen + slotLen*i
		if ld.op != opWord {
			ld.area = l.size
			l.size += areaLen(max)
		}
	}
}

// key tells layouts apart. Two layouts with one key give the same program: the
// text of an argument says all about it.
func (l *layout) key() string {
	var b strings.Builder
	b.WriteString(l.machine.String())
	for _, ld := range l.loads {
		b.WriteByte("wsb"[ld.op])
		b.WriteString(strconv.Quote(ld.arg.Text))
		if ld.op == opBytes {
			b.WriteString(strconv.Quote(ld.len.Text))
		}
	}
	if l.names != nil {
		fmt.Fprintf(&b, "n%q%t", l.names.hash.Text, l.names.second)
	}
	return b.String()
}

// pidNamespace names a PID namespace by the device and inode of its file in
// /proc/PID/ns; the zero value stands for the initial one, whose ids the kernel
// uses itself.
type pidNamespace struct{ dev, ino uint64 }

// Registers of a program, of those that calls leave alone, and its stack.
const (
	regCtx     = asm.R6 // struct pt_regs
	regRec     = asm.R7 // the record
	regValue   = asm.R8 // what a load found
	regAddress = asm.R9 // of bytes, while their length is loaded

	stackPID     = -8 // struct bpf_pidns_info: u32 pid, u32 tgid
	stackScratch = -16
	stackKey     = -32 // urdtKey
	stackCookie  = -40 // of the event, if it was looked up
)

// loadWord returns the instructions that put the value of an argument into
// regValue and 0 or a negative errno into R0.
func loadWord(m stapsdt.Machine, arg stapsdt.Arg) (asm.Instructions, error) {
	return usdt.LoadArg(m, &arg, usdt.Frame{Ctx: regCtx, Dst: regValue, Scratch: stackScratch})
}

// assemble returns the program for a layout.
//
// Every path from a successful reserve leads to submit: the verifier insists.
// An argument that cannot be read leaves a negative status in its slot.
func (l *layout) assemble(ring, lost *ebpf.Map, ns pidNamespace, max int) (asm.Instructions, error) {
	insns := asm.Instructions{asm.Mov.Reg(regCtx, asm.R1)}
	cookie := asm.Instructions{
		asm.Mov.Reg(asm.R1, regCtx),
		asm.FnGetAttachCookie.Call(),
	}
	if l.names != nil {
		code, err := l.names.assemble(l.machine)
		if err != nil {
			return nil, err
		}
		insns = append(insns, code...)
		cookie = asm.Instructions{asm.LoadMem(asm.R0, asm.RFP, stackCookie, asm.DWord)}
	}
	insns = append(insns,
		asm.LoadMapPtr(asm.R1, ring.FD()),
		asm.Mov.Imm(asm.R2, int32(l.size)),
		asm.Mov.Imm(asm.R3, 0),
		asm.FnRingbufReserve.Call(),
		asm.JNE.Imm(asm.R0, 0, "reserved"),

		// Full: count the loss.
		asm.LoadMapValue(asm.R1, lost.FD(), 0),
		asm.Mov.Imm(asm.R2, 1),
		asm.AddAtomic.Mem(asm.R1, asm.R2, asm.DWord, 0),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),

		asm.Mov.Reg(regRec, asm.R0).WithSymbol("reserved"),
		asm.FnKtimeGetBootNs.Call(),
		asm.StoreMem(regRec, offTime, asm.R0, asm.DWord),
	)
	insns = append(insns, cookie...)
	insns = append(insns,
		asm.StoreMem(regRec, offCookie, asm.R0, asm.DWord),
		asm.FnGetSmpProcessorId.Call(),
		asm.StoreMem(regRec, offCPU, asm.R0, asm.DWord),
		asm.Mov.Reg(asm.R1, regRec),
		asm.Add.Imm(asm.R1, offComm),
		asm.Mov.Imm(asm.R2, commLen),
		asm.FnGetCurrentComm.Call(),
	)
	insns = append(insns, storePID(ns)...)
	for i, ld := range l.loads {
		code, err := ld.assemble(l.machine, "load"+strconv.Itoa(i), max)
		if err != nil {
			return nil, err
		}
		insns = append(insns, code...)
	}
	return append(insns,
		asm.Mov.Reg(asm.R1, regRec),
		asm.Mov.Imm(asm.R2, 0),
		asm.FnRingbufSubmit.Call(),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	), nil
}

// assemble returns the code that ends the program unless the name is in the map,
// and otherwise leaves the cookie on the stack.
func (n *nameLookup) assemble(m stapsdt.Machine) (asm.Instructions, error) {
	insns, err := loadWord(m, n.hash)
	if err != nil {
		return nil, err
	}
	insns = append(insns, asm.JSLT.Imm(asm.R0, 0, "other"))
	if !n.second {
		insns = append(insns, asm.Mov.Reg32(regValue, regValue)) // clears the upper half
	}
	return append(insns,
		asm.StoreMem(asm.RFP, stackKey, regValue, asm.DWord),
		asm.Mov.Imm(asm.R1, int32(n.class)),
		asm.StoreMem(asm.RFP, stackKey+8, asm.R1, asm.DWord),
		asm.LoadMapPtr(asm.R1, n.entries.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, stackKey),
		asm.FnMapLookupElem.Call(),
		asm.JNE.Imm(asm.R0, 0, "wanted"),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("other"),
		asm.Return(),
		asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord).WithSymbol("wanted"),
		asm.StoreMem(asm.RFP, stackCookie, asm.R1, asm.DWord),
	), nil
}

// storePID stores pid and tid as the session's own PID namespace numbers them,
// so that they are what its user sees in /proc. bpf_get_ns_current_pid_tgid
// refuses a task whose own namespace is another one (a container inside ours):
// its ids in the initial namespace are stored then.
func storePID(ns pidNamespace) asm.Instructions {
	global := asm.Instructions{
		asm.FnGetCurrentPidTgid.Call(), // tgid<<32 | pid
		asm.StoreMem(regRec, offTID, asm.R0, asm.Word),
		asm.RSh.Imm(asm.R0, 32),
		asm.StoreMem(regRec, offPID, asm.R0, asm.Word),
	}
	if ns == (pidNamespace{}) {
		return global
	}
	insns := append(global,
		asm.LoadImm(asm.R1, int64(ns.dev), asm.DWord),
		asm.LoadImm(asm.R2, int64(ns.ino), asm.DWord),
		asm.Mov.Reg(asm.R3, asm.RFP),
		asm.Add.Imm(asm.R3, stackPID),
		asm.Mov.Imm(asm.R4, 8),
		asm.FnGetNsCurrentPidTgid.Call(),
		asm.JNE.Imm(asm.R0, 0, "foreign"),
		asm.LoadMem(asm.R1, asm.RFP, stackPID, asm.Word),
		asm.StoreMem(regRec, offTID, asm.R1, asm.Word),
		asm.LoadMem(asm.R1, asm.RFP, stackPID+4, asm.Word),
		asm.StoreMem(regRec, offPID, asm.R1, asm.Word),
		asm.Mov.Imm(asm.R1, 0).WithSymbol("foreign"),
	)
	return insns
}

// assemble returns the code of one load. The label prefix keeps the labels of
// the loads apart.
func (ld *load) assemble(m stapsdt.Machine, label string, max int) (asm.Instructions, error) {
	insns, err := loadWord(m, ld.arg)
	if err != nil {
		return nil, err
	}
	insns = append(insns, // regValue: the value, R0: 0 or a negative errno
		asm.StoreMem(regRec, int16(ld.slot), regValue, asm.DWord),
		asm.StoreMem(regRec, int16(ld.slot+slotStatus), asm.R0, asm.DWord),
	)
	done := label + "_done"
	switch ld.op {
	case opString:
		insns = append(insns,
			asm.JSLT.Imm(asm.R0, 0, done),
			asm.JEq.Imm(regValue, 0, done), // NULL
			asm.Mov.Reg(asm.R1, regRec),
			asm.Add.Imm(asm.R1, int32(ld.area)),
			asm.Mov.Imm(asm.R2, int32(max+2)),
			asm.Mov.Reg(asm.R3, regValue),
			asm.FnProbeReadUserStr.Call(), // bytes with the NUL, or an errno
			asm.StoreMem(regRec, int16(ld.slot+slotStatus), asm.R0, asm.DWord),
		)
	case opBytes:
		length, err := loadWord(m, ld.len)
		if err != nil {
			return nil, err
		}
		insns = append(insns,
			asm.JSLT.Imm(asm.R0, 0, done),
			asm.JEq.Imm(regValue, 0, done),
			asm.Mov.Reg(regAddress, regValue),
		)
		insns = append(insns, length...)
		fits := label + "_fits"
		insns = append(insns,
			asm.StoreMem(regRec, int16(ld.slot+slotStatus), asm.R0, asm.DWord),
			asm.JSLT.Imm(asm.R0, 0, done),
			asm.JLE.Imm(regValue, int32(max+1), fits), // unsigned
			asm.Mov.Imm(regValue, int32(max+1)),
			asm.Mov.Reg(asm.R1, regRec).WithSymbol(fits),
			asm.Add.Imm(asm.R1, int32(ld.area)),
			asm.Mov.Reg(asm.R2, regValue),
			asm.Mov.Reg(asm.R3, regAddress),
			asm.FnProbeReadUser.Call(), // 0 or an errno
			asm.StoreMem(regRec, int16(ld.slot+slotStatus), asm.R0, asm.DWord),
			asm.JNE.Imm(asm.R0, 0, done),
			asm.StoreMem(regRec, int16(ld.slot+slotStatus), regValue, asm.DWord),
		)
	}
	return append(insns, asm.Mov.Imm(asm.R0, 0).WithSymbol(done)), nil
}

// load puts the program of the layout into the kernel.
func (l *layout) load(ring, lost *ebpf.Map, ns pidNamespace, max int) (*ebpf.Program, error) {
	insns, err := l.assemble(ring, lost, ns, max)
	if err != nil {
		return nil, err
	}
	spec := &ebpf.ProgramSpec{
		Name:         "nopfire_trace",
		Type:         ebpf.Kprobe,
		Instructions: insns,
		// bpf_probe_read_user_str and bpf_get_current_comm are for programs
		// that say GPL (kernel/trace/bpf_trace.c, gpl_only).
		License: "Dual MIT/GPL",
	}
	if err := usdt.PrepareProgram(spec, usdt.Auto); err != nil {
		return nil, err
	}
	prog, err := ebpf.NewProgram(spec)
	if err != nil {
		return nil, explain("load program", err)
	}
	return prog, nil
}

// explain names the capabilities that the kernel missed.
func explain(op string, err error) error {
	if e := feature.Explain(op, err, feature.TracingCaps...); e != err {
		return e
	}
	return fmt.Errorf("%s: %w", op, err)
}
