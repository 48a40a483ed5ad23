// Package stapsdt is the codec of SystemTap probe notes (USDT): the records of
// a .note.stapsdt section and the argument strings inside them, for every
// machine, in both directions.
//
// It works on bytes and strings alone: it may not know of files, processes or
// the kernel.
package stapsdt

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
