package spec

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"slices"
)

// The relocations of EM_BPF (Documentation/bpf/llvm_reloc.rst).
const (
	reloc64_64    = 1  // a ld_imm64
	reloc64_ABS64 = 2  // a pointer in data
	reloc64_32    = 10 // a call
)

// A section of an object file.
type section struct {
	name   string
	typ    elf.SectionType
	flags  elf.SectionFlag
	align  int
	size   int    // of SHT_NOBITS
	data   []byte // of the others
	relocs []reloc

	link, info, entsize int

	index  int     // in the table of sections
	symbol *symbol // that stands for the section; nil if nothing refers to it
}

// length is the size of the section in memory.
func (s *section) length() int {
	if s.typ == elf.SHT_NOBITS {
		return s.size
	}
	return len(s.data)
}

// A symbol of an object file.
type symbol struct {
	name    string
	typ     elf.SymType
	bind    elf.SymBind
	vis     elf.SymVis
	section *section // nil: undefined, or absolute for STT_FILE
	value   int
	size    int

	index int // in the table of symbols
}

// A reloc says that at an offset of a section the address of a symbol belongs.
type reloc struct {
	offset int
	sym    *symbol
	typ    int
}

// An object is an ELF file in the making: EM_BPF, ET_REL, little endian.
type object struct {
	sections []*section // in the order of the file, without the tables
	symbols  []*symbol
}

// newSection adds an empty section.
func (o *object) newSection(name string, typ elf.SectionType, flags elf.SectionFlag, align int) *section {
	s := &section{name: name, typ: typ, flags: flags, align: align}
	o.sections = append(o.sections, s)
	return s
}

// section returns the section of the given name, or nil.
func (o *object) section(name string) *section {
	for _, s := range o.sections {
		if s.name == name {
			return s
		}
	}
	return nil
}

// sectionSymbol returns the symbol that stands for the start of a section. The
// references to what has no symbol for others to see are made of it, as clang
// makes them.
func (o *object) sectionSymbol(s *section) *symbol {
	if s.symbol == nil {
		s.symbol = &symbol{typ: elf.STT_SECTION, bind: elf.STB_LOCAL, section: s}
		o.symbols = append(o.symbols, s.symbol)
	}
	return s.symbol
}

// bytes lays the file out: the header, the sections, their relocations, the
// tables of symbols and of strings, and the table of sections.
func (o *object) bytes() []byte {
	all := append([]*section(nil), o.sections...)
	symtab := &section{name: ".symtab", typ: elf.SHT_SYMTAB, align: 8, entsize: symSize}
	strtab := &section{name: ".strtab", typ: elf.SHT_STRTAB, align: 1}
	var rels []*section
	for i, s := range o.sections {
		s.index = i + 1
		if len(s.relocs) > 0 {
			rels = append(rels, &section{
				name: ".rel" + s.name, typ: elf.SHT_REL, flags: elf.SHF_INFO_LINK, align: 8,
				info: s.index, entsize: relSize,
			})
		}
	}
	all = append(all, rels...)
	all = append(all, symtab, strtab)
	symtab.index, strtab.index = len(all)-1, len(all)

	var strs stringTable
	strs.add("")
	symtab.link = strtab.index
	symtab.data, symtab.info = o.symbolTable(&strs)
	for _, s := range rels {
		s.link = symtab.index
		s.data = relocTable(o.sections[s.info-1].relocs)
	}
	names := make([]int, len(all))
	for i, s := range all {
		names[i] = strs.add(s.name)
	}
	strtab.data = strs.data

	out := make([]byte, ehdrSize)
	headers := make([]byte, shdrSize) // the first stands for no section
	for i, s := range all {
		out = pad(out, s.align)
		headers = appendStruct(headers, &elf.Section64{
			Name: uint32(names[i]), Type: uint32(s.typ), Flags: uint64(s.flags),
			Off: uint64(len(out)), Size: uint64(s.length()),
			Link: uint32(s.link), Info: uint32(s.info), Addralign: uint64(s.align), Entsize: uint64(s.entsize),
		})
		out = append(out, s.data...)
	}
	out = pad(out, 8)
	header := elf.Header64{
		Type: uint16(elf.ET_REL), Machine: uint16(elf.EM_BPF), Version: uint32(elf.EV_CURRENT),
		Shoff: uint64(len(out)), Ehsize: ehdrSize, Shentsize: shdrSize,
		Shnum: uint16(len(all) + 1), Shstrndx: uint16(strtab.index),
	}
	copy(header.Ident[:], elf.ELFMAG)
	header.Ident[elf.EI_CLASS] = byte(elf.ELFCLASS64)
	header.Ident[elf.EI_DATA] = byte(elf.ELFDATA2LSB)
	header.Ident[elf.EI_VERSION] = byte(elf.EV_CURRENT)
	copy(out, appendStruct(nil, &header))
	return append(out, headers...)
}

// Sizes of the structures (System V gABI, chapter 4).
const (
	ehdrSize = 64
	shdrSize = 64
	symSize  = elf.Sym64Size
	relSize  = 16
)

// symbolTable numbers the symbols and returns their table, with the local ones
// first, as the format has it, and the number of the first that is not local.
func (o *object) symbolTable(strs *stringTable) (table []byte, firstGlobal int) {
	slices.SortStableFunc(o.symbols, func(a, b *symbol) int {
		return cmp.Compare(min(a.bind, elf.STB_GLOBAL), min(b.bind, elf.STB_GLOBAL))
	})
	table = make([]byte, symSize)
	firstGlobal = len(o.symbols) + 1
	for i, sym := range o.symbols {
		sym.index = i + 1
		if sym.bind != elf.STB_LOCAL {
			firstGlobal = min(firstGlobal, sym.index)
		}
		shndx := uint16(elf.SHN_UNDEF)
		switch {
		case sym.section != nil:
			shndx = uint16(sym.section.index)
		case sym.typ == elf.STT_FILE:
			shndx = uint16(elf.SHN_ABS)
		}
		table = appendStruct(table, &elf.Sym64{
			Name: uint32(strs.add(sym.name)), Info: elf.ST_INFO(sym.bind, sym.typ), Other: uint8(sym.vis),
			Shndx: shndx, Value: uint64(sym.value), Size: uint64(sym.size),
		})
	}
	return table, firstGlobal
}

func relocTable(relocs []reloc) []byte {
	var out []byte
	for _, r := range relocs {
		out = appendStruct(out, &elf.Rel64{Off: uint64(r.offset), Info: elf.R_INFO(uint32(r.sym.index), uint32(r.typ))})
	}
	return out
}

// appendStruct appends a structure of fixed size.
func appendStruct(dst []byte, v any) []byte {
	var buf bytes.Buffer
	binary.Write(&buf, binary.LittleEndian, v) // does not fail: v is of fixed size
	return append(dst, buf.Bytes()...)
}

// pad appends zeros up to a multiple of align.
func pad(b []byte, align int) []byte {
	for align > 1 && len(b)%align != 0 {
		b = append(b, 0)
	}
	return b
}

// A stringTable holds strings that end with a zero byte, each once.
type stringTable struct {
	data []byte
	at   map[string]int
}

// add returns the offset of a string, which it adds if it is new. What follows a
// zero byte in s is left out.
func (t *stringTable) add(s string) int {
	s = cString(s)
	if off, ok := t.at[s]; ok {
		return off
	}
	if t.at == nil {
		t.at = make(map[string]int)
	}
	off := len(t.data)
	t.data = append(append(t.data, s...), 0)
	t.at[s] = off
	return off
}
