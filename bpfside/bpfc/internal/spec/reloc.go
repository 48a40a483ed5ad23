package spec

import (
	"debug/elf"
	"encoding/binary"

	"github.com/cilium/ebpf/asm"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
	"github.com/nopfire/nopfire/bpfside/bpfc/internal/lower"
)

// relocate makes the relocations of code and of map definitions.
func (w *writer) relocate() {
	for _, c := range w.code {
		p := w.places[c.Func]
		at := p.offset
		for i := range c.Insns {
			ins := &c.Insns[i]
			if ins.Sym != nil {
				w.relocateInsn(p.section, at, c.Func, ins)
			}
			at += insnSize
			if ins.OpCode.IsDWordLoad() {
				at += insnSize
			}
		}
	}
	for _, g := range w.m.Globals {
		p, ok := w.places[g]
		for _, r := range g.Relocs {
			sym := w.symbols[r.Sym]
			switch {
			case !ok:
			case sym == nil:
				w.errs.Add(g.Pos, "the initial value of %s needs the address of %s, which is not defined here", g.Name, r.Sym.SymbolName())
			default:
				p.section.relocs = append(p.section.relocs, reloc{p.offset + r.Offset, sym, reloc64_ABS64})
			}
		}
	}
}

// relocateInsn makes the relocation of an instruction that names a symbol. The
// loaders add what is in the instruction to the address of the symbol. Where it is
// not 0 the symbol is that of the section, as cilium/ebpf looks at the instruction
// for those alone.
func (w *writer) relocateInsn(s *section, at int, f *ir.Func, ins *lower.Insn) {
	code := s.data[at:]
	target, defined := w.places[ins.Sym]
	pos := ins.Pos
	if pos == (ir.Pos{}) {
		pos = f.Pos
	}
	switch {
	case ins.OpCode.JumpOp() == asm.Call:
		if !defined {
			w.errs.Add(pos, "call of function %s, which is declared but not defined", ins.Sym.SymbolName())
			return
		}
		setSrc(code, asm.PseudoCall)
		// The place of a call is in instructions, from the one behind it.
		sym, imm := w.symbols[ins.Sym], -1
		if sym.bind == elf.STB_LOCAL {
			sym, imm = w.obj.sectionSymbol(target.section), target.offset/insnSize-1
		}
		putImm(code, uint32(imm))
		s.relocs = append(s.relocs, reloc{at, sym, reloc64_32})

	case ins.OpCode.IsDWordLoad():
		setSrc(code, 0)
		sym := w.symbols[ins.Sym]
		offset := ins.Constant
		switch {
		case !defined && sym == nil:
			w.errs.Add(pos, "%s is declared but not defined", ins.Sym.SymbolName())
			return
		case !defined:
			if g, ok := ins.Sym.(*ir.Global); ok && !isExternSection(g.Section) {
				w.errs.Add(pos, "variable %s is declared but not defined", g.Name)
				return
			}
		case target.section.name == ".maps":
			// A map is known by its symbol, and has no inside.
		case sym == nil, sym.bind == elf.STB_LOCAL, sym.typ == elf.STT_FUNC, offset != 0:
			sym = w.obj.sectionSymbol(target.section)
			offset += int64(target.offset)
		}
		putImm(code, uint32(offset))
		putImm(code[insnSize:], 0)
		s.relocs = append(s.relocs, reloc{at, sym, reloc64_64})

	default:
		w.errs.Add(pos, "instruction %v cannot refer to %s", ins.Instruction, ins.Sym.SymbolName())
	}
}

// isExternSection tells whether the loader finds what a section declares.
func isExternSection(name string) bool { return name == ".kconfig" || name == ".ksyms" }

// setSrc and putImm set fields of an encoded instruction.
func setSrc(code []byte, src asm.Register) { code[1] = code[1]&0x0f | byte(src)<<4 }

func putImm(code []byte, imm uint32) { binary.LittleEndian.PutUint32(code[4:], imm) }
