// Package stapsdt is the codec of SystemTap probe notes (USDT): the records of
// a .note.stapsdt section and the argument strings inside them, for every
// machine, in both directions.
//
// It works on bytes and strings alone: it may not know of files, processes or
// the kernel.
package stapsdt

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Constants of a probe note.
const (
	// Section is the name of the section that holds probe notes.
	Section = ".note.stapsdt"
	// BaseSection is the name of the section whose address tells how far a
	// file was moved after its notes were written (prelink).
	BaseSection = ".stapsdt.base"
	// ProbesSection is the name of the section that holds the semaphores.
	ProbesSection = ".probes"
	// Owner is the owner name of a probe note, without its NUL.
	Owner = "stapsdt"
	// NoteType is the type of a probe note.
	NoteType = 3
)

// A Note is one probe note: one location of one probe.
type Note struct {
	Provider, Name string

	// Location is the address of the probed instruction, Base the address
	// that .stapsdt.base had and Semaphore the address of the 16-bit
	// semaphore (0: none), all as written in the note: see Adjusted.
	Location, Base, Semaphore uint64

	// Args is the argument string, unparsed: see ParseArgs.
	Args string

	// Off is where the record of a note that was read begins, in bytes from
	// the start of its section. It means nothing to AppendNote.
	Off int
}

// The framing of a record of a SHT_NOTE section (System V gABI, chapter 5):
// three words of 32 bits in every ELF class, then owner name and descriptor,
// each padded to 4 bytes.
const (
	noteHeader = 12
	noteAlign  = 4
)

// ErrMachine is wrapped by the error of a function that was given a machine
// that the package does not know.
var ErrMachine = errors.New("unknown machine")

func align4(n int) int { return (n + noteAlign - 1) &^ (noteAlign - 1) }

// NoteSize returns the number of bytes that AppendNote appends for n: a
// multiple of 4.
func NoteSize(m Machine, n *Note) int {
	return noteHeader + align4(len(Owner)+1) + align4(descSize(m, n))
}

func descSize(m Machine, n *Note) int {
	return 3*m.WordSize() + len(n.Provider) + len(n.Name) + len(n.Args) + 3
}

// AppendNote appends the record of n to dst, in the word size and byte order
// of m. It fails, and returns dst as it was, when a string contains a NUL or
// an address needs more than a word of m.
func AppendNote(dst []byte, m Machine, n *Note) ([]byte, error) {
	order, word := m.ByteOrder(), m.WordSize()
	if order == nil {
		return dst, fmt.Errorf("write note: %w %d", ErrMachine, m)
	}
	for _, s := range [...]string{n.Provider, n.Name, n.Args} {
		if strings.IndexByte(s, 0) >= 0 {
			return dst, fmt.Errorf("write note: NUL byte in %q", s)
		}
	}
	addrs := [...]uint64{n.Location, n.Base, n.Semaphore}
	if word == 4 {
		for _, a := range addrs {
			if a>>32 != 0 {
				return dst, fmt.Errorf("write note: address %#x exceeds 32 bits", a)
			}
		}
	}

	at := len(dst)
	dst = slices.Grow(dst, NoteSize(m, n))[:at+NoteSize(m, n)]
	b := dst[at:]
	order.PutUint32(b[0:], uint32(len(Owner)+1))
	order.PutUint32(b[4:], uint32(descSize(m, n)))
	order.PutUint32(b[8:], NoteType)
	b = b[noteHeader+copy(b[noteHeader:], Owner+"\x00"):]
	for _, a := range addrs {
		if word == 8 {
			order.PutUint64(b, a)
		} else {
			order.PutUint32(b, uint32(a))
		}
		b = b[word:]
	}
	for _, s := range [...]string{n.Provider, n.Name, n.Args} {
		b = b[copy(b, s):]
		b[0] = 0
		b = b[1:]
	}
	clear(b) // the padding
	return dst, nil
}

// A FormatError is a fault of a note section.
type FormatError struct {
	// Off is where the fault stands, in bytes from the start of the
	// section.
	Off int
	// Msg is the fault, for instance "name not terminated".
	Msg string
}

