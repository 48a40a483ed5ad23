package trace

import (
	"strconv"

	"github.com/cilium/ebpf/asm"
)

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
