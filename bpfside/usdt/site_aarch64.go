package usdt

import (
	"encoding/binary"
	"errors"
	"strings"

	"golang.org/x/arch/arm64/arm64asm"
)

// What the kernel does at an instruction of arm64:
// arch/arm64/kernel/probes/{decode-insn,uprobes}.c. The encodings are those of
// arch/arm64/include/asm/insn.h (Arm ARM, C4.1).

// An arm64Class is a class of instructions: those whose bits under mask are value.
type arm64Class struct {
	mask, value uint32
}

func (c arm64Class) holds(insn uint32) bool { return insn&c.mask == c.value }

const arm64Nop = 0xd503201f

var (
	// arm64Simulated are branches and what counts from the program counter:
	// the kernel does them itself.
	arm64Simulated = []arm64Class{
		{0x1f000000, 0x10000000}, // adr, adrp
		{0xbf000000, 0x18000000}, // ldr (literal)
		{0xff000000, 0x98000000}, // ldrsw (literal)
		{0xff000010, 0x54000000}, // b.cond
		{0x7c000000, 0x14000000}, // b, bl
		{0x7e000000, 0x34000000}, // cbz, cbnz
		{0x7e000000, 0x36000000}, // tbz, tbnz
		{0xffdffc1f, 0xd61f0000}, // br, blr
		{0xfffffc1f, 0xd65f0000}, // ret
	}
	// arm64Rejected must not run elsewhere (aarch64_insn_is_steppable).
	arm64Rejected = []struct {
		arm64Class
		what string
	}{
		{arm64Class{0xff000000, 0xd4000000}, "exception instruction"},
		{arm64Class{0xfff8f01f, 0xd500401f}, "write of a system register"},
		{arm64Class{0xfff00000, 0xd5100000}, "write of a system register"},
		{arm64Class{0xffe0fc1f, 0xd69f0000 &^ 0x1f}, "exception return"},
		{arm64Class{0x3f400000, 0x08400000}, "exclusive load"},
		{arm64Class{0x3f400000, 0x08000000}, "exclusive store"},
	}
)

func (d *decoder) decodeARM64(s spot) Site {
	const size = 4
	if s.offset%size != 0 {
		site := Site{}
		site.refuse(errors.New("address is not a multiple of 4"))
		return site
	}
	inst, err := arm64asm.Decode(s.code)
	if err != nil || len(s.code) < size {
		return Site{}
	}
	insn := binary.LittleEndian.Uint32(s.code)
	site := Site{
		Code: append([]byte(nil), s.code[:size]...),
		Text: strings.TrimSpace(arm64asm.GNUSyntax(inst)),
		Nop:  insn == arm64Nop,
	}
	for _, c := range arm64Rejected {
		if c.holds(insn) {
			site.refuse(errors.New(c.what))
			return site
		}
	}
	if d.runs(s.machine) {
		site.Cost = d.costARM64(insn)
	}
	return site
}

func (d *decoder) costARM64(insn uint32) Cost {
	if insn == arm64Nop && d.simulatesNop {
		return Trap
	}
	for _, c := range arm64Simulated {
		if c.holds(insn) {
			return Trap
		}
	}
	return SingleStep
}
