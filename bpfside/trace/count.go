package trace

import (
	"fmt"
	"strconv"

	"github.com/cilium/ebpf/asm"
)

// The key of a count, as a program of this package makes it on its stack, in the
// byte order of the machine:
//
//	 0  cookie  u64  index of the probe in its session
//	 8  pid     u32  0 unless processes are counted apart
//	12  bucket  u32  of a histogram
//	16  unread  u64  the words, by the index of their load, that could not be read
//	24  slots   one for each load, 8 bytes:
//	              the value of a word
//	              s64 of a string or of bytes: their number, a negative errno, or keyNULL
//	    areas   of the strings and bytes, 8-byte aligned, zero behind their end
//
// The value is a u64, the number of hits.
const (
	keyCookie = 0
	keyPID    = 8
	keyBucket = 12
	keyUnread = 16
	keyHeader = 24

	// keyNULL stands for a NULL pointer: below all errnos.
	keyNULL = -1 << 31
)

// A counting is what a program does that counts.
type counting struct {
	clause *clause
	value  load // of a histogram
	typ    string
	signed bool
}

// finishKey places slots and areas of a key. Strings are cut to what fits on the
// stack: see LimitKeyString.
func (l *layout) finishKey(limit int) {
	room := l.room()
	for l.maxString = min(limit, LimitKeyString); ; l.maxString -= 8 {
		l.size = keyHeader
		for i := range l.loads {
			ld := &l.loads[i]
			if ld.op != opComm {
				ld.slot = l.size
				l.size += 8
			}
			switch {
			case ld.op.follows():
				ld.area = l.size
				l.size += areaLen(l.maxString)
			case ld.op == opComm:
				ld.area = l.size
				l.size += commLen
			}
		}
		if l.size <= room || l.maxString <= 8 {
			break
		}
	}
	// Few different sizes: each has a map of its own.
	if rounded := (l.size + 31) &^ 31; rounded <= room {
		l.size = rounded
	}
}

// fits returns an error if the key does not fit on the stack.
func (l *layout) fits() error {
	if room := l.room(); l.size > room {
		return fmt.Errorf("a key of %d bytes is larger than %d", l.size, room)
	}
	return nil
}

// assembleCount returns the code that counts a hit. It reports whether it jumps to
// "unread".
//
// A program may be interrupted by another one, on its CPU too. Whoever comes first
// makes the entry, with 0, and each adds its hit in one step: no hit is missed.
func (l *layout) assembleCount(k *programMaps, ns pidNamespace, cookie asm.Instructions) (insns asm.Instructions, unread bool, err error) {
	key := l.body.end() - l.size
	store := func(off int, src asm.Register, size asm.Size) asm.Instruction {
		return asm.StoreMem(asm.RFP, int16(key+off), src, size)
	}
	for off := 0; off < l.size; off += 8 {
		insns = append(insns, storeImm(int16(key+off), 0))
	}
	insns = append(insns, cookie...)
	insns = append(insns, store(keyCookie, asm.R0, asm.DWord))
	if l.count.clause.ByProcess {
		insns = append(insns, storePID(ns, "key", ids{base: asm.RFP, pid: key + keyPID, tid: stackScratch, size: asm.Word})...)
	}
	if l.count.clause.Value != "" {
		code, err := l.word(&l.count.value, "value")
		if err != nil {
			return nil, false, err
		}
		insns = append(insns, code...)
		insns = append(insns, asm.JSLT.Imm(asm.R0, 0, "unread"))
		insns = append(insns, l.count.bucket()...)
		insns = append(insns, store(keyBucket, asm.R2, asm.Word).WithSymbol("bucket"))
		unread = true
	}
	for i := range l.loads {
		code, err := l.loads[i].intoKey(l, i, key)
		if err != nil {
			return nil, false, err
		}
		insns = append(insns, code...)
	}

	lookup := asm.Instructions{
		asm.LoadMapPtr(asm.R1, k.counts.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, int32(key)),
		asm.FnMapLookupElem.Call(),
		asm.JNE.Imm(asm.R0, 0, "count"),
	}
	insns = append(insns, lookup...)
	const noExist = 1 // BPF_NOEXIST, include/uapi/linux/bpf.h
	insns = append(insns,
		storeImm(stackScratch, 0),
		asm.LoadMapPtr(asm.R1, k.counts.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, int32(key)),
		asm.Mov.Reg(asm.R3, asm.RFP),
		asm.Add.Imm(asm.R3, stackScratch),
		asm.Mov.Imm(asm.R4, noExist),
		asm.FnMapUpdateElem.Call(),
	)
	if l.count.clause.ByProcess {
		// The name of a process that may have ended when somebody asks.
		insns = append(insns,
			asm.Mov.Reg(asm.R1, asm.RFP),
			asm.Add.Imm(asm.R1, stackComm),
			asm.Mov.Imm(asm.R2, commLen),
			asm.FnGetCurrentComm.Call(),
			asm.LoadMapPtr(asm.R1, k.comms.FD()),
			asm.Mov.Reg(asm.R2, asm.RFP),
			asm.Add.Imm(asm.R2, int32(key+keyPID)),
			asm.Mov.Reg(asm.R3, asm.RFP),
			asm.Add.Imm(asm.R3, stackComm),
			asm.Mov.Imm(asm.R4, 0),
			asm.FnMapUpdateElem.Call(),
		)
	}
	insns = append(insns, lookup...)
	insns = append(insns, countLoss(k.lost, TooManyKeys)...)
	return append(insns,
		asm.Mov.Imm(asm.R1, 1).WithSymbol("count"),
		asm.AddAtomic.Mem(asm.R0, asm.R1, asm.DWord, 0),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	), unread, nil
}

