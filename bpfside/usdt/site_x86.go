package usdt

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// What the kernel does at an instruction of x86: arch/x86/kernel/uprobes.c,
// arch_uprobe_analyze_insn and what it calls. The bytes of sites of each kind are
// run by TestSitesAgreeWithKernel.

// x86Nops are the nops that compilers and assemblers use, by length: x86_nops of
// arch/x86/include/asm/nops.h, and Intel SDM volume 2B, NOP, table 4-12.
var x86Nops = [...][]byte{
	1:  {0x90},
	2:  {0x66, 0x90},
	3:  {0x0f, 0x1f, 0x00},
	4:  {0x0f, 0x1f, 0x40, 0x00},
	5:  {0x0f, 0x1f, 0x44, 0x00, 0x00},
	6:  {0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00},
	7:  {0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00},
	8:  {0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
	9:  {0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
	10: {0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
}

// emulatedNops is the length of the longest of x86Nops that kernels emulate which
// optimize one: ASM_NOP_MAX of arch/x86/include/asm/nops.h.
const emulatedNops = 8

// decodeX86 decodes the instruction at a location, and moves on to one behind it
// if that is the one that the kernel optimizes.
func (d *decoder) decodeX86(s spot) Site {
	first := d.decodeX86At(s, 0)
	if !d.runs(s.machine) || s.fixed || first.Cost == Optimized {
		return first
	}
	if shift := d.optimizedBehind(s.code); shift > 0 && !between(s, shift) {
		if site := d.decodeX86At(s, shift); site.Cost == Optimized {
			site.Shift = shift
			return site
		}
	}
	return first
}

// optimizedBehind returns the distance of the nop that the kernel optimizes from
// the nop of one byte at the start of code, if nothing but nops lies in between,
// else 0. The forms are: nop1 nop5, nop1 nop10 and nop1 nop5 nop10.
func (d *decoder) optimizedBehind(code []byte) int {
	rest, ok := bytes.CutPrefix(code, x86Nops[1])
	if !ok || d.optimizedNop == 0 {
		return 0
	}
	want := x86Nops[d.optimizedNop]
	if bytes.HasPrefix(rest, want) {
		return 1
	}
	if behind, ok := bytes.CutPrefix(rest, x86Nops[5]); ok && bytes.HasPrefix(behind, want) {
		return 1 + len(x86Nops[5])
	}
	return 0
}

// between reports whether another location stands behind that of the spot, up to
// and including the shift: control could come there without passing the first.
func between(s spot, shift int) bool {
	for i := 1; i <= shift; i++ {
		if s.isLocation != nil && s.isLocation(s.offset+uint64(i)) {
			return true
		}
	}
	return false
}

// decodeX86At decodes the instruction at a distance from the location.
func (d *decoder) decodeX86At(s spot, at int) Site {
	mode := 64
	if s.machine == stapsdt.I386 {
		mode = 32
	}
	code := s.code[at:]
	inst, ok := decodeX86Instruction(code, mode)
	if !ok {
		// It may still be plain that no kernel takes it.
		site := Site{}
		site.refuse(x86Refuses(code, mode))
		return site
	}
	site := Site{
		Code: bytes.Clone(code[:inst.Len]),
		Text: x86Text(code, inst, s.address+uint64(at)),
		Nop:  inst.Op == x86asm.NOP,
	}
	if err := x86Refuses(site.Code, mode); err != nil {
		if !site.Nop {
			site.refuse(err)
			return site
		}
		// Later kernels let nops pass that have a prefix: ask this one.
		if d.host != stapsdt.X86_64 {
			return site
		}
		switch answer := d.takes(site.Code); {
		case errors.Is(answer, ErrNotSupported):
			site.refuse(err)
			return site
		case answer != nil:
			return site
		}
	}
	if d.runs(s.machine) {
		site.Cost = d.costX86(site.Code, s.machine, s.offset+uint64(at))
	}
	return site
}

// misread are instructions that x86asm takes for something else, or for longer
// than they are: those at which indirect jumps may arrive, where functions start,
// and those that clear vector registers. On some millions of instructions of libc,
// libjvm, libpython, libcrypto and the go tool, x86asm and objdump differ in no
// others.
var misread = []struct{ code, text string }{
	{"\xf3\x0f\x1e\xfa", "endbr64"},
	{"\xf3\x0f\x1e\xfb", "endbr32"},
	{"\xc5\xf8\x77", "vzeroupper"},
	{"\xc5\xfc\x77", "vzeroall"},
}

// decodeX86Instruction decodes the first instruction of code.
func decodeX86Instruction(code []byte, mode int) (x86asm.Inst, bool) {
	for _, m := range misread {
		if strings.HasPrefix(string(code[:min(len(code), 4)]), m.code) {
			return x86asm.Inst{Len: len(m.code)}, true
		}
	}
	inst, err := x86asm.Decode(code, mode)
	return inst, err == nil && inst.Len > 0 && inst.Op != 0
}

// x86Text returns an instruction in GNU syntax.
func x86Text(code []byte, inst x86asm.Inst, address uint64) string {
	if inst.Op == 0 {
		for _, m := range misread {
			if string(code[:inst.Len]) == m.code {
				return m.text
			}
		}
	}
	return x86asm.GNUSyntax(inst, address, nil)
}

// costX86 tells what the kernel does at an instruction that it takes.
func (d *decoder) costX86(code []byte, m stapsdt.Machine, offset uint64) Cost {
	// The kernel does not replace an instruction that crosses a page
	// (can_optimize), and 32-bit processes have no trampoline.
	const page = 4096
	if m == stapsdt.X86_64 && d.optimizedNop > 0 && bytes.Equal(code, x86Nops[d.optimizedNop]) &&
		offset%page+uint64(len(code)) <= page {
		return Optimized
	}
	if len(code) <= emulatedNops && bytes.Equal(code, x86Nops[len(code)]) {
		if len(code) <= 2 || d.optimizedNop > 0 {
			return Trap
		}
		if !d.asked {
			return CostUnknown
		}
		return SingleStep
	}
	if emulatedX86(code, m) {
		return Trap
	}
	return SingleStep
}

// emulatedX86 reports whether the kernel does what the instruction does: nop and
// pause, relative jumps and calls, push of a register (branch_setup_xol_ops,
// push_setup_xol_ops).
func emulatedX86(code []byte, m stapsdt.Machine) bool {
	opcode, word, rex := x86Opcode(code, m)
	if len(opcode) == 0 {
		return false
	}
	switch c := opcode[0]; {
	case c == 0x90: // with any prefix
		return true
	case c >= 0x50 && c <= 0x57: // push
		return m == stapsdt.X86_64 && !word && (rex == 0 || rex&0x0f <= 1) && len(opcode) == 1
	case word: // a prefix that shortens the displacement
		return false
	case c == 0xeb, c == 0xe9, c == 0xe8, c >= 0x70 && c <= 0x7f:
		return true
	case c == 0x0f:
		return len(opcode) > 1 && opcode[1] >= 0x80 && opcode[1] <= 0x8f
	}
	return false
}

// x86Opcode cuts the prefixes off an instruction.
func x86Opcode(code []byte, m stapsdt.Machine) (opcode []byte, word bool, rex byte) {
	for i, c := range code {
		switch c {
		case 0x66:
			word = true
			continue
		case 0x67, 0xf2, 0xf3, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0xf0:
			continue
		}
		if m == stapsdt.X86_64 && c >= 0x40 && c <= 0x4f && i+1 < len(code) {
			return code[i+1:], word, c
		}
		return code[i:], word, 0
	}
	return nil, word, 0
}

// x86Refuses returns why every kernel refuses a probe on an instruction, nil if
// none is known to. It knows what is_prefix_bad and the tables of good opcodes
// exclude, but for opcodes that are not defined at all.
func x86Refuses(code []byte, mode int) error {
	for i, c := range code {
		switch c {
		case 0x26, 0x2e, 0x36, 0x3e:
			return fmt.Errorf("segment prefix %#x", c)
		case 0xf0:
			return errors.New("lock prefix")
		case 0x64, 0x65, 0x66, 0x67, 0xf2, 0xf3:
			continue
		}
		if mode == 64 && c >= 0x40 && c <= 0x4f {
			continue
		}
		return x86OpcodeRefused(code[i:], mode)
	}
	return nil
}

func x86OpcodeRefused(opcode []byte, mode int) error {
	switch c := opcode[0]; {
	case c == 0xcc, c == 0xcd, c == 0xf1:
		return fmt.Errorf("interrupt instruction %#x", c)
	case c >= 0x6c && c <= 0x6f, c >= 0xe4 && c <= 0xe7, c >= 0xec && c <= 0xef:
		return fmt.Errorf("input or output instruction %#x", c)
	case c == 0xf4, c == 0xfa, c == 0xfb:
		return fmt.Errorf("privileged instruction %#x", c)
	case mode == 64 && (c == 0xc4 || c == 0xc5 || c == 0x62):
		return errors.New("vector instruction with a VEX or EVEX prefix")
	}
	return nil
}

// insideInstruction walks over the instructions of a function, of which code has
// the bytes from from on, where an instruction begins. It returns where the last
// one begins that does not begin behind at, and an error if at is inside of that.
// It knows nothing, and returns -1, when it meets something that it cannot decode.
func insideInstruction(code []byte, from, at int, function string) (int, error) {
	for pos := from; pos < at; {
		inst, ok := decodeX86Instruction(code[pos-from:], 64)
		if !ok {
			return -1, nil
		}
		if pos+inst.Len > at {
			return pos, fmt.Errorf("it is byte %d of the %d of %q at %s+%#x",
				at-pos, inst.Len, x86Text(code[pos-from:], inst, 0), printable(function), pos)
		}
		pos += inst.Len
	}
	return at, nil
}
