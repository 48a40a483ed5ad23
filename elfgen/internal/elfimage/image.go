// Package elfimage lays out and writes ELF64 shared objects: sections,
// segments, symbols with both hash tables, the dynamic section and the
// build-id. It may not know of probes.
//
// An image is made in four steps: Add the sections in file order with their
// sizes; Layout gives them offsets and addresses; Bytes gives the content of a
// section to be filled in; Finish writes the headers and the build-id.
package elfimage

import (
	"crypto/sha256"
	"encoding/binary"
)

// Constants of the System V gABI (chapters 4 and 5) that appear in the API.
const (
	ShtProgbits = 1
	ShtSymtab   = 2
	ShtStrtab   = 3
	ShtHash     = 5
	ShtDynamic  = 6
	ShtNote     = 7
	ShtDynsym   = 11
	ShtGNUHash  = 0x6ffffff6

	ShfWrite     = 1
	ShfAlloc     = 2
	ShfExecinstr = 4
)

const (
	ehdrSize = 64
	phdrSize = 56
	shdrSize = 64

	etDyn        = 3
	ptLoad       = 1
	ptDynamic    = 2
	ptNote       = 4
	ptGNUEhFrame = 0x6474e550
	ptGNUStack   = 0x6474e551
	ptGNUProp    = 0x6474e553

	pfX = 1
	pfW = 2
	pfR = 4
)

// A Target is what an image is made for.
type Target struct {
	// Machine and Flags are e_machine and e_flags.
	Machine uint16
	Flags   uint32
	Order   binary.ByteOrder
	// PageSize is the largest page size of the machine: segments with
	// different permissions never share a page of memory.
	PageSize int
}

// A Section is one section of an image.
type Section struct {
	Name    string
	Type    uint32
	Flags   uint64
	EntSize int
	// Link and Info are sh_link and sh_info; LinkTo, if set, overrides
	// Link with the index of another section.
	Link, Info uint32
	LinkTo     *Section
	// Align is sh_addralign. FileAlign, if larger, aligns the start of the
	// section in the file only.
	Align, FileAlign int
	// Size is the number of bytes. A section with Data has the size of Data
	// and is filled by Layout.
	Size int
	Data []byte

	// Off, Addr and Index are set by Layout. Addr is 0 for a section that
	// is not loaded.
	Off   int
	Addr  uint64
	Index uint32
}

// A segment is one PT_LOAD: sections [first, last] of the image.
type segment struct {
	flags       uint32
	first, last int
}

// An Image is an ELF file in the making.
type Image struct {
	target   Target
	sections []*Section
	segments []segment
	shstr    []byte
	shoff    int
	buf      []byte
}

// New returns an empty image.
func New(t Target) *Image {
	return &Image{
		target:   t,
		sections: make([]*Section, 0, 24),
		shstr:    make([]byte, 1, 256),
	}
}

// Add appends a section. Sections that are loaded come first, those that need
// the same permissions next to each other: every change to permissions that
// the segment at hand lacks starts a new segment. Names must not contain NUL.
func (im *Image) Add(s *Section) *Section {
	im.sections = append(im.sections, s)
	s.Index = uint32(len(im.sections))
	if s.Data != nil {
		s.Size = len(s.Data)
	}
	return s
}

// alignUp rounds n up to a multiple of align, a power of two or 0.
func alignUp(n, align int) int {
	if align <= 1 {
		return n
	}
	return (n + align - 1) &^ (align - 1)
}

// Layout gives every section its place. No section may be added afterwards.
//
// The file is packed; memory is not: the address of a segment is the smallest
// one that is congruent to its offset modulo the page size and lies in a page
// of its own, as the gABI demands (chapter 5, "Program Header", p_align). So
// on machines with pages of 64 KiB no file has holes of 64 KiB.
func (im *Image) Layout() {
	// .shstrtab is made here since it names every section.
	shstrtab := im.Add(&Section{Name: ".shstrtab", Type: ShtStrtab, Align: 1})
	for _, s := range im.sections {
		im.shstr = append(append(im.shstr, s.Name...), 0)
	}
	shstrtab.Size = len(im.shstr)
	shstrtab.Data = im.shstr

	im.findSegments()
	off := ehdrSize + im.programHeaders()*phdrSize
	delta := 0 // address minus offset in the segment at hand
	end := 0   // of the last loaded section, in memory
	next := 0  // segment
	for i, s := range im.sections {
		off = alignUp(off, max(s.Align, s.FileAlign))
		if next < len(im.segments) && im.segments[next].first == i {
			// Only the first segment, which starts with the file header,
			// is free of the page of a predecessor.
			if next > 0 {
				page := alignUp(end, im.target.PageSize)
				for off+delta < page {
					delta += im.target.PageSize
				}
			}
			next++
		}
		s.Off = off
		off += s.Size
		if s.Flags&ShfAlloc != 0 {
			s.Addr = uint64(s.Off + delta)
			end = off + delta
		}
	}
	im.shoff = alignUp(off, 8)
	im.buf = make([]byte, im.shoff+(len(im.sections)+1)*shdrSize)
	for _, s := range im.sections {
		copy(im.Bytes(s), s.Data)
	}
}

