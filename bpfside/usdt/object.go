package usdt

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
)

// BPF objects that clang built with libbpf's headers are not all understood by
// cilium/ebpf. What v0.22 refuses or does otherwise is changed in a copy of the
// object before it reads it:
//
//   - maps and functions marked __weak, as all of usdt.bpf.h are: their symbols
//     become global;
//   - variables marked __kconfig: the symbols, undefined in the object, get a
//     section of constant data, whose content is settled by PrepareCollection;
//   - functions marked __hidden: their type information becomes that of static
//     functions, as libbpf has it, which lets the verifier look at them from
//     where they are called, with whatever is passed to them.

// maxObject bounds the size of an object that is read, and maxSection that of each
// section in memory: .bss and compressed ones are larger there than in the file,
// and cilium/ebpf allocates up to 4 GiB for what a header of 64 bytes asks.
const (
	maxObject  = 64 << 20
	maxSection = 256 << 20
)

// Sections for the variables that are marked __kconfig; those of the second are
// also marked __weak, and zero if the kernel does not define them. The names make
// them constant data, which the verifier knows the values of.
const (
	kconfigSection     = ".rodata.kconfig"
	kconfigWeakSection = ".rodata.kconfig.weak"
)

// LoadCollectionSpec reads a BPF object, as ebpf.LoadCollectionSpec does, and also
// those that were built with libbpf's usdt.bpf.h. Give the result to NewCollection,
// or to PrepareCollection before it is loaded by other means. No kernel is asked.
func LoadCollectionSpec(path string) (*ebpf.CollectionSpec, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("load object: %w", err)
	}
	defer f.Close()
	spec, err := LoadCollectionSpecFromReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", printable(path), err)
	}
	return spec, nil
}

// LoadCollectionSpecFromReader is LoadCollectionSpec for an object in memory.
func LoadCollectionSpecFromReader(r io.ReaderAt) (*ebpf.CollectionSpec, error) {
	data, err := io.ReadAll(io.NewSectionReader(r, 0, maxObject+1))
	if err != nil {
		return nil, fmt.Errorf("read object: %w", err)
	}
	if len(data) > maxObject {
		return nil, fmt.Errorf("read object: larger than %d bytes", maxObject)
	}
	obj, err := readObject(data)
	if err != nil {
		return nil, fmt.Errorf("read object: %w", err)
	}
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(obj.adapted()))
	if err != nil {
		return nil, fmt.Errorf("read object: %w", err)
	}
	obj.makeStatic(spec)
	return spec, nil
}

// An object is a BPF object while it is being adapted.
type object struct {
	data  []byte
	order binary.ByteOrder
	elf   *elf.File

	hidden  map[string]bool // functions
	kconfig []extern
	size    uint32 // of the kconfig variables together
}

// An extern is a symbol of a variable that is marked __kconfig.
type extern struct {
	at     int // offset of its Elf64_Sym in data
	offset uint32
	size   uint32
	weak   bool
}

// Fields of Elf64_Sym and Elf64_Ehdr (System V gABI, chapter 4).
const (
	symSize  = elf.Sym64Size
	symInfo  = 4
	symOther = 5
	symShndx = 6
	symValue = 8
	symLen   = 16

	ehdrShoff    = 40
	ehdrShnum    = 60
	ehdrShstrndx = 62
	shdrSize     = 64
)

