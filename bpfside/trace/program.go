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

// A load is one value that a program puts into the record or the key: which, and
// where.
type load struct {
	op    op
	arg   stapsdt.Arg
	len   stapsdt.Arg // opBytes: the argument that holds the length
	value int         // of what the function of the body has left: its index; -1 for an argument
	needs uint16      // the arguments of that value
	slot  int
	area  int
}

// A layout is what one program does: the condition and the loads in order, and what
// becomes of them. Probes with equal layouts share a program, whatever their names
// and types.
type layout struct {
	machine   stapsdt.Machine
	names     *nameLookup // nil for a probe that has one name
	body      *bodyCall   // nil for one without expressions
	loads     []load
	count     *counting // nil for events
	size      int       // of the record, or of the key
	area      int       // where in a record the areas begin
	maxString int       // the limit on strings
}

// A nameLookup makes a program go on only if it finds the hash that it is called
// with, which is an argument, in a map of names. The cookie of the event is what it
// finds there.
type nameLookup struct {
	hash    stapsdt.Arg
	second  bool // the upper half of the argument is a second hash
	nargs   int  // keeps programs of names apart that differ in the number of arguments
	turn    int  // and those of clauses that trace the same name
	class   uint64
	entries *ebpf.Map
}

// room returns how much there is on the stack for a record or a key. Each frame takes
// a multiple of 32 bytes (check_max_stack_depth, kernel/bpf/verifier.c).
func (l *layout) room() int {
	if l.body == nil {
		return maxStack + l.body.end()
	}
	const unit = 32
	callee := (max(l.body.fn.Stack, 1) + unit - 1) &^ (unit - 1)
	return maxStack - callee + l.body.end()
}

// minSize returns the size of a record without strings that may be cut, or of a key.
func (l *layout) minSize() int {
	if l.count == nil && l.cut() {
		return l.area
	}
	return l.size
}

// key tells layouts apart. Two layouts with one key give the same program: the
// text of an argument says all about it.
func (l *layout) key() string {
	var b strings.Builder
	b.WriteString(l.machine.String())
	if l.body != nil {
		fmt.Fprintf(&b, " f%d", l.body.fn.id)
		for _, a := range l.body.args {
			fmt.Fprintf(&b, " %d %q", a.index, a.arg.Text)
		}
	}
	for i := range l.loads {
		l.loads[i].key(&b)
	}
	if l.names != nil {
		fmt.Fprintf(&b, "n%q%t%d %d", l.names.hash.Text, l.names.second, l.names.nargs, l.names.turn)
	}
	if l.count != nil {
		fmt.Fprintf(&b, "c%d %t", l.count.clause.index, l.count.signed)
		l.count.value.key(&b)
	}
	return b.String()
}

func (ld *load) key(b *strings.Builder) {
	b.WriteByte("wsbhc"[ld.op])
	if ld.value >= 0 {
		fmt.Fprintf(b, "v%d", ld.value)
		return
	}
	b.WriteString(strconv.Quote(ld.arg.Text))
	if ld.op == opBytes {
		b.WriteString(strconv.Quote(ld.len.Text))
	}
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
	regSize    = asm.R7 // of a record on the stack
	regAddress = asm.R9 // of bytes, while their length is loaded

	stackPID     = -8 // struct bpf_pidns_info: u32 pid, u32 tgid
	stackScratch = -16
	stackKey     = -32 // urdtKey
	stackCookie  = -40 // of the event, if it was looked up
	stackFailed  = -48 // the arguments, one bit each, that could not be read
	stackComm    = -64 // [16]byte
	stackHeader  = stackComm
	stackTop     = -64 // above which all that lies

	// maxStack is how much stack all frames of a program may have together:
	// MAX_BPF_STACK, include/linux/filter.h.
	maxStack = 512
)

// storeImm returns the instruction that stores 64 bits of the stack, which asm.StoreImm
// has not.
func storeImm(off int16, value int32) asm.Instruction {
	return asm.Instruction{OpCode: asm.StoreImmOp(asm.DWord), Dst: asm.RFP, Offset: off, Constant: int64(value)}
}

// loadWord returns the instructions that put the value of an argument into
// regValue and 0 or a negative errno into R0.
func loadWord(m stapsdt.Machine, arg stapsdt.Arg) (asm.Instructions, error) {
	return usdt.LoadArg(m, &arg, usdt.Frame{Ctx: regCtx, Dst: regValue, Scratch: stackScratch})
}

