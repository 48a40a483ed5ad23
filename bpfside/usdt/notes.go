package usdt

import (
	"debug/elf"
	"errors"
	"fmt"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// Why a location cannot be attached to.
var (
	// ErrTombstone marks a note whose code the linker has thrown away.
	ErrTombstone = errors.New("the linker discarded the probed code")
	// ErrNotExecutable marks a location that no executable segment holds.
	ErrNotExecutable = errors.New("location is not in an executable segment")
	// ErrSemaphoreOdd marks a semaphore at an odd address: the kernel
	// refuses it (uprobe_register in kernel/events/uprobes.c).
	ErrSemaphoreOdd = errors.New("semaphore is not aligned to 2 bytes")
	// ErrSemaphoreNotWritable marks a semaphore that no writable segment
	// of the file holds, so that the kernel could not count in it: it may be in
	// .bss, which the file does not hold, or in the code; the note may name one
	// that was never defined.
	ErrSemaphoreNotWritable = errors.New("semaphore is not in a writable segment of the file")
)

// readNotes collects the probes of all note sections.
func (img *image) readNotes(ef *elfFile) {
	var baseAddr uint64
	if s := ef.Section(stapsdt.BaseSection); s != nil {
		baseAddr = s.Addr
	}
	left := uint64(maxNoteBytes)
	c := collector{img: img, base: baseAddr}
	for _, s := range ef.Sections {
		if s.Name != stapsdt.Section {
			continue
		}
		data, err := img.section(s, left)
		if err != nil {
			img.file.problem(s.Name, int64(s.Offset), "", err)
			continue
		}
		left -= uint64(len(data))
		c.add(s, data)
	}
}

// A collector gathers the notes of a file by probe.
type collector struct {
	img    *image
	base   uint64 // the address of .stapsdt.base, 0 for none
	probes map[probeName]*Probe

	// Most probes have one location: both are cut from larger pieces, as a
	// file may have hundreds of thousands.
	freeProbes    []Probe
	freeLocations []Location
}

type probeName struct{ provider, name string }

// add takes the notes of a section.
func (c *collector) add(s *elf.SectionHeader, data []byte) {
	file := c.img.file
	if c.probes == nil {
		const shortNote = 64 // a record of 64 bits has 44 bytes without strings
		c.probes = make(map[probeName]*Probe, len(data)/shortNote)
	}
	for n, err := range stapsdt.Notes(file.Machine, data) {
		if err != nil {
			off, cause := noteFault(s, err)
			file.problem(s.Name, off, "", cause)
			continue
		}
		if n.Tombstone() {
			file.problem(s.Name, int64(s.Offset)+int64(n.Off), n.Provider+":"+n.Name, ErrTombstone)
			continue
		}
		loc := c.img.location(n.Adjusted(c.base))
		if loc.Err != nil {
			file.problem(s.Name, int64(s.Offset)+int64(n.Off), n.Provider+":"+n.Name, loc.Err)
		}
		key := probeName{n.Provider, n.Name}
		p := c.probes[key]
		if p == nil {
			p = c.newProbe(key)
			c.probes[key] = p
			file.Probes = append(file.Probes, p)
			p.Locations = append(c.newLocations(), loc)
			continue
		}
		p.Locations = append(p.Locations, loc)
	}
}

// piece is the number of probes that are allocated together at most.
const piece = 256

// newProbe returns a probe without locations.
func (c *collector) newProbe(name probeName) *Probe {
	if len(c.freeProbes) == 0 {
		c.freeProbes = make([]Probe, min(piece, len(c.img.file.Probes)+1))
	}
	p := &c.freeProbes[0]
	c.freeProbes = c.freeProbes[1:]
	p.Provider, p.Name = name.provider, name.name
	return p
}

// newLocations returns an empty slice with room for one location.
func (c *collector) newLocations() []Location {
	if len(c.freeLocations) == 0 {
		c.freeLocations = make([]Location, min(piece, len(c.img.file.Probes)))
	}
	locs := c.freeLocations[:0:1]
	c.freeLocations = c.freeLocations[1:]
	return locs
}

// noteFault returns where in the file a fault of a note section stands, and what
// it is.
func noteFault(s *elf.SectionHeader, err error) (off int64, cause error) {
	var fe *stapsdt.FormatError
	if errors.As(err, &fe) {
		return int64(s.Offset) + int64(fe.Off), errors.New(fe.Msg)
	}
	return -1, err
}

// location resolves the addresses of a note.
func (img *image) location(n stapsdt.Note) Location {
	loc := Location{Machine: img.file.Machine, Address: n.Location, Semaphore: n.Semaphore, ArgString: n.Args}
	var ok bool
	loc.Offset, ok = img.offset(loc.Address, 1, func(s segment) bool { return s.exec })
	if !ok {
		loc.Err = fmt.Errorf("%w: address %#x", ErrNotExecutable, loc.Address)
		return loc
	}
	if loc.Semaphore == 0 {
		return loc
	}
	loc.RefCtrOffset, ok = img.offset(loc.Semaphore, 2, func(s segment) bool { return s.write })
	switch {
	case !ok:
		loc.Err = fmt.Errorf("%w: address %#x", ErrSemaphoreNotWritable, loc.Semaphore)
	case loc.RefCtrOffset%2 != 0:
		loc.Err = fmt.Errorf("%w: file offset %#x", ErrSemaphoreOdd, loc.RefCtrOffset)
		loc.RefCtrOffset = 0
	}
	return loc
}