// readObject reads the symbols of an object and makes the changes that fit in
// place. Package debug/elf is not made for hostile files: should it panic, that is
// an error of the file.
func readObject(data []byte) (obj *object, err error) {
	defer func() {
		if p := recover(); p != nil {
			obj, err = nil, fmt.Errorf("%w: %v", ErrNotELF, p)
		}
	}()
	ef, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotELF, err)
	}
	if ef.Class != elf.ELFCLASS64 || ef.Machine != elf.EM_BPF && ef.Machine != elf.EM_NONE {
		return nil, fmt.Errorf("%w: an object for %s, %s, want BPF", ErrNotSupported, ef.Machine, ef.Class)
	}
	obj = &object{data: data, order: binaryOrder(ef.ByteOrder), elf: ef, hidden: make(map[string]bool)}
	vars, err := obj.kconfigVars()
	if err != nil {
		return nil, err
	}
	for _, s := range ef.Sections {
		if s.Size > maxSection {
			return nil, fmt.Errorf("section %s of %d bytes, more than the limit of %d", printable(s.Name), s.Size, maxSection)
		}
		if s.Type == elf.SHT_SYMTAB {
			if err := obj.readSymbols(s, vars); err != nil {
				return nil, err
			}
		}
	}
	return obj, nil
}

// kconfigVars returns the variables that are marked __kconfig, by name, with
// places that do not overlap.
func (obj *object) kconfigVars() (map[string]btf.VarSecinfo, error) {
	types, err := btf.LoadSpecFromReader(bytes.NewReader(obj.data))
	if errors.Is(err, btf.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("type information: %w", err)
	}
	var ds *btf.Datasec
	if err := types.TypeByName(".kconfig", &ds); err != nil {
		return nil, nil //nolint:nilerr // there is none
	}
	vars := make(map[string]btf.VarSecinfo, len(ds.Vars))
	for _, v := range ds.Vars {
		vars[v.Type.TypeName()] = v
	}
	const most = 1 << 20
	if ds.Size > most {
		return nil, fmt.Errorf("%d bytes of kconfig variables", ds.Size)
	}
	obj.size = ds.Size
	return vars, nil
}

// readSymbols reads a symbol table. Weak symbols that are defined become global.
func (obj *object) readSymbols(s *elf.Section, vars map[string]btf.VarSecinfo) error {
	table, err := obj.content(s)
	if err != nil {
		return fmt.Errorf("symbol table: %w", err)
	}
	if uint64(s.Link) >= uint64(len(obj.elf.Sections)) {
		return fmt.Errorf("symbol table: no string table %d", s.Link)
	}
	names, err := obj.content(obj.elf.Sections[s.Link])
	if err != nil {
		return fmt.Errorf("string table: %w", err)
	}
	for at := int(s.Offset); at+symSize <= int(s.Offset)+len(table); at += symSize {
		sym := obj.data[at : at+symSize]
		name := cString(names, obj.order.Uint32(sym))
		bind, typ := elf.ST_BIND(sym[symInfo]), elf.ST_TYPE(sym[symInfo])
		undefined := elf.SectionIndex(obj.order.Uint16(sym[symShndx:])) == elf.SHN_UNDEF
		if v, ok := vars[name]; ok && undefined {
			obj.kconfig = append(obj.kconfig, extern{at, v.Offset, v.Size, bind == elf.STB_WEAK})
			continue
		}
		if undefined {
			continue
		}
		if bind == elf.STB_WEAK {
			sym[symInfo] = elf.ST_INFO(elf.STB_GLOBAL, typ)
		}
		if vis := elf.ST_VISIBILITY(sym[symOther]); typ == elf.STT_FUNC && (vis == elf.STV_HIDDEN || vis == elf.STV_INTERNAL) {
			obj.hidden[name] = true
		}
	}
	return nil
}

// content returns the bytes of a section, which must not be compressed.
func (obj *object) content(s *elf.Section) ([]byte, error) {
	if s.Flags&elf.SHF_COMPRESSED != 0 {
		return nil, errCompressed
	}
	if s.Type == elf.SHT_NOBITS || s.Offset > uint64(len(obj.data)) || s.FileSize > uint64(len(obj.data))-s.Offset {
		return nil, fmt.Errorf("%d bytes at %#x are not in the file", s.FileSize, s.Offset)
	}
	return obj.data[s.Offset : s.Offset+s.FileSize], nil
}