// word returns the instructions that put the value of a load into regValue, and 0 or
// a negative errno into R0.
func (l *layout) word(ld *load, label string) (asm.Instructions, error) {
	if ld.value >= 0 {
		return l.body.load(ld, label), nil
	}
	return loadWord(l.machine, ld.arg)
}

// programMaps are the maps that programs use.
type programMaps struct {
	ring, lost *ebpf.Map
	counts     *ebpf.Map // of keys of the size of the layout
	comms      *ebpf.Map
}

// assemble returns the program for a layout.
func (l *layout) assemble(k *programMaps, ns pidNamespace) (asm.Instructions, error) {
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
	unread := false
	if l.body != nil {
		code, may, err := l.body.assemble(l.machine, ns)
		if err != nil {
			return nil, err
		}
		insns, unread = append(insns, code...), may
	}
	sink, may, err := l.assembleSink(k, ns, cookie)
	if err != nil {
		return nil, err
	}
	insns, unread = append(insns, sink...), unread || may
	if unread {
		lost := countLoss(k.lost, Unreadable)
		lost[0] = lost[0].WithSymbol("unread")
		insns = append(insns, lost...)
	}
	if l.body != nil {
		insns = append(insns, l.body.fn.Insns...)
	}
	return insns, nil
}

// assembleSink returns the code behind the condition, and whether it jumps to
// "unread".
func (l *layout) assembleSink(k *programMaps, ns pidNamespace, cookie asm.Instructions) (asm.Instructions, bool, error) {
	if l.count != nil {
		return l.assembleCount(k, ns, cookie)
	}
	insns, err := l.assembleEvent(k, ns, cookie)
	return insns, false, err
}

// countLoss returns the code that counts the loss of a hit and ends the program.
func countLoss(lost *ebpf.Map, reason LostReason) asm.Instructions {
	return asm.Instructions{
		asm.LoadMapValue(asm.R1, lost.FD(), 8*uint32(reason)),
		asm.Mov.Imm(asm.R2, 1),
		asm.AddAtomic.Mem(asm.R1, asm.R2, asm.DWord, 0),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	}
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

// ids say where the numbers of process and thread go.
type ids struct {
	base     asm.Register
	pid, tid int // offsets from base
	size     asm.Size
}

func (w ids) store(off int, src asm.Register) asm.Instruction {
	return asm.StoreMem(w.base, int16(off), src, w.size)
}

// storePID stores pid and tid as the session's own PID namespace numbers them,
// so that they are what its user sees in /proc. bpf_get_ns_current_pid_tgid
// refuses a task whose own namespace is another one (a container inside ours):
// its ids in the initial namespace are stored then.
func storePID(ns pidNamespace, label string, w ids) asm.Instructions {
	global := asm.Instructions{
		asm.FnGetCurrentPidTgid.Call(), // tgid<<32 | pid
		asm.Mov.Reg32(asm.R1, asm.R0),
		w.store(w.tid, asm.R1),
		asm.RSh.Imm(asm.R0, 32),
		w.store(w.pid, asm.R0),
	}
	if ns == (pidNamespace{}) {
		return global
	}
	foreign := label + "_foreign"
	return append(global,
		asm.LoadImm(asm.R1, int64(ns.dev), asm.DWord),
		asm.LoadImm(asm.R2, int64(ns.ino), asm.DWord),
		asm.Mov.Reg(asm.R3, asm.RFP),
		asm.Add.Imm(asm.R3, stackPID),
		asm.Mov.Imm(asm.R4, 8),
		asm.FnGetNsCurrentPidTgid.Call(),
		asm.JNE.Imm(asm.R0, 0, foreign),
		asm.LoadMem(asm.R1, asm.RFP, stackPID, asm.Word),
		w.store(w.tid, asm.R1),
		asm.LoadMem(asm.R1, asm.RFP, stackPID+4, asm.Word),
		w.store(w.pid, asm.R1),
		asm.Mov.Imm(asm.R1, 0).WithSymbol(foreign),
	)
}

// load puts the program of the layout into the kernel.
func (l *layout) load(k *programMaps, ns pidNamespace) (*ebpf.Program, error) {
	insns, err := l.assemble(k, ns)
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
