package elfimage

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"testing"
)

var (
	smallPages = Target{Machine: 62, Order: binary.LittleEndian, PageSize: 4 << 10}
	largePages = Target{Machine: 183, Order: binary.LittleEndian, PageSize: 64 << 10}
	bigEndian  = Target{Machine: 22, Flags: 7, Order: binary.BigEndian, PageSize: 4 << 10}
)

// layoutTargets are the properties of machines that matter to the writer.
var layoutTargets = map[string]Target{"4 KiB": smallPages, "64 KiB": largePages, "big endian": bigEndian}

// build makes an image with n functions of 16 bytes, and with semaphores if
// asked for, and returns it with its sections.
func build(t Target, n int, writable bool) (file []byte, im *Image) {
	im = New(t)
	text := &Section{Name: ".text", Type: ShtProgbits, Flags: ShfAlloc | ShfExecinstr, Align: 16, FileAlign: 4096, Size: 16 * n}
	syms := NewSymbols(t, n, 0)
	soname := syms.AddString("lib.so")
	for i := range n {
		syms.Add(fmt.Appendf(nil, "f%d", i), Symbol{text, 16 * i, 2})
	}
	syms.Sort()

	id := im.Add(&Section{Name: ".note.gnu.build-id", Type: ShtNote, Flags: ShfAlloc, Align: 4,
		Data: AppendNote(nil, t.Order, "GNU", 3, make([]byte, BuildIDSize))})
	gnu := im.Add(&Section{Name: ".gnu.hash", Type: ShtGNUHash, Flags: ShfAlloc, Align: 8, Size: syms.GNUHashSize()})
	sysv := im.Add(&Section{Name: ".hash", Type: ShtHash, Flags: ShfAlloc, Align: 8, EntSize: syms.SysvHashWord(), Size: syms.SysvHashSize()})
	dynsym := im.Add(&Section{Name: ".dynsym", Type: ShtDynsym, Flags: ShfAlloc, Align: 8, EntSize: SymSize, Info: 1, Size: syms.TableSize()})
	dynstr := im.Add(&Section{Name: ".dynstr", Type: ShtStrtab, Flags: ShfAlloc, Align: 1, Data: syms.Strings()})
	im.Add(text)
	// Read-only data behind code stays in its segment.
	im.Add(&Section{Name: ".rodata", Type: ShtProgbits, Flags: ShfAlloc, Align: 1, Data: []byte("x")})
	if writable {
		im.Add(&Section{Name: ".data", Type: ShtProgbits, Flags: ShfAlloc | ShfWrite, Align: 2, FileAlign: t.PageSize, Data: []byte("data")})
	}
	dyn := im.Add(&Section{Name: ".dynamic", Type: ShtDynamic, Flags: ShfAlloc | ShfWrite, Align: 8, EntSize: DynSize, Size: DynamicSize, LinkTo: dynstr})
	im.Add(&Section{Name: ".comment", Type: ShtProgbits, Align: 1, Data: []byte("not loaded")})
	gnu.LinkTo, sysv.LinkTo, dynsym.LinkTo = dynsym, dynsym, dynstr

	im.Layout()
	syms.WriteGNUHash(im.Bytes(gnu))
	syms.WriteSysvHash(im.Bytes(sysv))
	syms.WriteTable(im.Bytes(dynsym))
	im.PutDynamic(dyn, sysv, gnu, dynstr, dynsym, soname)
	return im.Finish(id), im
}

func parse(t *testing.T, file []byte) *elf.File {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Segments keep their distance in memory, agree with their offsets modulo the
// page size, and hold the sections that they should.
func TestSegments(t *testing.T) {
	for name, target := range layoutTargets {
		for _, writable := range []bool{false, true} {
			file, _ := build(target, 3, writable)
			f := parse(t, file)
			page := uint64(target.PageSize)
			lastPage := uint64(0)
			flags := []elf.ProgFlag{}
			for _, p := range f.Progs {
				if p.Type != elf.PT_LOAD {
					continue
				}
				if p.Vaddr%page != p.Off%page {
					t.Errorf("%s: segment at offset %#x and address %#x", name, p.Off, p.Vaddr)
				}
				if len(flags) > 0 && p.Vaddr/page <= lastPage {
					t.Errorf("%s: segment at %#x shares a page", name, p.Vaddr)
				}
				if p.Filesz != p.Memsz || p.Align != page {
					t.Errorf("%s: %+v", name, p)
				}
				lastPage = (p.Vaddr + p.Memsz - 1) / page
				flags = append(flags, p.Flags)
			}
			want := []elf.ProgFlag{elf.PF_R, elf.PF_R | elf.PF_X, elf.PF_R | elf.PF_W}
			if fmt.Sprint(flags) != fmt.Sprint(want) {
				t.Errorf("%s: segments %v, want %v", name, flags, want)
			}
			if !writable && len(file) > 8192 {
				t.Errorf("%s: %d bytes: the file has holes", name, len(file))
			}
			for _, s := range f.Sections {
				if s.Flags&elf.SHF_ALLOC == 0 {
					if s.Addr != 0 {
						t.Errorf("%s: %s is not loaded, but at %#x", name, s.Name, s.Addr)
					}
					continue
				}
				if !covered(f, s) {
					t.Errorf("%s: no segment holds %s", name, s.Name)
				}
			}
			if s := f.Section(".data"); s != nil && s.Offset%page != 0 {
				t.Errorf("%s: .data at offset %#x", name, s.Offset)
			}
		}
	}
}

// covered tells whether a segment loads the section, at its address.
func covered(f *elf.File, s *elf.Section) bool {
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Off <= s.Offset && s.Offset+s.Size <= p.Off+p.Filesz {
			return s.Addr-p.Vaddr == s.Offset-p.Off
		}
	}
	return false
}

