package urdtcode

import (
	"encoding/binary"
	"slices"
)

// The unwind information: .eh_frame with one common entry, one for the sites
// and one for each function, and .eh_frame_hdr, its sorted index (LSB Core
// Specification 5.0, 10.6; the instructions are those of DWARF 5, 6.4.2).

// unwind is what a machine says of its frames.
type unwind struct {
	codeAlign byte // the unit of advances
	returns   byte // the register of the return address
	initial   string
}

const (
	cfaAdvance   = 0x40 // | units
	cfaAdvance1  = 0x02
	cfaOffset    = 0x80 // | register
	cfaRestore   = 0xc0 // | register
	cfaDef       = 0x0c
	cfaDefOffset = 0x0e

	// ehPCRel4 is DW_EH_PE_pcrel|sdata4, ehDataRel4 DW_EH_PE_datarel|sdata4,
	// ehUdata4 DW_EH_PE_udata4.
	ehPCRel4   = 0x1b
	ehDataRel4 = 0x3b
	ehUdata4   = 0x03

	// dataAlign is the unit of offsets: -8, as a signed LEB128.
	dataAlign = 0x78
)

var (
	// The frame's address is that of the stack pointer (register 7) before
	// the return address (16) was pushed: psABI, figure 3.36.
	unwindX86 = unwind{codeAlign: 1, returns: 16, initial: string([]byte{cfaDef, 7, 8, cfaOffset | 16, 1})}
	// The frame's address is the stack pointer (31), the return address is in
	// the link register (30), and nothing changes that.
	unwindARM64 = unwind{codeAlign: 4, returns: 30, initial: string([]byte{cfaDef, 31, 0})}
)

// dwarfX86 are the DWARF numbers of registers by the numbers of instructions:
// psABI, figure 3.36.
var dwarfX86 = [...]byte{rax: 0, rcx: 2, rdx: 1, rbx: 3, rsp: 7, rsi: 4, rdi: 5, r8: 8, 9, 10, 11, 12, 13}

// A frameChange says what is different from an offset of a function on.
type frameChange struct {
	off   int // behind the instruction that makes the change
	moved int // how far the stack pointer is below its place at the start
	// saved and restored are registers plus one, 0 for none.
	saved, restored byte
}

func (b *builder) pushed(moved int, reg byte) { b.change(frameChange{moved: moved, saved: reg + 1}) }
func (b *builder) popped(moved int, reg byte) { b.change(frameChange{moved: moved, restored: reg + 1}) }
func (b *builder) moved(moved int)            { b.change(frameChange{moved: moved}) }

func (b *builder) change(c frameChange) {
	c.off = len(b.code) - b.start
	b.frame = append(b.frame, c)
}

// EhFrameHeaderSize is the size of .eh_frame_hdr.
func (c *Code) EhFrameHeaderSize() int { return 12 + 8*(len(c.Functions)+1) }

// EhFrame returns .eh_frame and .eh_frame_hdr for the places that the text and
// the two sections have in memory. The sizes do not depend on these.
func (c *Code) EhFrame(text, frame, header uint64) (frames, index []byte) {
	le := binary.LittleEndian
	u := c.unwind
	frames = entry(nil, slices.Concat(
		[]byte{0, 0, 0, 0}, // the common entry
		[]byte{1},          // version
		[]byte("zR\x00"),
		[]byte{u.codeAlign, dataAlign, u.returns},
		[]byte{1, ehPCRel4},
		[]byte(u.initial),
	))
	index = append(index, 1, ehPCRel4, ehUdata4, ehDataRel4)
	index = le.AppendUint32(index, uint32(frame-header-4))
	index = le.AppendUint32(index, uint32(len(c.Functions)+1))
	add := func(off, size int, changes []frameChange) {
		at := uint64(len(frames))
		index = le.AppendUint32(index, uint32(text+uint64(off)-header))
		index = le.AppendUint32(index, uint32(frame+at-header))
		var body []byte
		body = le.AppendUint32(body, uint32(at+4)) // back to the common entry
		body = le.AppendUint32(body, uint32(text+uint64(off)-(frame+at+8)))
		body = le.AppendUint32(body, uint32(size))
		body = append(body, 0) // no augmentation data
		frames = entry(frames, append(body, c.changes(changes)...))
	}
	add(firstSite-landing, SitesEnd-(firstSite-landing), nil)
	for _, f := range c.Functions {
		add(f.Off, f.Size, f.frame)
	}
	return append(frames, 0, 0, 0, 0), index
}

// entry appends an entry with its length, padded to 8 bytes with DW_CFA_nop.
func entry(dst, body []byte) []byte {
	for (4+len(body))%8 != 0 {
		body = append(body, 0)
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(body)))
	return append(dst, body...)
}

// changes returns the instructions for the changes of a frame. Only x86-64 has
// any: there the frame starts 8 bytes above the stack pointer.
func (c *Code) changes(changes []frameChange) []byte {
	var ins []byte
	at := 0
	for _, f := range changes {
		if n := (f.off - at) / int(c.unwind.codeAlign); n < 64 {
			ins = append(ins, cfaAdvance|byte(n))
		} else {
			ins = append(ins, cfaAdvance1, byte(n))
		}
		at = f.off
		ins = append(ins, cfaDefOffset, byte(f.moved+8))
		if f.saved != 0 {
			ins = append(ins, cfaOffset|(f.saved-1), byte(f.moved+8)/8)
		}
		if f.restored != 0 {
			ins = append(ins, cfaRestore|(f.restored-1))
		}
	}
	return ins
}
