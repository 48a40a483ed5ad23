package elfimage

import (
	"encoding/binary"
	"slices"
)

// SymSize is the size of an entry of a symbol table.
const SymSize = 24

// A Symbol is a defined global function: a range of a section.
type Symbol struct {
	Section   *Section
	Off, Size int
}

// Symbols is a table of global function symbols with its strings and both
// hash tables. Add symbols, then take the sizes for Layout, then write.
type Symbols struct {
	order binary.ByteOrder
	// word is the size of an entry of DT_HASH: 4 bytes, but 8 on s390x
	// (zSeries ELF ABI supplement, "Hash Table").
	word int

	strings []byte
	// sections are those of the symbols: few, whereas the entries are many
	// and hold no pointers that a garbage collector would follow.
	sections []*Section
	syms     []entry
	// byBucket lists the symbols in table order: DT_GNU_HASH needs those of
	// a bucket next to each other.
	byBucket []int32
	buckets  uint32
}

type entry struct {
	name      uint32 // offset in strings
	sysv, gnu uint32 // hashes
	section   int32  // index in sections
	off, size int
}

// elfMachineS390 is EM_S390.
const elfMachineS390 = 22

// NewSymbols returns an empty table for n symbols whose names, NULs included,
// have about size bytes.
func NewSymbols(t Target, n, size int) *Symbols {
	word := 4
	if t.Machine == elfMachineS390 {
		word = 8
	}
	return &Symbols{
		order:   t.Order,
		word:    word,
		strings: make([]byte, 1, size+1),
		syms:    make([]entry, 0, n),
	}
}

// AddString adds a string to the string table and returns its offset.
func (t *Symbols) AddString(s string) int {
	off := len(t.strings)
	t.strings = append(append(t.strings, s...), 0)
	return off
}

// Add adds a symbol. Names must be distinct and without NUL.
func (t *Symbols) Add(name []byte, sym Symbol) {
	section := slices.Index(t.sections, sym.Section)
	if section < 0 {
		section = len(t.sections)
		t.sections = append(t.sections, sym.Section)
	}
	t.syms = append(t.syms, entry{
		name: uint32(len(t.strings)), sysv: sysvHash(name), gnu: gnuHash(name),
		section: int32(section), off: sym.Off, size: sym.Size,
	})
	t.strings = append(append(t.strings, name...), 0)
}

// Sort brings the symbols into the order of the table. It is called once,
// after the last Add.
func (t *Symbols) Sort() {
	n := len(t.syms)
	t.buckets = max(1, uint32(n)/2)
	start := make([]int32, t.buckets+1)
	for i := range t.syms {
		start[t.syms[i].gnu%t.buckets+1]++
	}
	for i := uint32(1); i <= t.buckets; i++ {
		start[i] += start[i-1]
	}
	t.byBucket = make([]int32, n)
	for i := range t.syms {
		b := t.syms[i].gnu % t.buckets
		t.byBucket[start[b]] = int32(i)
		start[b]++
	}
}

// Strings returns the content of the string table.
func (t *Symbols) Strings() []byte { return t.strings }

// TableSize returns the size of the symbol table.
func (t *Symbols) TableSize() int { return (len(t.syms) + 1) * SymSize }

// SysvHashSize returns the size of the DT_HASH table.
func (t *Symbols) SysvHashSize() int {
	return t.word * (2 + int(t.buckets) + len(t.syms) + 1)
}

// SysvHashWord returns the size of an entry of the DT_HASH table.
func (t *Symbols) SysvHashWord() int { return t.word }

// GNUHashSize returns the size of the DT_GNU_HASH table.
func (t *Symbols) GNUHashSize() int {
	return 16 + 8*t.bloomWords() + 4*int(t.buckets) + 4*len(t.syms)
}

// bloomWords returns the size of the Bloom filter in words of 64 bits: a power
// of two, at least 8 bits for a symbol.
func (t *Symbols) bloomWords() int {
	n := 1
	for n*8 < len(t.syms) {
		n *= 2
	}
	return n
}

// WriteTable writes the symbol table (gABI chapter 4, "Symbol Table").
func (t *Symbols) WriteTable(b []byte) {
	const globalFunc = 1<<4 | 2 // STB_GLOBAL, STT_FUNC
	for _, i := range t.byBucket {
		b = b[SymSize:]
		e := &t.syms[i]
		t.order.PutUint32(b[0:], e.name)
		b[4] = globalFunc
		section := t.sections[e.section]
		t.order.PutUint16(b[6:], uint16(section.Index))
		t.order.PutUint64(b[8:], section.Address(e.off))
		t.order.PutUint64(b[16:], uint64(e.size))
	}
}

// WriteSysvHash writes the DT_HASH table (gABI chapter 5, "Hash Table").
func (t *Symbols) WriteSysvHash(b []byte) {
	put := func(i int, v uint32) {
		if t.word == 8 {
			t.order.PutUint64(b[i*8:], uint64(v))
		} else {
			t.order.PutUint32(b[i*4:], v)
		}
	}
	put(0, t.buckets)
	put(1, uint32(len(t.syms)+1))
	const head = 2
	first := make([]uint32, t.buckets)
	for pos, i := range t.byBucket {
		sym := uint32(pos + 1)
		bucket := t.syms[i].sysv % t.buckets
		put(head+int(t.buckets)+int(sym), first[bucket])
		first[bucket] = sym
	}
	for i, sym := range first {
		put(head+i, sym)
	}
}

// bloomShift is the distance of the second bit of a name in the Bloom filter:
// the value that GNU ld uses for 64-bit files.
const bloomShift = 6

// WriteGNUHash writes the DT_GNU_HASH table: header, Bloom filter, buckets and
// chain, whose last entry of a bucket has bit 0 set (there is no formal
// specification; glibc elf/dl-lookup.c and binutils bfd/elflink.c agree).
func (t *Symbols) WriteGNUHash(b []byte) {
	o, bloom := t.order, t.bloomWords()
	o.PutUint32(b[0:], t.buckets)
	o.PutUint32(b[4:], 1) // index of the first symbol in the table
	o.PutUint32(b[8:], uint32(bloom))
	o.PutUint32(b[12:], bloomShift)
	filter := b[16:]
	buckets := filter[8*bloom:]
	chain := buckets[4*t.buckets:]
	for pos, i := range t.byBucket {
		h := t.syms[i].gnu
		word := filter[8*(h/64%uint32(bloom)):]
		o.PutUint64(word, o.Uint64(word)|1<<(h%64)|1<<((h>>bloomShift)%64))

		bucket := h % t.buckets
		if o.Uint32(buckets[4*bucket:]) == 0 {
			o.PutUint32(buckets[4*bucket:], uint32(pos+1))
		}
		last := uint32(0)
		if pos+1 == len(t.byBucket) || t.syms[t.byBucket[pos+1]].gnu%t.buckets != bucket {
			last = 1
		}
		o.PutUint32(chain[4*pos:], h&^1|last)
	}
}

// sysvHash is the hash of DT_HASH (gABI chapter 5).
func sysvHash(name []byte) uint32 {
	var h uint32
	for _, c := range name {
		h = h<<4 + uint32(c)
		g := h & 0xf0000000
		h = (h ^ g>>24) &^ g
	}
	return h
}

// gnuHash is the hash of DT_GNU_HASH: Bernstein's, h*33 + c.
func gnuHash(name []byte) uint32 {
	h := uint32(5381)
	for _, c := range name {
		h = h*33 + uint32(c)
	}
	return h
}
