package usdt

import (
	"debug/elf"
	"fmt"
	"io"
	"strings"
)

const (
	// maxSymbolBytes bounds a symbol table, and its strings, that is
	// searched.
	maxSymbolBytes = 256 << 20
	// maxSymbolName bounds the length of a name, so that a table of a million
	// symbols that all point into one long string costs no quadratic time.
	maxSymbolName = 4096
)

// A symbol is an entry of a symbol table.
type symbol struct {
	name        string
	info        byte
	shndx       elf.SectionIndex
	value, size uint64
}

func (s symbol) typ() elf.SymType { return elf.ST_TYPE(s.info) }

// eachSymbol calls fn for the symbols of the first table of a type, of which a
// file has one at most (System V gABI, chapter 4). Symbols without a name, or with
// one of more than maxSymbolName bytes, are left out. It returns the table, nil if
// there is none, and an error if it cannot be read to its end.
func eachSymbol(r io.ReaderAt, size int64, ef *elfFile, typ elf.SectionType, fn func(symbol)) (*elf.SectionHeader, error) {
	var table *elf.SectionHeader
	for _, s := range ef.Sections {
		if s.Type == typ {
			table = s
			break
		}
	}
	if table == nil {
		return nil, nil
	}
	if uint64(table.Link) >= uint64(len(ef.Sections)) {
		return table, fmt.Errorf("no string table %d", table.Link)
	}
	if err := checkSection(size, table, maxSymbolBytes); err != nil {
		return table, err
	}
	strs, err := readText(r, size, ef.Sections[table.Link], maxSymbolBytes)
	if err != nil {
		return table, fmt.Errorf("string table: %w", err)
	}
	entry := elf.Sym64Size
	if ef.Class == elf.ELFCLASS32 {
		entry = elf.Sym32Size
	}
	// In pieces: the table alone may be as large as all that is kept of a file.
	piece := make([]byte, min(table.FileSize, uint64(entry)<<12))
	for at := uint64(0); table.FileSize-at >= uint64(entry); {
		n := min(uint64(len(piece)), table.FileSize-at)
		if _, err := r.ReadAt(piece[:n], int64(table.Offset+at)); err != nil && (err != io.EOF || table.Offset+at+n < uint64(size)) {
			return table, err
		}
		at += n
		for b := piece[:n]; len(b) >= entry; b = b[entry:] {
			sym := ef.symbol(b)
			nameAt := uint64(ef.ByteOrder.Uint32(b))
			if nameAt == 0 || nameAt >= uint64(len(strs)) {
				continue
			}
			name := strs[nameAt:min(nameAt+maxSymbolName, uint64(len(strs)))]
			end := strings.IndexByte(name, 0)
			if end < 0 {
				continue
			}
			sym.name = name[:end]
			fn(sym)
		}
	}
	return table, nil
}

// symbol decodes Elf32_Sym or Elf64_Sym, but for the name.
func (f *elfFile) symbol(b []byte) symbol {
	o := f.ByteOrder
	if f.Class == elf.ELFCLASS32 {
		return symbol{info: b[12], shndx: elf.SectionIndex(o.Uint16(b[14:])), value: uint64(o.Uint32(b[4:])), size: uint64(o.Uint32(b[8:]))}
	}
	return symbol{info: b[4], shndx: elf.SectionIndex(o.Uint16(b[6:])), value: o.Uint64(b[8:]), size: o.Uint64(b[16:])}
}

// readText is readSection for a string, of which names can be cut without a copy.
func readText(r io.ReaderAt, size int64, s *elf.SectionHeader, limit uint64) (string, error) {
	if err := checkSection(size, s, limit); err != nil {
		return "", err
	}
	var b strings.Builder
	b.Grow(int(s.FileSize))
	_, err := io.Copy(&b, io.NewSectionReader(r, int64(s.Offset), int64(s.FileSize)))
	return b.String(), err
}
