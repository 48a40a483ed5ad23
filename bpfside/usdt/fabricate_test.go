package usdt_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"testing"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// A fabric describes an ELF file of any machine, word size and byte order, right
// or wrong: what no compiler at hand makes.
type fabric struct {
	machine  stapsdt.Machine
	typ      elf.Type
	segments []elf.ProgHeader
	sections []fabricSection
	size     int // of the file, at least
}

// A fabricSection is a section with its content; Offset is set when it is
// written.
type fabricSection struct {
	elf.SectionHeader
	data []byte
}

// write returns the file: header, program headers, the contents in their order,
// section headers.
func (f *fabric) write(t testing.TB) []byte {
	t.Helper()
	order := f.machine.ByteOrder()
	var out bytes.Buffer
	put := func(v any) {
		if err := binary.Write(&out, order, v); err != nil {
			t.Fatal(err)
		}
	}
	is64 := f.machine.WordSize() == 8
	ehsize, phsize, shsize := 52, 32, 40
	if is64 {
		ehsize, phsize, shsize = 64, 56, 64
	}

	// Lay out: contents behind the headers, names last.
	sections := append([]fabricSection{{}}, f.sections...)
	names := []byte{0}
	at := ehsize + phsize*len(f.segments)
	var contents []byte
	place := func(s *fabricSection) {
		pad := -(at + len(contents)) & 7
		contents = append(contents, make([]byte, pad)...)
		s.Offset, s.FileSize = uint64(at+len(contents)), uint64(len(s.data))
		contents = append(contents, s.data...)
	}
	nameAt := make([]uint32, 0, len(sections)+1)
	for i := range sections {
		nameAt = append(nameAt, uint32(len(names)))
		names = append(append(names, sections[i].Name...), 0)
		if i > 0 {
			place(&sections[i])
		}
	}
	nameAt = append(nameAt, uint32(len(names)))
	names = append(names, ".shstrtab\x00"...)
	strtab := fabricSection{SectionHeader: elf.SectionHeader{Type: elf.SHT_STRTAB}, data: names}
	place(&strtab)
	sections = append(sections, strtab)
	contents = append(contents, make([]byte, -(at+len(contents))&7)...)
	if grow := f.size - at - len(contents); grow > 0 {
		contents = append(contents, make([]byte, grow&^7)...)
	}
	shoff := at + len(contents)

	ident := [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS32), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)}
	if is64 {
		ident[elf.EI_CLASS] = byte(elf.ELFCLASS64)
	}
	if order == binary.BigEndian {
		ident[elf.EI_DATA] = byte(elf.ELFDATA2MSB)
	}
	if is64 {
		put(elf.Header64{Ident: ident, Type: uint16(f.typ), Machine: f.machine.ELFMachine(), Version: 1,
			Phoff: uint64(ehsize), Shoff: uint64(shoff), Ehsize: uint16(ehsize), Phentsize: uint16(phsize), Phnum: uint16(len(f.segments)),
			Shentsize: uint16(shsize), Shnum: uint16(len(sections)), Shstrndx: uint16(len(sections) - 1)})
	} else {
		put(elf.Header32{Ident: ident, Type: uint16(f.typ), Machine: f.machine.ELFMachine(), Version: 1,
			Phoff: uint32(ehsize), Shoff: uint32(shoff), Ehsize: uint16(ehsize), Phentsize: uint16(phsize), Phnum: uint16(len(f.segments)),
			Shentsize: uint16(shsize), Shnum: uint16(len(sections)), Shstrndx: uint16(len(sections) - 1)})
	}
	for _, p := range f.segments {
		if is64 {
			put(elf.Prog64{Type: uint32(p.Type), Flags: uint32(p.Flags), Off: p.Off, Vaddr: p.Vaddr, Filesz: p.Filesz, Memsz: p.Memsz, Align: 4096})
		} else {
			put(elf.Prog32{Type: uint32(p.Type), Off: uint32(p.Off), Vaddr: uint32(p.Vaddr), Filesz: uint32(p.Filesz), Memsz: uint32(p.Memsz), Flags: uint32(p.Flags), Align: 4096})
		}
	}
	out.Write(contents)
	for i, s := range sections {
		if is64 {
			put(elf.Section64{Name: nameAt[i], Type: uint32(s.Type), Flags: uint64(s.Flags), Addr: s.Addr, Off: s.Offset, Size: s.FileSize, Link: s.Link, Addralign: 4})
		} else {
			put(elf.Section32{Name: nameAt[i], Type: uint32(s.Type), Flags: uint32(s.Flags), Addr: uint32(s.Addr), Off: uint32(s.Offset), Size: uint32(s.FileSize), Link: s.Link, Addralign: 4})
		}
	}
	return out.Bytes()
}

// notesSection returns a section of probe notes.
func notesSection(t testing.TB, m stapsdt.Machine, notes ...stapsdt.Note) fabricSection {
	t.Helper()
	s := fabricSection{SectionHeader: elf.SectionHeader{Name: stapsdt.Section, Type: elf.SHT_NOTE}}
	for i := range notes {
		var err error
		if s.data, err = stapsdt.AppendNote(s.data, m, &notes[i]); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// baseSection returns the section that tells by its address how far a file was
// moved.
func baseSection(addr uint64) fabricSection {
	return fabricSection{SectionHeader: elf.SectionHeader{Name: stapsdt.BaseSection, Type: elf.SHT_PROGBITS, Addr: addr}, data: []byte{0}}
}

// The segments of a fabric in the tests: code at 0x11000 is at 0x1000 in the file,
// data at 0x23000 at 0x2000, and 0x100 bytes more are not in the file.
var (
	codeSegment = elf.ProgHeader{Type: elf.PT_LOAD, Flags: elf.PF_R | elf.PF_X, Off: 0x1000, Vaddr: 0x11000, Filesz: 0x1000, Memsz: 0x1000}
	dataSegment = elf.ProgHeader{Type: elf.PT_LOAD, Flags: elf.PF_R | elf.PF_W, Off: 0x2000, Vaddr: 0x23000, Filesz: 0x800, Memsz: 0x900}
)

// fabricSize is that of a file with these segments.
const fabricSize = 0x2800
