// Package stapsdt is the codec of SystemTap probe notes (USDT): the records of
// a .note.stapsdt section and the argument strings inside them, for every
// machine, in both directions.
//
// It works on bytes and strings alone: it may not know of files, processes or
// the kernel.
package stapsdt

import (
	"errors"
	"fmt"
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

	size := descSize(m, n)
	var head [noteHeader + len(Owner) + 1 + 3*8]byte
	order.PutUint32(head[0:], uint32(len(Owner)+1))
	order.PutUint32(head[4:], uint32(size))
	order.PutUint32(head[8:], NoteType)
	copy(head[noteHeader:], Owner)
	at := noteHeader + len(Owner) + 1
	for _, a := range addrs {
		if word == 8 {
			order.PutUint64(head[at:], a)
		} else {
			order.PutUint32(head[at:], uint32(a))
		}
		at += word
	}
	dst = append(dst, head[:at]...)
	dst = append(append(dst, n.Provider...), 0)
	dst = append(append(dst, n.Name...), 0)
	dst = append(append(dst, n.Args...), 0)
	for ; size%noteAlign != 0; size++ {
		dst = append(dst, 0)
	}
	return dst, nil
}
