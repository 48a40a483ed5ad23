// Command strip blanks an ELF file but for what concerns its probes: every byte
// keeps its offset, and all but the headers, the note sections, and the symbols
// that arguments name become zero. What remains compresses to a few kilobytes,
// and locations and semaphores resolve as in the file.
//
//	strip ELF > ELF.gz
package main

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"fmt"
	"os"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: strip ELF > ELF.gz")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(path string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	f, err := elf.NewFile(bytes.NewReader(old))
	if err != nil {
		return err
	}
	kept := make([]byte, len(old))
	keep := func(off, n uint64) { copy(kept[off:off+n], old[off:]) }

	// Elf32_Ehdr and Elf64_Ehdr (System V gABI, chapter 4): where the two
	// tables are and how large.
	order := f.ByteOrder
	var phoff, shoff, header, sizes uint64
	if f.Class == elf.ELFCLASS64 {
		phoff, shoff, header, sizes = order.Uint64(old[32:]), order.Uint64(old[40:]), 64, 54
	} else {
		phoff, shoff, header, sizes = uint64(order.Uint32(old[28:])), uint64(order.Uint32(old[32:])), 52, 42
	}
	half := func(i uint64) uint64 { return uint64(order.Uint16(old[sizes+2*i:])) }
	keep(0, header)
	keep(phoff, half(0)*half(1))
	keep(shoff, half(2)*half(3))
	names := f.Sections[half(4)]
	keep(names.Offset, names.FileSize)

	machine, ok := stapsdt.MachineOf(uint16(f.Machine), int(4*f.Class), order)
	if !ok {
		return fmt.Errorf("%s: machine %s", path, f.Machine)
	}
	symbols := make(map[string]bool)
	for _, s := range f.Sections {
		if s.Name != stapsdt.Section && s.Name != ".note.gnu.build-id" {
			continue
		}
		keep(s.Offset, s.FileSize)
		if s.Name != stapsdt.Section {
			continue
		}
		for n, err := range stapsdt.Notes(machine, old[s.Offset:s.Offset+s.FileSize]) {
			if err != nil {
				return err
			}
			for _, a := range stapsdt.ParseArgs(machine, n.Args) {
				symbols[a.Operand.Symbol] = true
			}
		}
	}
	for _, s := range f.Sections {
		if s.Type != elf.SHT_SYMTAB && s.Type != elf.SHT_DYNSYM {
			continue
		}
		strs := f.Sections[s.Link]
		for off := s.Offset; off < s.Offset+s.FileSize; off += s.Entsize {
			at := strs.Offset + uint64(order.Uint32(old[off:]))
			n := uint64(bytes.IndexByte(old[at:], 0))
			if n > 0 && symbols[string(old[at:at+n])] {
				keep(off, s.Entsize)
				keep(at, n+1)
			}
		}
	}
	z, err := gzip.NewWriterLevel(os.Stdout, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(kept); err != nil {
		return err
	}
	return z.Close()
}
