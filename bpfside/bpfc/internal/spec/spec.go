// Package spec writes what the other stages made of a translation unit into an
// object file: ELF for EM_BPF with BTF and BTF.ext, as clang makes it, for
// cilium/ebpf, libbpf and bpftool to load.
//
// There is one output. A CollectionSpec is what cilium/ebpf reads out of the
// same bytes, so that what is tested by one loader holds for the others.
//
// Types, and functions and lines by instruction, go to BTF; relocations of CO-RE
// do not, as front has answered them already.
package spec

import (
	"debug/elf"
	"fmt"
	"strings"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
	"github.com/nopfire/nopfire/bpfside/bpfc/internal/lower"
)

// textSection is where functions are that are no programs.
const textSection = ".text"

// maxSection bounds the size of a section of data, all of which is in memory more
// than once on its way into the kernel. It is what package usdt reads at most.
const maxSection = 64 << 20

// Object returns the object file of a module whose functions became the given
// code. Functions without code are declarations. What the module uses and does not
// define is an [ir.Error].
func Object(m *ir.Module, code []lower.Code) ([]byte, error) {
	w := &writer{m: m, code: code, places: make(map[ir.Symbol]place), used: make(map[ir.Symbol]bool), symbols: make(map[ir.Symbol]*symbol)}
	if err := w.write(); err != nil {
		return nil, err
	}
	return w.obj.bytes(), nil
}

// A writer makes one object.
type writer struct {
	m    *ir.Module
	code []lower.Code
	obj  object

	used    map[ir.Symbol]bool    // named by code or data: what is declared only is written if it is
	places  map[ir.Symbol]place   // of what is defined
	symbols map[ir.Symbol]*symbol // of what has one of its own
	errs    ir.Errors
}

// A place is where a symbol is defined.
type place struct {
	section      *section
	offset, size int
}

func (w *writer) write() error {
	w.findUsed()
	if err := w.placeCode(); err != nil {
		return err
	}
	w.placeData()
	if err := w.errs.Err(); err != nil {
		return err
	}
	w.makeSymbols()
	w.relocate()
	if err := w.errs.Err(); err != nil {
		return err
	}
	return w.writeTypes()
}

// findUsed collects what the code and the initial values name.
func (w *writer) findUsed() {
	for _, c := range w.code {
		for i := range c.Insns {
			if sym := c.Insns[i].Sym; sym != nil {
				w.used[sym] = true
			}
		}
	}
	for _, g := range w.m.Globals {
		for _, r := range g.Relocs {
			w.used[r.Sym] = true
		}
	}
}

// placeCode makes the sections of programs and functions, in which references are
// left open.
func (w *writer) placeCode() error {
	for _, c := range w.code {
		name := c.Func.Section
		if name == "" {
			name = textSection
		}
		s := w.obj.section(name)
		if s == nil {
			s = w.obj.newSection(name, elf.SHT_PROGBITS, elf.SHF_ALLOC|elf.SHF_EXECINSTR, insnSize)
		}
		start := len(s.data)
		for i := range c.Insns {
			var err error
			if s.data, err = appendInsn(s.data, c.Insns[i].Instruction); err != nil {
				return fmt.Errorf("function %s: instruction %d: %w", c.Func.Name, i, err)
			}
		}
		w.places[c.Func] = place{s, start, len(s.data) - start}
	}
	return nil
}

// placeData makes the sections of data.
func (w *writer) placeData() {
	for _, g := range w.m.Globals {
		if g.Extern {
			continue
		}
		s := w.obj.section(g.Section)
		switch {
		case s == nil:
			s = newDataSection(&w.obj, g.Section)
		case s.flags&elf.SHF_EXECINSTR != 0:
			w.errs.Add(g.Pos, "section %q of %s holds programs", g.Section, g.Name)
			continue
		}
		align := max(g.Align, 1)
		if align > maxSection || g.Size > maxSection || s.length()+align+g.Size > maxSection {
			w.errs.Add(g.Pos, "section %s is larger than %d bytes with %s", g.Section, maxSection, g.Name)
			continue
		}
		s.align = max(s.align, align)
		offset := (s.length() + align - 1) / align * align
		if s.typ == elf.SHT_NOBITS {
			s.size = offset + g.Size
		} else {
			s.data = pad(s.data, align)
			s.data = append(s.data, g.Data...)
			s.data = append(s.data, make([]byte, g.Size-len(g.Data))...)
		}
		w.places[g] = place{s, offset, g.Size}
	}
}

// newDataSection adds a section for variables or map definitions.
func newDataSection(o *object, name string) *section {
	switch {
	case name == ".bss":
		return o.newSection(name, elf.SHT_NOBITS, elf.SHF_ALLOC|elf.SHF_WRITE, 1)
	case name == ".rodata" || strings.HasPrefix(name, ".rodata."):
		return o.newSection(name, elf.SHT_PROGBITS, elf.SHF_ALLOC, 1)
	case name == ".maps":
		// cilium/ebpf takes the alignment for the size of the pointers in it.
		return o.newSection(name, elf.SHT_PROGBITS, elf.SHF_ALLOC|elf.SHF_WRITE, 8)
	}
	return o.newSection(name, elf.SHT_PROGBITS, elf.SHF_ALLOC|elf.SHF_WRITE, 1)
}

// makeSymbols makes the symbols of everything that has a name in the source.
func (w *writer) makeSymbols() {
	w.obj.symbols = append(w.obj.symbols, &symbol{name: w.m.Name, typ: elf.STT_FILE, bind: elf.STB_LOCAL})
	add := func(of ir.Symbol, sym *symbol) {
		w.symbols[of] = sym
		w.obj.symbols = append(w.obj.symbols, sym)
	}
	for _, c := range w.code {
		p := w.places[c.Func]
		add(c.Func, &symbol{
			name: c.Func.Name, typ: elf.STT_FUNC, bind: binding(c.Func.Linkage), vis: visibility(c.Func.Hidden),
			section: p.section, value: p.offset, size: p.size,
		})
	}
	for _, g := range w.m.Globals {
		p, defined := w.places[g]
		switch {
		case defined && g.BTF == nil && g.Linkage == ir.Static:
			// A string literal has no name.
		case defined:
			bind := binding(g.Linkage)
			if g.Section == ".maps" && bind == elf.STB_WEAK {
				// cilium/ebpf v0.22 refuses weak maps. Only who links
				// several objects to one can tell the difference.
				bind = elf.STB_GLOBAL
			}
			add(g, &symbol{
				name: g.Name, typ: elf.STT_OBJECT, bind: bind, vis: visibility(g.Hidden),
				section: p.section, value: p.offset, size: p.size,
			})
		case w.used[g]:
			bind := elf.STB_GLOBAL
			if g.Linkage == ir.Weak {
				bind = elf.STB_WEAK
			}
			add(g, &symbol{name: g.Name, typ: elf.STT_NOTYPE, bind: bind})
		}
	}
}

func binding(l ir.Linkage) elf.SymBind {
	switch l {
	case ir.External:
		return elf.STB_GLOBAL
	case ir.Weak:
		return elf.STB_WEAK
	}
	return elf.STB_LOCAL
}

func visibility(hidden bool) elf.SymVis {
	if hidden {
		return elf.STV_HIDDEN
	}
	return elf.STV_DEFAULT
}
