package usdt

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Limits on the tables of an ELF file.
const (
	// maxProgramHeaders bounds the table of program headers in bytes; the
	// kernel runs no program with a larger one (load_elf_phdrs in
	// fs/binfmt_elf.c).
	maxProgramHeaders = 65536
	// maxSections bounds the number of sections. Executables have dozens.
	maxSections = 1 << 18
	// maxNameTable bounds the table of section names, and maxSectionName what
	// is kept of a name: enough to tell it from those that are looked for.
	maxNameTable   = 64 << 20
	maxSectionName = 64
)

// An elfFile is the part of an ELF file (System V gABI, chapters 4 and 5) that
// leads to its probes: the tables of segments and sections.
//
// This reader is not debug/elf's File, which keeps the names of all sections: a
// megabyte that hundreds of headers name, each from its start, becomes gigabytes
// there. Here time and memory are bounded by the size of the tables, and every
// error has an offset. The constants and the layouts of the tables are those of
// debug/elf.
type elfFile struct {
	Class     elf.Class
	Data      elf.Data
	ByteOrder binary.ByteOrder
	Machine   elf.Machine
	Progs     []elf.ProgHeader
	Sections  []*elf.SectionHeader // nil if the file has no table of them
}

// Section returns the first section with a name, nil if there is none.
func (f *elfFile) Section(name string) *elf.SectionHeader {
	for _, s := range f.Sections {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// elfTables says where the tables of a file are, and what their entries have for
// a size.
type elfTables struct {
	phoff, shoff         uint64
	phentsize, shentsize uint64
	phnum, shnum         uint64
	shstrndx             uint64
}

// newELFFile reads the tables of a file of the given size. Its errors are
// *FileErrors without a path.
func newELFFile(r io.ReaderAt, size int64) (*elfFile, error) {
	f := new(elfFile)
	tables, err := f.readHeader(r, size)
	if err != nil {
		return nil, err
	}
	if err := f.readPrograms(r, size, tables); err != nil {
		return nil, err
	}
	if err := f.readSections(r, size, tables); err != nil {
		return nil, err
	}
	return f, nil
}

// elfError returns the error of a file that is no good ELF file, for a reason that
// stands at off.
func elfError(off uint64, format string, args ...any) error {
	return &FileError{"", "", int64(off), "", fmt.Errorf("%w: %w", ErrNotELF, fmt.Errorf(format, args...))}
}

// headBytes is what is read of a file to tell what it is.
const headBytes = 256

// A formatError says what a file is that is no ELF file. It wraps ErrNotELF.
type formatError struct{ what string }

func (e *formatError) Error() string { return e.what }
func (e *formatError) Unwrap() error { return ErrNotELF }

// notELFError returns the error of a file that begins with something else than an ELF
// file does.
func notELFError(head []byte) error {
	why, what := notELF(head)
	if !strings.Contains(what, ErrNotELF.Error()) {
		what += " and " + ErrNotELF.Error()
	}
	what = "is " + what
	if why == ReasonScript {
		what += ": name its interpreter"
	}
	return &FileError{"", "", -1, "", &formatError{what}}
}

// readPart reads n bytes at off, which must be in the file.
func readPart(r io.ReaderAt, size int64, what string, off, n uint64) ([]byte, error) {
	if off > uint64(size) || uint64(size)-off < n {
		return nil, elfError(uint64(size), "%s of %d bytes at %#x: %w", what, n, off, io.ErrUnexpectedEOF)
	}
	data := make([]byte, n)
	if got, err := r.ReadAt(data, int64(off)); got < len(data) {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // it was cut off since its size was asked for
		}
		return nil, elfError(off, "read %s: %w", what, err)
	}
	return data, nil
}

// readHeader reads Elf32_Ehdr or Elf64_Ehdr.
func (f *elfFile) readHeader(r io.ReaderAt, size int64) (t elfTables, err error) {
	head := make([]byte, min(size, headBytes))
	n, _ := r.ReadAt(head, 0) // what cannot be read is told by readPart
	ident := head[:min(n, elf.EI_NIDENT)]
	if n > 0 && !bytes.HasPrefix([]byte(elf.ELFMAG), ident[:min(n, len(elf.ELFMAG))]) {
		return t, notELFError(head[:n])
	}
	if n < elf.EI_NIDENT {
		if ident, err = readPart(r, size, "identification", 0, elf.EI_NIDENT); err != nil {
			return t, err
		}
	}
	f.Class, f.Data = elf.Class(ident[elf.EI_CLASS]), elf.Data(ident[elf.EI_DATA])
	switch f.Data {
	case elf.ELFDATA2LSB:
		f.ByteOrder = binary.LittleEndian
	case elf.ELFDATA2MSB:
		f.ByteOrder = binary.BigEndian
	default:
		return t, elfError(elf.EI_DATA, "unknown byte order %d", ident[elf.EI_DATA])
	}
	if v := ident[elf.EI_VERSION]; v != byte(elf.EV_CURRENT) {
		return t, elfError(elf.EI_VERSION, "unknown version %d", v)
	}
	var wantPh, wantSh uint64
	switch f.Class {
	case elf.ELFCLASS32:
		var h elf.Header32
		if err := f.decode(r, size, "header", 0, &h); err != nil {
			return t, err
		}
		f.Machine = elf.Machine(h.Machine)
		t = elfTables{uint64(h.Phoff), uint64(h.Shoff), uint64(h.Phentsize), uint64(h.Shentsize), uint64(h.Phnum), uint64(h.Shnum), uint64(h.Shstrndx)}
		wantPh, wantSh = 32, 40
	case elf.ELFCLASS64:
		var h elf.Header64
		if err := f.decode(r, size, "header", 0, &h); err != nil {
			return t, err
		}
		f.Machine = elf.Machine(h.Machine)
		t = elfTables{h.Phoff, h.Shoff, uint64(h.Phentsize), uint64(h.Shentsize), uint64(h.Phnum), uint64(h.Shnum), uint64(h.Shstrndx)}
		wantPh, wantSh = 56, 64
	default:
		return t, elfError(elf.EI_CLASS, "unknown class %d", ident[elf.EI_CLASS])
	}
	switch {
	case t.phnum > 0 && t.phentsize < wantPh:
		return t, elfError(0, "program headers of %d bytes", t.phentsize)
	case t.shoff > 0 && t.shentsize < wantSh:
		return t, elfError(0, "section headers of %d bytes", t.shentsize)
	case t.shoff == 0 && t.shnum > 0:
		return t, elfError(0, "%d sections without a table of them", t.shnum)
	}
	return t, nil
}

// decode reads a structure of debug/elf.
func (f *elfFile) decode(r io.ReaderAt, size int64, what string, off uint64, to any) error {
	data, err := readPart(r, size, what, off, uint64(binary.Size(to)))
	if err != nil {
		return err
	}
	_, err = binary.Decode(data, f.ByteOrder, to)
	return err
}

// readPrograms reads the table of program headers.
func (f *elfFile) readPrograms(r io.ReaderAt, size int64, t elfTables) error {
	if t.phnum*t.phentsize > maxProgramHeaders {
		return elfError(t.phoff, "%d program headers of %d bytes, more than the limit of %d bytes", t.phnum, t.phentsize, maxProgramHeaders)
	}
	if t.phnum == 0 {
		return nil
	}
	table, err := readPart(r, size, "program headers", t.phoff, t.phnum*t.phentsize)
	if err != nil {
		return err
	}
	f.Progs = make([]elf.ProgHeader, t.phnum)
	for i := range f.Progs {
		b := table[uint64(i)*t.phentsize:]
		u32, u64 := f.ByteOrder.Uint32, f.ByteOrder.Uint64
		if f.Class == elf.ELFCLASS64 { // Elf64_Phdr
			f.Progs[i] = elf.ProgHeader{Type: elf.ProgType(u32(b)), Flags: elf.ProgFlag(u32(b[4:])),
				Off: u64(b[8:]), Vaddr: u64(b[16:]), Filesz: u64(b[32:]), Memsz: u64(b[40:])}
		} else { // Elf32_Phdr
			f.Progs[i] = elf.ProgHeader{Type: elf.ProgType(u32(b)), Flags: elf.ProgFlag(u32(b[24:])),
				Off: uint64(u32(b[4:])), Vaddr: uint64(u32(b[8:])), Filesz: uint64(u32(b[16:])), Memsz: uint64(u32(b[20:]))}
		}
	}
	return nil
}

// readSections reads the table of sections and their names.
func (f *elfFile) readSections(r io.ReaderAt, size int64, t elfTables) error {
	if t.shoff == 0 {
		return nil
	}
	header := func(b []byte) *elf.SectionHeader {
		u32, u64 := f.ByteOrder.Uint32, f.ByteOrder.Uint64
		s := &elf.SectionHeader{Type: elf.SectionType(u32(b[4:]))}
		if f.Class == elf.ELFCLASS64 { // Elf64_Shdr
			s.Flags, s.Addr = elf.SectionFlag(u64(b[8:])), u64(b[16:])
			s.Offset, s.FileSize, s.Link, s.Info, s.Entsize = u64(b[24:]), u64(b[32:]), u32(b[40:]), u32(b[44:]), u64(b[56:])
		} else { // Elf32_Shdr
			s.Flags, s.Addr = elf.SectionFlag(u32(b[8:])), uint64(u32(b[12:]))
			s.Offset, s.FileSize, s.Link, s.Info, s.Entsize = uint64(u32(b[16:])), uint64(u32(b[20:])), u32(b[24:]), u32(b[28:]), uint64(u32(b[36:]))
		}
		s.Size = s.FileSize
		return s
	}
	// Numbers that do not fit the header stand in the first section (gABI,
	// "Extended Section Header").
	if t.shnum == 0 || t.shstrndx == uint64(elf.SHN_XINDEX) {
		first, err := readPart(r, size, "section headers", t.shoff, t.shentsize)
		if err != nil {
			return err
		}
		s := header(first)
		if t.shnum == 0 {
			t.shnum = s.Size
		}
		if t.shstrndx == uint64(elf.SHN_XINDEX) {
			t.shstrndx = uint64(s.Link)
		}
	}
	if t.shnum > maxSections {
		return elfError(t.shoff, "%d sections, more than the limit of %d", t.shnum, maxSections)
	}
	if t.shnum == 0 {
		return nil
	}
	if t.shstrndx >= t.shnum {
		return elfError(t.shoff, "names of sections in section %d of %d", t.shstrndx, t.shnum)
	}
	table, err := readPart(r, size, "section headers", t.shoff, t.shnum*t.shentsize)
	if err != nil {
		return err
	}
	f.Sections = make([]*elf.SectionHeader, t.shnum)
	for i := range f.Sections {
		f.Sections[i] = header(table[uint64(i)*t.shentsize:])
	}
	if t.shstrndx == 0 {
		return nil // SHN_UNDEF: no names
	}
	strs := f.Sections[t.shstrndx]
	if strs.Type != elf.SHT_STRTAB {
		return elfError(t.shoff+t.shstrndx*t.shentsize, "names of sections in a section of type %s", strs.Type)
	}
	if strs.FileSize > maxNameTable {
		return elfError(strs.Offset, "names of sections of %d bytes, more than the limit of %d", strs.FileSize, maxNameTable)
	}
	names, err := readPart(r, size, "names of sections", strs.Offset, strs.FileSize)
	if err != nil {
		return err
	}
	for i, s := range f.Sections {
		at := uint64(f.ByteOrder.Uint32(table[uint64(i)*t.shentsize:]))
		if at >= uint64(len(names)) {
			return elfError(t.shoff+uint64(i)*t.shentsize, "name of section %d at %#x of %d bytes", i, at, len(names))
		}
		name := names[at:min(at+maxSectionName, uint64(len(names)))]
		if n := bytes.IndexByte(name, 0); n >= 0 {
			name = name[:n]
		}
		s.Name = string(name)
	}
	return nil
}