// intoKey returns the code that loads a value into the key.
func (ld *load) intoKey(l *layout, i, key int) (asm.Instructions, error) {
	if ld.op == opComm {
		return asm.Instructions{
			asm.Mov.Reg(asm.R1, asm.RFP),
			asm.Add.Imm(asm.R1, int32(key+ld.area)),
			asm.Mov.Imm(asm.R2, commLen),
			asm.FnGetCurrentComm.Call(), // zero behind its end
		}, nil
	}
	label := "load" + strconv.Itoa(i)
	insns, err := l.word(ld, label)
	if err != nil {
		return nil, err
	}
	done, slot := label+"_done", int16(key+ld.slot)
	if ld.op == opWord {
		return append(insns,
			asm.StoreMem(asm.RFP, slot, regValue, asm.DWord),
			asm.JSGE.Imm(asm.R0, 0, done),
			asm.LoadMem(asm.R1, asm.RFP, int16(key+keyUnread), asm.DWord),
			asm.Or.Imm(asm.R1, 1<<i),
			asm.StoreMem(asm.RFP, int16(key+keyUnread), asm.R1, asm.DWord),
			asm.Mov.Imm(asm.R0, 0).WithSymbol(done),
		), nil
	}
	insns = append(insns,
		asm.StoreMem(asm.RFP, slot, asm.R0, asm.DWord),
		asm.JSLT.Imm(asm.R0, 0, done),
		storeImm(slot, keyNULL),
		asm.JEq.Imm(regValue, 0, done),
	)
	code, err := ld.followed(l, label, asm.RFP, key+ld.slot, key+ld.area)
	if err != nil {
		return nil, err
	}
	insns = append(insns, code...)
	return append(insns, asm.Mov.Imm(asm.R0, 0).WithSymbol(done)), nil
}

// bucket returns the code that puts the number of the bucket of regValue into R2; it
// may jump to "bucket" instead. The bounds of the buckets are in bucketBounds.
func (c *counting) bucket() asm.Instructions {
	if c.clause.Aggregate == Log2Hist {
		return log2Bucket(c.signed)
	}
	lin := c.clause.Linear
	var insns asm.Instructions
	over := asm.Mov.Imm(asm.R2, int32(lin.buckets()+1))
	if !c.signed {
		insns = append(insns, over, asm.JSLT.Imm(regValue, 0, "bucket")) // beyond every int64
	}
	return append(insns,
		asm.Mov.Imm(asm.R2, 0),
		asm.LoadImm(asm.R1, lin.Min, asm.DWord),
		asm.JSLT.Reg(regValue, asm.R1, "bucket"),
		over,
		asm.LoadImm(asm.R3, lin.Max, asm.DWord),
		asm.JSGE.Reg(regValue, asm.R3, "bucket"),
		asm.Mov.Reg(asm.R2, regValue),
		asm.Sub.Reg(asm.R2, asm.R1),
		asm.LoadImm(asm.R3, lin.Step, asm.DWord),
		asm.Div.Reg(asm.R2, asm.R3), // unsigned, as the difference is
		asm.Add.Imm(asm.R2, 1),
	)
}

// log2Bucket returns the code for powers of two: 0 for negative values, 1 for 0, and
// 2 and the logarithm for others, halving the bits that are left to look at.
func log2Bucket(signed bool) asm.Instructions {
	insns := asm.Instructions{asm.Mov.Imm(asm.R2, 0)}
	if signed {
		insns = append(insns, asm.JSLT.Imm(regValue, 0, "bucket"))
	}
	insns = append(insns,
		asm.Mov.Imm(asm.R2, 1),
		asm.JEq.Imm(regValue, 0, "bucket"),
		asm.Mov.Imm(asm.R2, 2),
	)
	for shift := int32(32); shift > 0; shift /= 2 {
		next := "bucket"
		if shift > 1 {
			next = "log" + strconv.Itoa(int(shift/2))
		}
		insns = append(insns,
			asm.Mov.Reg(asm.R1, regValue),
			asm.RSh.Imm(asm.R1, shift),
			asm.JEq.Imm(asm.R1, 0, next),
			asm.Mov.Reg(regValue, asm.R1),
			asm.Add.Imm(asm.R2, shift),
		)
		if shift < 32 {
			first := len(insns) - 5
			insns[first] = insns[first].WithSymbol("log" + strconv.Itoa(int(shift)))
		}
	}
	return insns
}
