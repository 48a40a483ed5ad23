package trace

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/nopfire/nopfire/bpfside/trace/internal/body"
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

// finish places slots and areas of a record for strings and bytes of up to max bytes.
func (l *layout) finish(max int) {
	l.maxString = max
	l.size = headerLen
	for i := range l.loads {
		if l.loads[i].op != opComm { // the header has it
			l.loads[i].slot = l.size
			l.size += slotLen
		}
	}
	l.area = l.size
	for i := range l.loads {
		if ld := &l.loads[i]; ld.op.follows() {
			ld.area = l.size
			l.size += areaLen(max)
		}
	}
}

// cut reports whether the record is made on the stack, and cut behind its string. Only
// one may have any length, as nothing stands on the stack at an offset that varies. It
// must be one that is read with a length that does not vary: before Linux 6.3
// (commit 6715df8d5d24) the verifier takes no other for written.
func (l *layout) cut() bool {
	strings := 0
	for i := range l.loads {
		switch op := l.loads[i].op; {
		case op == opString:
			strings++
		case op.follows():
			return false
		}
	}
	return strings == 1 && l.size <= l.room()
}

// room returns how much there is on the stack for a record or a key.
func (l *layout) room() int {
	if l.body == nil {
		return maxStack + l.body.end()
	}
	return maxStack + l.body.end() - body.StackLeft
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

// A bodyCall is a call of the function that the expressions of a clause became. The
// hit that the function is called with lies on the stack: see package body.
type bodyCall struct {
	fn   *compiled
	args []bodyArg
	// tracks tells that there are values that may lack one of their arguments.
	tracks bool
	values int // how many the function leaves
}

// A bodyArg is an argument that the function needs.
type bodyArg struct {
	index int
	arg   stapsdt.Arg
	lacks bool // it can never be read, and what needs it is not used
}

// planBody decides which arguments are loaded for a function.
func planBody(fn *compiled, m stapsdt.Machine, args []stapsdt.Arg) (*bodyCall, error) {
	c := &bodyCall{fn: fn, values: len(fn.Values)}
	needed := fn.WhereArgs
	for _, v := range fn.Values {
		if v.Arg < 0 && !v.Comm {
			needed |= v.Args
		}
	}
	for i := range args {
		if needed&(1<<i) == 0 {
			continue
		}
		err := readable(m, args[i])
		if err != nil && fn.WhereArgs&(1<<i) != 0 {
			return nil, fmt.Errorf("condition: %w", err)
		}
		c.args = append(c.args, bodyArg{i, args[i], err != nil})
		if args[i].Operand.Kind == stapsdt.Memory && fn.WhereArgs&(1<<i) == 0 {
			c.tracks = true
		}
	}
	return c, nil
}

// end returns where the arguments of the hit end, and its values begin, from the
// frame pointer: all that is below may be overwritten when the function has returned.
func (c *bodyCall) end() int {
	if c == nil {
		return stackTop
	}
	return stackTop - 8*c.values
}

// hit returns where the hit lies. It is no longer than it needs to be.
func (c *bodyCall) hit() int {
	if c.values > 0 || c.fn.NeedsPID {
		return c.end() - body.OffValues
	}
	last := 0
	for _, a := range c.args {
		last = a.index + 1
	}
	return c.end() - 8*last
}

// assemble returns the code that fills the hit, calls the function, and ends the
// program if the hit is not wanted. It jumps to "unread" if an argument of the
// condition cannot be read, and reports whether it may.
func (c *bodyCall) assemble(m stapsdt.Machine, ns pidNamespace) (insns asm.Instructions, unread bool, err error) {
	hit := c.hit()
	if c.tracks {
		insns = append(insns, storeImm(stackFailed, 0))
	}
	for _, a := range c.args {
		at := int16(hit + body.OffArgs + 8*a.index)
		if a.lacks {
			insns = append(insns, storeImm(at, 0))
			continue
		}
		code, err := loadWord(m, a.arg)
		if err != nil {
			return nil, false, err
		}
		insns = append(insns, code...)
		insns = append(insns, asm.StoreMem(asm.RFP, at, regValue, asm.DWord))
		switch {
		case a.arg.Operand.Kind != stapsdt.Memory: // cannot fail
		case c.fn.WhereArgs&(1<<a.index) != 0:
			unread = true
			insns = append(insns, asm.JSLT.Imm(asm.R0, 0, "unread"))
		default:
			read := fmt.Sprintf("arg%d_read", a.index)
			insns = append(insns,
				asm.JSGE.Imm(asm.R0, 0, read),
				asm.LoadMem(asm.R1, asm.RFP, stackFailed, asm.DWord),
				asm.Or.Imm(asm.R1, 1<<a.index),
				asm.StoreMem(asm.RFP, stackFailed, asm.R1, asm.DWord),
				asm.Mov.Imm(asm.R0, 0).WithSymbol(read),
			)
		}
	}
	if c.fn.NeedsPID {
		insns = append(insns, storePID(ns, "hit", ids{base: asm.RFP, pid: hit + body.OffPID, tid: hit + body.OffTID, size: asm.DWord})...)
	}
	return append(insns,
		asm.Mov.Reg(asm.R1, asm.RFP),
		asm.Add.Imm(asm.R1, int32(hit)),
		asm.Call.Label(body.Symbol),
		asm.JNE.Imm(asm.R0, 0, "wanted_hit"),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("wanted_hit"),
	), unread, nil
}

// load returns the instructions that put a value of the function into regValue, and
// 0 or a negative errno into R0.
func (c *bodyCall) load(ld *load, label string) asm.Instructions {
	insns := asm.Instructions{
		asm.LoadMem(regValue, asm.RFP, int16(c.end()+8*ld.value), asm.DWord),
		asm.Mov.Imm(asm.R0, 0),
	}
	if !c.tracks || ld.needs == 0 {
		return insns
	}
	const efault = 14 // EFAULT, which is what bpf_probe_read_user says
	read := label + "_computed"
	return append(insns,
		asm.LoadMem(asm.R1, asm.RFP, stackFailed, asm.DWord),
		asm.And.Imm(asm.R1, int32(ld.needs)),
		asm.JEq.Imm(asm.R1, 0, read),
		asm.Mov.Imm(asm.R0, -efault),
		asm.Mov.Imm(asm.R1, 0).WithSymbol(read),
	)
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

// assembleEvent returns the code that makes an event of a hit. It makes the record in
// the ring buffer; or on the stack, if it can be cut there to what is needed.
//
// Every path from a successful reserve leads to submit: the verifier insists.
// An argument that cannot be read leaves a negative status in its slot.
func (l *layout) assembleEvent(k *programMaps, ns pidNamespace, cookie asm.Instructions) (insns asm.Instructions, err error) {
	rec := recordPlace{base: regRec}
	if l.cut() {
		rec = recordPlace{base: asm.RFP, off: l.body.end() - l.size, cut: true}
		insns = asm.Instructions{asm.Mov.Imm(regSize, int32(l.area))}
	} else {
		insns = asm.Instructions{
			asm.LoadMapPtr(asm.R1, k.ring.FD()),
			asm.Mov.Imm(asm.R2, int32(l.size)),
			asm.Mov.Imm(asm.R3, 0),
			asm.FnRingbufReserve.Call(),
			asm.JEq.Imm(asm.R0, 0, "full"),
			asm.Mov.Reg(regRec, asm.R0),
		}
	}
	insns = append(insns,
		asm.FnKtimeGetBootNs.Call(),
		rec.store(offTime, asm.R0, asm.DWord),
	)
	insns = append(insns, cookie...)
	insns = append(insns,
		rec.store(offCookie, asm.R0, asm.DWord),
		asm.FnGetSmpProcessorId.Call(),
		rec.store(offCPU, asm.R0, asm.DWord), // and what is behind
	)
	insns = append(insns, rec.address(asm.R1, offComm)...)
	insns = append(insns,
		asm.Mov.Imm(asm.R2, commLen),
		asm.FnGetCurrentComm.Call(),
	)
	insns = append(insns, storePID(ns, "record", ids{base: rec.base, pid: rec.off + offPID, tid: rec.off + offTID, size: asm.Word})...)
	for i := range l.loads {
		code, err := l.loads[i].record(l, "load"+strconv.Itoa(i), rec)
		if err != nil {
			return nil, err
		}
		insns = append(insns, code...)
	}
	if rec.cut {
		insns = append(insns, asm.LoadMapPtr(asm.R1, k.ring.FD()))
		insns = append(insns, rec.address(asm.R2, 0)...)
		insns = append(insns,
			asm.Mov.Reg(asm.R3, regSize),
			asm.Mov.Imm(asm.R4, 0),
			asm.FnRingbufOutput.Call(),
			asm.JNE.Imm(asm.R0, 0, "full"),
		)
	} else {
		insns = append(insns,
			asm.Mov.Reg(asm.R1, regRec),
			asm.Mov.Imm(asm.R2, 0),
			asm.FnRingbufSubmit.Call(),
			asm.Mov.Imm(asm.R0, 0),
		)
	}
	full := countLoss(k.lost, BufferFull)
	full[0] = full[0].WithSymbol("full")
	return append(append(insns, asm.Return()), full...), nil
}

// A recordPlace is where a record is made: off bytes from base.
type recordPlace struct {
	base asm.Register
	off  int
	cut  bool // regSize counts its bytes
}

func (r recordPlace) store(off int, src asm.Register, size asm.Size) asm.Instruction {
	return asm.StoreMem(r.base, int16(r.off+off), src, size)
}

// address returns the code that puts the address of a part into dst.
func (r recordPlace) address(dst asm.Register, off int) asm.Instructions {
	return asm.Instructions{asm.Mov.Reg(dst, r.base), asm.Add.Imm(dst, int32(r.off+off))}
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

// record returns the code that loads a value into the record. The label prefix keeps
// the labels of the loads apart.
func (ld *load) record(l *layout, label string, rec recordPlace) (asm.Instructions, error) {
	if ld.op == opComm {
		return nil, nil
	}
	insns, err := l.word(ld, label)
	if err != nil {
		return nil, err
	}
	insns = append(insns, // regValue: the value, R0: 0 or a negative errno
		rec.store(ld.slot, regValue, asm.DWord),
		rec.store(ld.slot+slotStatus, asm.R0, asm.DWord),
	)
	if ld.op == opWord {
		return insns, nil
	}
	done := label + "_done"
	insns = append(insns,
		asm.JSLT.Imm(asm.R0, 0, done),
		asm.JEq.Imm(regValue, 0, done), // NULL
	)
	code, err := ld.followed(l, label, rec.base, rec.off+ld.slot+slotStatus, rec.off+ld.area)
	if err != nil {
		return nil, err
	}
	insns = append(insns, code...)
	if rec.cut { // followed leaves how many bytes stand in the area
		insns = append(insns,
			asm.LoadMem(asm.R1, rec.base, int16(rec.off+ld.slot+slotStatus), asm.DWord),
			asm.JGT.Imm(asm.R1, int32(l.maxString+2), done), // unsigned: an errno, too
			asm.Add.Reg(regSize, asm.R1),
		)
	}
	return append(insns, asm.Mov.Imm(asm.R0, 0).WithSymbol(done)), nil
}

// followed returns the code that reads the string or the bytes at the address in
// regValue into an area behind base, and stores how many bytes these are, or a
// negative errno.
func (ld *load) followed(l *layout, label string, base asm.Register, status, area int) (asm.Instructions, error) {
	if ld.op == opString {
		return asm.Instructions{
			asm.Mov.Reg(asm.R1, base),
			asm.Add.Imm(asm.R1, int32(area)),
			asm.Mov.Imm(asm.R2, int32(l.maxString+2)),
			asm.Mov.Reg(asm.R3, regValue),
			asm.FnProbeReadUserStr.Call(), // bytes with the NUL, or an errno
			asm.StoreMem(base, int16(status), asm.R0, asm.DWord),
		}, nil
	}
	done, fits := label+"_done", label+"_fits"
	var insns asm.Instructions
	if ld.op == opHeader {
		insns = asm.Instructions{
			asm.Mov.Reg(asm.R1, asm.RFP),
			asm.Add.Imm(asm.R1, stackHeader),
			asm.Mov.Imm(asm.R2, 16),
			asm.Mov.Reg(asm.R3, regValue),
			asm.FnProbeReadUser.Call(),
			asm.LoadMem(regAddress, asm.RFP, stackHeader, asm.DWord),
			asm.LoadMem(regValue, asm.RFP, stackHeader+8, asm.DWord),
		}
	} else {
		length, err := loadWord(l.machine, ld.len)
		if err != nil {
			return nil, err
		}
		insns = append(asm.Instructions{asm.Mov.Reg(regAddress, regValue)}, length...)
	}
	return append(insns,
		asm.StoreMem(base, int16(status), asm.R0, asm.DWord),
		asm.JSLT.Imm(asm.R0, 0, done),
		asm.JLE.Imm(regValue, int32(l.maxString+1), fits), // unsigned
		asm.Mov.Imm(regValue, int32(l.maxString+1)),
		asm.Mov.Reg(asm.R1, base).WithSymbol(fits),
		asm.Add.Imm(asm.R1, int32(area)),
		asm.Mov.Reg(asm.R2, regValue),
		asm.Mov.Reg(asm.R3, regAddress),
		asm.FnProbeReadUser.Call(), // 0 or an errno
		asm.StoreMem(base, int16(status), asm.R0, asm.DWord),
		asm.JNE.Imm(asm.R0, 0, done),
		asm.StoreMem(base, int16(status), regValue, asm.DWord),
	), nil
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