// cString returns the string at an offset of a string table.
func cString(table []byte, off uint32) string {
	if uint64(off) >= uint64(len(table)) {
		return ""
	}
	rest := table[off:]
	if n := bytes.IndexByte(rest, 0); n >= 0 {
		return string(rest[:n])
	}
	return ""
}

// adapted returns the object with sections for the kconfig variables, behind what
// it holds otherwise: their content, a table of section names and one of section
// headers.
func (obj *object) adapted() []byte {
	if len(obj.kconfig) == 0 {
		return obj.data
	}
	shoff := obj.order.Uint64(obj.data[ehdrShoff:])
	shnum := obj.order.Uint16(obj.data[ehdrShnum:])
	shstrndx := obj.order.Uint16(obj.data[ehdrShstrndx:])
	tableEnd := shoff + uint64(shnum)*shdrSize
	if int(shnum) != len(obj.elf.Sections) || shstrndx >= shnum || shoff > tableEnd || tableEnd > uint64(len(obj.data)) {
		return obj.data // more sections than e_shnum can count: cilium/ebpf says what it lacks
	}
	names, err := obj.content(obj.elf.Sections[shstrndx])
	if err != nil {
		return obj.data
	}
	names = bytes.Clone(names) // they grow
	out := obj.data
	headers := bytes.Clone(out[shoff:tableEnd])
	section := func(name string, data []byte) {
		for len(out)%8 != 0 {
			out = append(out, 0)
		}
		sh := make([]byte, shdrSize)
		obj.order.PutUint32(sh, uint32(len(names)))
		names = append(append(names, name...), 0)
		obj.order.PutUint32(sh[4:], uint32(elf.SHT_PROGBITS))
		obj.order.PutUint64(sh[8:], uint64(elf.SHF_ALLOC))
		obj.order.PutUint64(sh[24:], uint64(len(out)))
		obj.order.PutUint64(sh[32:], uint64(len(data)))
		obj.order.PutUint64(sh[48:], 8) // alignment
		headers = append(headers, sh...)
		out = append(out, data...)
	}
	for i, name := range []string{kconfigSection, kconfigWeakSection} {
		weak := i == 1
		used := false
		for _, v := range obj.kconfig {
			if v.weak != weak {
				continue
			}
			used = true
			sym := out[v.at : v.at+symSize]
			sym[symInfo] = elf.ST_INFO(elf.STB_GLOBAL, elf.STT_OBJECT)
			obj.order.PutUint16(sym[symShndx:], uint16(len(headers)/shdrSize))
			obj.order.PutUint64(sym[symValue:], uint64(v.offset))
			obj.order.PutUint64(sym[symLen:], uint64(v.size))
		}
		if used {
			section(name, make([]byte, obj.size))
		}
	}
	strtab := headers[int(shstrndx)*shdrSize:]
	obj.order.PutUint64(strtab[24:], uint64(len(out)))
	obj.order.PutUint64(strtab[32:], uint64(len(names)))
	out = append(out, names...)
	for len(out)%8 != 0 {
		out = append(out, 0)
	}
	obj.order.PutUint64(out[ehdrShoff:], uint64(len(out)))
	obj.order.PutUint16(out[ehdrShnum:], uint16(len(headers)/shdrSize))
	return append(out, headers...)
}

// makeStatic marks the hidden functions of a collection as static.
func (obj *object) makeStatic(spec *ebpf.CollectionSpec) {
	static := make(map[*btf.Func]*btf.Func)
	for _, p := range spec.Programs {
		for i := range p.Instructions {
			ins := &p.Instructions[i]
			fn := btf.FuncMetadata(ins)
			if fn == nil || !obj.hidden[fn.Name] || fn.Linkage != btf.GlobalFunc {
				continue
			}
			if static[fn] == nil {
				c := *fn
				c.Linkage = btf.StaticFunc
				static[fn] = &c
			}
			*ins = btf.WithFuncMetadata(*ins, static[fn])
		}
	}
}
