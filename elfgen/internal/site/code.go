// Package site knows the instructions of a probe site and the registers that
// carry its arguments, for every machine, as tables: they compile and are
// tested on every host. It may not know of ELF or of names.
package site

import (
	"encoding/binary"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// A Form is a form of site, numbered like elfgen.NopForm.
type Form uint8

// The forms.
const (
	Nop1 Form = iota + 1
	Nop5
	Nop10
)

// Code is the code of one site. Offsets are counted from its start, which
// stands at a multiple of Stride.
type Code struct {
	// Bytes is a whole stride: the instructions, and traps around them.
	Bytes string
	// Entry is where a caller enters, Location the probed instruction and
	// End the first byte behind the return.
	Entry, Location, End int
	// Word is the 8-byte aligned offset of the word that tells whether the
	// site is patched. It covers every byte that a tracer writes, except
	// those of Residue.
	Word int
	// Patches are the ranges that the kernel may write while the site is
	// traced. Each instruction lies whole in one page, since Stride
	// divides the page size.
	Patches []Range
	// Residue is what stays changed after the last tracer has left, empty
	// for most forms.
	Residue Range
}

// A Range is a range of bytes [From, To) of a site.
type Range struct{ From, To int }

// Stride is the distance between sites, and their alignment: it divides every
// page size, so no instruction crosses a page, and the kernel's rule that an
// optimized nop5 must not start within 4 bytes of a page end
// (arch/x86/kernel/uprobes.c, can_optimize) holds by construction.
const Stride = 16

// Pristine returns the value of the word at Word as long as nobody traces the
// site, in the given byte order.
func (c *Code) Pristine(order binary.ByteOrder) uint64 {
	return order.Uint64([]byte(c.Bytes[c.Word : c.Word+8]))
}

// The tables are string literals so that a program that links this package
// pays nothing at its start.

// The x86-64 forms, filled with int3. The multi-byte nops are those of Intel's
// SDM, volume 2B, NOP, table 4-12; the kernel compares against exactly these
// encodings.
var amd64 = [...]Code{
	// nop; ret
	Nop1: {
		Bytes: "\x90" + "\xc3" +
			"\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc",
		Entry: 0, Location: 0, End: 2, Word: 0,
		Patches: []Range{{0, 1}},
	},
	// nop5; ret. The kernel first writes int3 over the first byte, then a
	// 5-byte call over the whole nop, and the nop again when the last
	// tracer leaves.
	Nop5: {
		Bytes: "\x0f\x1f\x44\x00\x00" + "\xc3" +
			"\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc",
		Entry: 0, Location: 0, End: 6, Word: 0,
		Patches: []Range{{0, 5}},
	},
	// nop; nop10; ret. Tracers that know the form move from the nop to the
	// nop10 behind it. The last five bytes of the nop10 stay changed after
	// a detach, so two traps in front shift the code until the word ends
	// before them.
	Nop10: {
		Bytes: "\xcc\xcc" + "\x90" +
			"\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00" + "\xc3" +
			"\xcc\xcc",
		Entry: 2, Location: 2, End: 14, Word: 0,
		Patches: []Range{{2, 3}, {3, 13}},
		Residue: Range{8, 13},
	},
}

// The other machines have one nop of one instruction, which the breakpoint
// replaces whole.
var (
	// nop; ret; filled with udf #0 (Arm ARM, C6.2).
	arm64Nop1 = Code{
		Bytes: "\x1f\x20\x03\xd5" + "\xc0\x03\x5f\xd6" +
			"\x00\x00\x00\x00" + "\x00\x00\x00\x00",
		End: 8, Patches: []Range{{0, 4}},
	}
	// addi x0,x0,0; jalr x0,0(ra); filled with the all-zero word, which is
	// defined to be illegal. Uncompressed, so that the code runs without
	// the C extension (RISC-V unprivileged ISA, chapters RV32I and "C").
	riscv64Nop1 = Code{
		Bytes: "\x13\x00\x00\x00" + "\x67\x80\x00\x00" +
			"\x00\x00\x00\x00" + "\x00\x00\x00\x00",
		End: 8, Patches: []Range{{0, 4}},
	}
	// bc 0,0 (the nop of sys/sdt.h); br %r14; filled with zeros, which are
	// no instruction (z/Architecture Principles of Operation, appendix B).
	s390xNop1 = Code{
		Bytes: "\x47\x00\x00\x00" + "\x07\xfe" +
			"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		End: 6, Patches: []Range{{0, 4}},
	}
	// ori 0,0,0; blr; filled with trap, tw 31,0,0 (Power ISA, book I).
	ppc64leNop1 = Code{
		Bytes: "\x00\x00\x00\x60" + "\x20\x00\x80\x4e" +
			"\x08\x00\xe0\x7f" + "\x08\x00\xe0\x7f",
		End: 8, Patches: []Range{{0, 4}},
	}
)

// Lookup returns the code of the form of a machine, or nil where the machine
// has no such form.
func Lookup(m stapsdt.Machine, f Form) *Code {
	switch m {
	case stapsdt.X86_64:
		if f >= Nop1 && f <= Nop10 {
			return &amd64[f]
		}
	case stapsdt.ARM64:
		return only(&arm64Nop1, f)
	case stapsdt.RISCV64:
		return only(&riscv64Nop1, f)
	case stapsdt.S390X:
		return only(&s390xNop1, f)
	case stapsdt.PPC64LE:
		return only(&ppc64leNop1, f)
	}
	return nil
}

func only(c *Code, f Form) *Code {
	if f == Nop1 {
		return c
	}
	return nil
}
