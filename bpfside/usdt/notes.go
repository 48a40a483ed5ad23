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
	// holds, so that the kernel could not count in it. The note may name one
	// that was never defined.
	ErrSemaphoreNotWritable = errors.New("semaphore is not in a writable segment")
)

// readNotes collects the probes of all note sections.
func (img *image) readNotes(ef *elf.File) {
	var baseAddr uint64
	if s := ef.Section(stapsdt.BaseSection); s != nil {
		baseAddr = s.Addr
	}
	type name struct{ provider, name string }
	probes := make(map[name]*Probe)
	left := uint64(maxNoteBytes)
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
		for n, err := range stapsdt.Notes(img.file.Machine, data) {
			if err != nil {
				off, cause := noteFault(s, err)
				img.file.problem(s.Name, off, "", cause)
				continue
			}
			if n.Tombstone() {
				img.file.problem(s.Name, -1, n.Provider+":"+n.Name, ErrTombstone)
				continue
			}
			loc := img.location(n.Adjusted(baseAddr))
			if loc.Err != nil {
				img.file.problem(s.Name, -1, n.Provider+":"+n.Name, loc.Err)
			}
			key := name{n.Provider, n.Name}
			p := probes[key]
			if p == nil {
				p = &Probe{Provider: key.provider, Name: key.name}
				probes[key] = p
				img.file.Probes = append(img.file.Probes, p)
			}
			p.Locations = append(p.Locations, loc)
		}
	}
}

// noteFault returns where in the file a fault of a note section stands, and what
// it is.
func noteFault(s *elf.Section, err error) (off int64, cause error) {
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