// findSegments groups the loaded sections.
func (im *Image) findSegments() {
	for i, s := range im.sections {
		if s.Flags&ShfAlloc == 0 {
			continue
		}
		flags := uint32(pfR)
		if s.Flags&ShfExecinstr != 0 {
			flags |= pfX
		}
		if s.Flags&ShfWrite != 0 {
			flags |= pfW
		}
		if n := len(im.segments); n == 0 || im.segments[n-1].flags&flags != flags {
			im.segments = append(im.segments, segment{flags: flags, first: i})
		}
		im.segments[len(im.segments)-1].last = i
	}
}

// programHeaders returns the number of program headers.
func (im *Image) programHeaders() int {
	n := len(im.segments) + 1 // PT_GNU_STACK
	for i, s := range im.sections {
		if s.Type == ShtDynamic || s.Name == ".eh_frame_hdr" || im.startsNotes(i) {
			n++
		}
		if s.Name == propertySection {
			n++ // beside that of the notes
		}
	}
	return n
}

// propertySection holds the note of GNU properties, for which loaders have a
// segment type of its own.
const propertySection = ".note.gnu.property"

// startsNotes tells whether section i is the first of a run of loaded notes
// with one alignment, which one PT_NOTE covers.
func (im *Image) startsNotes(i int) bool {
	return im.loadedNote(i) && !(i > 0 && im.loadedNote(i-1) && im.sections[i-1].Align == im.sections[i].Align)
}

func (im *Image) loadedNote(i int) bool {
	s := im.sections[i]
	return s.Type == ShtNote && s.Flags&ShfAlloc != 0
}

// Bytes returns the content of a section after Layout, to be written to. Its
// capacity is its length: an append that exceeds it leaves the image alone.
func (im *Image) Bytes(s *Section) []byte {
	return im.buf[s.Off : s.Off+s.Size : s.Off+s.Size]
}

// Address returns the address of the byte at off of a section.
func (s *Section) Address(off int) uint64 { return s.Addr + uint64(off) }

// Finish writes the headers and returns the file. If buildID is not nil, its
// content ends in the 20 bytes of a build-id: they are filled with a hash over
// the headers and all sections, which is everything but padding.
func (im *Image) Finish(buildID *Section) []byte {
	im.fileHeader()
	im.programTable()
	im.sectionTable()
	if buildID != nil {
		h := sha256.New()
		headers := ehdrSize + im.programHeaders()*phdrSize
		h.Write(im.buf[:headers])
		h.Write(im.buf[im.shoff:])
		// Sections that follow each other closely are hashed in one go.
		from, to := headers, headers
		for _, s := range im.sections {
			if s.Off-to > 512 {
				h.Write(im.buf[from:to])
				from = s.Off
			}
			to = s.Off + s.Size
		}
		h.Write(im.buf[from:to])
		var sum [sha256.Size]byte
		id := im.Bytes(buildID)
		copy(id[len(id)-BuildIDSize:], h.Sum(sum[:0]))
	}
	return im.buf
}

// BuildIDSize is the size of a build-id: that of a SHA-1, which every tool
// expects, though the bytes are the front of a SHA-256.
const BuildIDSize = 20

func (im *Image) fileHeader() {
	b, o := im.buf, im.target.Order
	copy(b, "\x7fELF")
	b[4] = 2 // ELFCLASS64
	b[5] = 1 // ELFDATA2LSB
	if o == binary.ByteOrder(binary.BigEndian) {
		b[5] = 2 // ELFDATA2MSB
	}
	b[6] = 1 // EV_CURRENT
	o.PutUint16(b[16:], etDyn)
	o.PutUint16(b[18:], im.target.Machine)
	o.PutUint32(b[20:], 1)        // e_version
	o.PutUint64(b[32:], ehdrSize) // e_phoff
	o.PutUint64(b[40:], uint64(im.shoff))
	o.PutUint32(b[48:], im.target.Flags)
	o.PutUint16(b[52:], ehdrSize)
	o.PutUint16(b[54:], phdrSize)
	o.PutUint16(b[56:], uint16(im.programHeaders()))
	o.PutUint16(b[58:], shdrSize)
	o.PutUint16(b[60:], uint16(len(im.sections)+1))
	o.PutUint16(b[62:], uint16(len(im.sections))) // .shstrtab is last
}