func TestHeaders(t *testing.T) {
	for name, target := range layoutTargets {
		file, _ := build(target, 3, true)
		f := parse(t, file)
		if f.Type != elf.ET_DYN || f.Machine != elf.Machine(target.Machine) || f.ByteOrder != target.Order {
			t.Errorf("%s: %+v", name, f.FileHeader)
		}
		if flags := target.Order.Uint32(file[48:]); flags != target.Flags {
			t.Errorf("%s: flags %d", name, flags)
		}
		stack := false
		for _, p := range f.Progs {
			if p.Type == elf.PT_GNU_STACK {
				stack = p.Flags == elf.PF_R|elf.PF_W
			}
		}
		if !stack {
			t.Errorf("%s: no PT_GNU_STACK without X", name)
		}
		if got, err := f.DynString(elf.DT_SONAME); err != nil || fmt.Sprint(got) != "[lib.so]" {
			t.Errorf("%s: SONAME %q, %v", name, got, err)
		}
	}
}

// Every symbol is found through both hash tables, the way a loader does it,
// and others are not.
func TestHashTables(t *testing.T) {
	for name, target := range layoutTargets {
		for _, n := range []int{1, 2, 3, 7, 64, 1000} {
			file, _ := build(target, n, false)
			f := parse(t, file)
			syms, err := f.DynamicSymbols()
			if err != nil || len(syms) != n {
				t.Fatalf("%s: %d symbols, %v", name, len(syms), err)
			}
			text := f.Section(".text")
			for i := range n + 5 {
				sym := fmt.Sprintf("f%d", i)
				a, b := lookupGNU(t, f, sym), lookupSysv(t, f, sym)
				if i >= n {
					if a != 0 || b != 0 {
						t.Errorf("%s: found %s, which is not there: %d, %d", name, sym, a, b)
					}
					continue
				}
				if a == 0 || a != b {
					t.Fatalf("%s, %d symbols: %s is %d by DT_GNU_HASH, %d by DT_HASH", name, n, sym, a, b)
				}
				s := syms[a-1]
				if s.Name != sym || s.Value != text.Addr+uint64(16*i) || s.Size != 2 ||
					elf.ST_TYPE(s.Info) != elf.STT_FUNC || f.Sections[s.Section] != text {
					t.Errorf("%s: %+v", name, s)
				}
			}
		}
	}
}

func sectionData(t *testing.T, f *elf.File, name string) []byte {
	t.Helper()
	b, err := f.Section(name).Data()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func symbolName(t *testing.T, f *elf.File, i uint64) string {
	off := f.ByteOrder.Uint32(sectionData(t, f, ".dynsym")[i*SymSize:])
	s := sectionData(t, f, ".dynstr")[off:]
	return string(s[:bytes.IndexByte(s, 0)])
}

func lookupSysv(t *testing.T, f *elf.File, name string) uint64 {
	b := sectionData(t, f, ".hash")
	word := func(i uint64) uint64 { return uint64(f.ByteOrder.Uint32(b[4*i:])) }
	if f.Machine == elf.EM_S390 {
		word = func(i uint64) uint64 { return f.ByteOrder.Uint64(b[8*i:]) }
	}
	// The hash as the gABI prints it.
	var h uint32
	for _, c := range []byte(name) {
		h = h<<4 + uint32(c)
		if g := h & 0xf0000000; g != 0 {
			h ^= g >> 24
			h &^= g
		}
	}
	buckets := word(0)
	for i := word(2 + uint64(h)%buckets); i != 0; i = word(2 + buckets + i) {
		if symbolName(t, f, i) == name {
			return i
		}
	}
	return 0
}

func lookupGNU(t *testing.T, f *elf.File, name string) uint64 {
	b := sectionData(t, f, ".gnu.hash")
	o := f.ByteOrder
	buckets, first, bloom, shift := o.Uint32(b), o.Uint32(b[4:]), o.Uint32(b[8:]), o.Uint32(b[12:])
	h := uint32(5381)
	for _, c := range []byte(name) {
		h = h<<5 + h + uint32(c)
	}
	filter := o.Uint64(b[16+8*(h/64&(bloom-1)):])
	if filter>>(h%64)&1 == 0 || filter>>(h>>shift%64)&1 == 0 {
		return 0
	}
	b = b[16+8*bloom:]
	i := o.Uint32(b[4*(h%buckets):])
	if i == 0 {
		return 0
	}
	for b = b[4*buckets:]; ; i++ {
		c := o.Uint32(b[4*(i-first):])
		if c|1 == h|1 && symbolName(t, f, uint64(i)) == name {
			return uint64(i)
		}
		if c&1 == 1 {
			return 0
		}
	}
}

// The build-id depends on every byte that is not padding, and on nothing else.
func TestBuildIDCoversContent(t *testing.T) {
	id := func(name string, data string, align int) string {
		im := New(smallPages)
		id := im.Add(&Section{Name: ".note.gnu.build-id", Type: ShtNote, Flags: ShfAlloc, Align: 4,
			Data: AppendNote(nil, smallPages.Order, "GNU", 3, make([]byte, BuildIDSize))})
		im.Add(&Section{Name: name, Type: ShtProgbits, Align: align, Data: []byte(data)})
		im.Layout()
		im.Finish(id)
		return string(im.Bytes(id))
	}
	base := id(".a", "content", 1)
	if base != id(".a", "content", 1) {
		t.Error("not deterministic")
	}
	for _, row := range [][3]any{{".b", "content", 1}, {".a", "contenT", 1}, {".a", "Content", 1}, {".a", "content", 4096}} {
		if base == id(row[0].(string), row[1].(string), row[2].(int)) {
			t.Errorf("same id for %v", row)
		}
	}
}