func (e *FormatError) Error() string { return fmt.Sprintf("read note at %#x: %s", e.Off, e.Msg) }

// Notes returns the probe notes of a section of a file for machine m, in
// order. Records of other owners and types are skipped.
//
// The strings of the notes share one copy of the section, made when the first
// note is read: a file can have hundreds of thousands.
//
// The section is foreign data. A fault inside a record costs that record: it
// is reported as a *FormatError beside a Note with what could be read, and the
// iteration goes on. It ends where the framing of the records breaks.
func Notes(m Machine, section []byte) iter.Seq2[Note, error] {
	return func(yield func(Note, error) bool) {
		order := m.ByteOrder()
		if order == nil {
			yield(Note{}, fmt.Errorf("read notes: %w %d", ErrMachine, m))
			return
		}
		var text string // the section, once there is a note to cut out of it
		for off := 0; off < len(section); {
			rest := section[off:]
			if len(rest) < noteHeader {
				if len(bytes.Trim(rest, "\x00")) > 0 {
					yield(Note{}, &FormatError{off, fmt.Sprintf("%d bytes left, a header has %d", len(rest), noteHeader)})
				}
				return
			}
			nameSize := uint64(order.Uint32(rest[0:]))
			descSize := uint64(order.Uint32(rest[4:]))
			typ := order.Uint32(rest[8:])
			// In 64 bits, where sizes of 32 bits cannot overflow.
			descAt := noteHeader + (nameSize+3)&^3
			end := descAt + descSize
			if end > uint64(len(rest)) {
				yield(Note{}, &FormatError{off, fmt.Sprintf("record of %d bytes exceeds the section by %d", end, end-uint64(len(rest)))})
				return
			}
			if typ == NoteType && string(rest[noteHeader:noteHeader+nameSize]) == Owner+"\x00" {
				if text == "" {
					text = string(section)
				}
				at := off + int(descAt)
				n, err := readNote(m, rest[descAt:end], text[at:off+int(end)], at)
				n.Off = off
				if !yield(n, err) {
					return
				}
			}
			// The padding of the last record may be missing.
			off += min(align4(int(end)), len(rest))
		}
	}
}

// readNote reads the descriptor of a probe note, which stands at off; text has
// the same bytes.
func readNote(m Machine, desc []byte, text string, off int) (n Note, err error) {
	order, word := m.ByteOrder(), m.WordSize()
	if len(desc) < 3*word {
		return n, &FormatError{off, fmt.Sprintf("descriptor of %d bytes, the addresses alone have %d", len(desc), 3*word)}
	}
	at := 0
	for _, addr := range []*uint64{&n.Location, &n.Base, &n.Semaphore} {
		if word == 8 {
			*addr = order.Uint64(desc[at:])
		} else {
			*addr = uint64(order.Uint32(desc[at:]))
		}
		at += word
	}
	for _, s := range []struct {
		what string
		to   *string
	}{{"provider", &n.Provider}, {"name", &n.Name}, {"arguments", &n.Args}} {
		end := strings.IndexByte(text[at:], 0)
		if end < 0 {
			return n, &FormatError{off + at, s.what + " not terminated"}
		}
		*s.to = text[at : at+end]
		at += end + 1
	}
	return n, nil
}

// Tombstone tells that the note belongs to code which the linker discarded: it
// has no location and must not be attached to. (lld and mold resolve
// references to discarded sections to 0, which is the file header in every
// file that has one mapped.)
func (n *Note) Tombstone() bool { return n.Location == 0 }

// Adjusted returns the note with the addresses that location and semaphore
// have in a file whose .stapsdt.base section is at address base, 0 if there is
// none: prelink moves code without rewriting notes.
// Nothing is adjusted if there is no base, in the file or in the note, or
// if the note is a tombstone.
func (n Note) Adjusted(base uint64) Note {
	if base == 0 || n.Base == 0 || n.Tombstone() {
		return n
	}
	delta := base - n.Base
	n.Location += delta
	if n.Semaphore != 0 {
		n.Semaphore += delta
	}
	return n
}