func (im *Image) programTable() {
	b := im.buf[ehdrSize:]
	put := func(typ, flags uint32, off int, addr uint64, size, align int) {
		o := im.target.Order
		o.PutUint32(b[0:], typ)
		o.PutUint32(b[4:], flags)
		o.PutUint64(b[8:], uint64(off))
		o.PutUint64(b[16:], addr)
		o.PutUint64(b[24:], addr)
		o.PutUint64(b[32:], uint64(size))
		o.PutUint64(b[40:], uint64(size))
		o.PutUint64(b[48:], uint64(align))
		b = b[phdrSize:]
	}
	for i, g := range im.segments {
		first, last := im.sections[g.first], im.sections[g.last]
		off, addr := first.Off, first.Addr
		if i == 0 { // from the file header on
			addr -= uint64(off)
			off = 0
		}
		put(ptLoad, g.flags, off, addr, last.Off+last.Size-off, im.target.PageSize)
	}
	for i, s := range im.sections {
		switch {
		case s.Type == ShtDynamic:
			put(ptDynamic, pfR|pfW, s.Off, s.Addr, s.Size, s.Align)
		case s.Name == ".eh_frame_hdr":
			put(ptGNUEhFrame, pfR, s.Off, s.Addr, s.Size, s.Align)
		case im.startsNotes(i):
			last := s
			for j := i + 1; j < len(im.sections) && im.loadedNote(j) && !im.startsNotes(j); j++ {
				last = im.sections[j]
			}
			put(ptNote, pfR, s.Off, s.Addr, last.Off+last.Size-s.Off, s.Align)
			if s.Name == propertySection {
				put(ptGNUProp, pfR, s.Off, s.Addr, s.Size, s.Align)
			}
		}
	}
	put(ptGNUStack, pfR|pfW, 0, 0, 0, 16)
}

func (im *Image) sectionTable() {
	b, o := im.buf[im.shoff+shdrSize:], im.target.Order
	name := uint32(1)
	for _, s := range im.sections {
		link := s.Link
		if s.LinkTo != nil {
			link = s.LinkTo.Index
		}
		o.PutUint32(b[0:], name)
		o.PutUint32(b[4:], s.Type)
		o.PutUint64(b[8:], s.Flags)
		o.PutUint64(b[16:], s.Addr)
		o.PutUint64(b[24:], uint64(s.Off))
		o.PutUint64(b[32:], uint64(s.Size))
		o.PutUint32(b[40:], link)
		o.PutUint32(b[44:], s.Info)
		o.PutUint64(b[48:], uint64(s.Align))
		o.PutUint64(b[56:], uint64(s.EntSize))
		b = b[shdrSize:]
		name += uint32(len(s.Name)) + 1
	}
}

// AppendNote appends a note record with the given owner (without its NUL),
// type and descriptor.
func AppendNote(dst []byte, o binary.ByteOrder, owner string, typ uint32, desc []byte) []byte {
	var head [12]byte
	o.PutUint32(head[0:], uint32(len(owner)+1))
	o.PutUint32(head[4:], uint32(len(desc)))
	o.PutUint32(head[8:], typ)
	dst = append(dst, head[:]...)
	dst = append(append(dst, owner...), 0)
	dst = pad4(dst, len(owner)+1)
	dst = append(dst, desc...)
	return pad4(dst, len(desc))
}

func pad4(dst []byte, n int) []byte {
	for ; n%4 != 0; n++ {
		dst = append(dst, 0)
	}
	return dst
}

// The tags of a dynamic section (gABI chapter 5, "Dynamic Section").
const (
	dtNull    = 0
	dtHash    = 4
	dtStrtab  = 5
	dtSymtab  = 6
	dtStrsz   = 10
	dtSyment  = 11
	dtSoname  = 14
	dtGNUHash = 0x6ffffef5
)

// DynSize is the size of an entry of a dynamic section.
const DynSize = 16

// DynamicSize is the size of the dynamic section that PutDynamic writes.
const DynamicSize = 8 * DynSize

// PutDynamic writes the content of a dynamic section over the given tables;
// soname is the offset of the SONAME in the string table.
func (im *Image) PutDynamic(dyn, sysvHash, gnuHash, strtab, symtab *Section, soname int) {
	b, o := im.Bytes(dyn), im.target.Order
	for i, e := range [...]struct{ tag, value uint64 }{
		{dtSoname, uint64(soname)},
		{dtHash, sysvHash.Addr},
		{dtGNUHash, gnuHash.Addr},
		{dtStrtab, strtab.Addr},
		{dtSymtab, symtab.Addr},
		{dtStrsz, uint64(strtab.Size)},
		{dtSyment, SymSize},
		{dtNull, 0},
	} {
		o.PutUint64(b[i*DynSize:], e.tag)
		o.PutUint64(b[i*DynSize+8:], e.value)
	}
}
