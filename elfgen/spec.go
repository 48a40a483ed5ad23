// Package elfgen fabricates ELF shared objects with USDT probes.
//
// Build is a pure function: a ProviderSpec and a machine give an Object, the
// same input the same bytes. The package may not know of the operating
// system: files, mappings and firing are the business of package emit.
package elfgen

import "github.com/nopfire/nopfire/elfgen/stapsdt"

// MaxArgs is the largest number of arguments of a probe: what fits into
// registers on every machine that can fire, and what libbpf's
// BPF_USDT_MAX_ARG_CNT allows.
const MaxArgs = 12

// A ProviderSpec describes a provider: a plain value.
type ProviderSpec struct {
	// Name is the name of the provider: printable ASCII without ':' and
	// blanks, at most MaxName bytes. Prefer a C identifier: perf takes no
	// other, and one probe named otherwise can cost it all the probes of
	// the object (docs/argument-spellings.md).
	Name string
	// Probes are the probes, each with a name of its own.
	Probes []ProbeSpec
}

// A ProbeSpec describes one probe.
type ProbeSpec struct {
	// Name is the name of the probe, under the rules of that of a provider.
	Name string
	// Args are the arguments in order. An argument of kind Bytes takes two
	// places (pointer and length), all others one; at most MaxArgs places.
	Args []ArgSpec
	// Semaphore asks for a 16-bit semaphore in .probes. Is-enabled works
	// without: see package emit.
	Semaphore bool
}

// An ArgSpec describes one argument.
type ArgSpec struct {
	// Name is the name of the argument, a C identifier; "" means argN, counted
	// from 1 as bcc and perf do.
	Name string
	Type *Type
}

// A Kind tells how an argument, or a field of a struct that an argument points
// to, travels.
type Kind uint8

// The kinds of a Type. An argument of kind Int, Uint, Bool, Float travels by
// value, a pointer by its address. As the field of a struct every kind has the
// memory layout of Go on a 64-bit machine: a String 16 bytes, Bytes 24, an Error
// 16.
const (
	Invalid Kind = iota
	Int          // signed integer of Size bytes
	Uint         // unsigned integer of Size bytes
	Bool         // one byte, 0 or 1
	Float        // IEEE 754 of Size bytes (4, 8); the register holds its bits
	String       // argument: pointer to NUL-terminated bytes
	Bytes        // argument: pointer and length, two places
	Error        // argument: the text of the error, as String
	Pointer      // pointer to Elem; to void when Elem is nil
	Struct       // field or pointee: Fields; never an argument
	Array        // field or pointee: Len times Elem; never an argument
)

// A Type describes a value. Types may refer to themselves through Pointer.
type Type struct {
	Kind Kind
	// Size is the number of bytes of Int, Uint, Float, Struct.
	Size int
	// Name is the name of a Struct. Bytes that a C identifier may not have
	// are escaped in the metadata, as in the names of fields.
	Name string
	// Go is the Go spelling of the type where C lacks it ("time.Duration",
	// "[]string"), else "".
	Go string
	// Elem is what a Pointer points to and what an Array holds.
	Elem *Type
	// Len is the number of elements of an Array.
	Len int
	// Fields are the fields of a Struct, by ascending offset.
	Fields []Field
}

// A Field is one field of a Struct.
type Field struct {
	Name string
	// Offset is counted in bytes from the start of the struct.
	Offset int
	Type   *Type
}

// A NopForm is a form of probe site: which instructions stand at it, and at
// which of them the note stands. Its names say what the x86-64 kernel
// optimizes; machines with one nop only know FormNop1.
type NopForm uint8

// The nop forms.
const (
	// FormNop1 is a single plain nop, the form of sys/sdt.h: a breakpoint
	// on every kernel.
	FormNop1 NopForm = iota + 1
	// FormNop5 is the 5-byte nop that x86-64 kernels since 6.18 replace by a
	// call; older kernels single-step it.
	FormNop5
	// FormNop10 is a plain nop, where the note stands, and a 10-byte nop
	// that newer x86-64 kernels replace by a call.
	FormNop10
	// FormShared is the form of the sites of BuildURDT, one for all kernels:
	// on x86-64 a plain nop, where the note stands, a 5-byte nop and a
	// 10-byte nop; elsewhere a single plain nop. Build does not take it.
	FormShared
)

// String returns the name of the form: "nop1", "nop5", "nop10", "shared", or
// "unknown".
func (f NopForm) String() string {
	switch f {
	case FormNop1:
		return "nop1"
	case FormNop5:
		return "nop5"
	case FormNop10:
		return "nop10"
	case FormShared:
		return "shared"
	}
	return "unknown"
}

// An Object is a fabricated shared object.
type Object struct {
	// Image is the ELF file.
	Image []byte
	// Machine and Form are what it was built for.
	Machine stapsdt.Machine
	Form    NopForm
	// BuildID is the content of .note.gnu.build-id.
	BuildID [20]byte

	// Text and Semaphores are the parts of the file that a process maps to
	// fire: Text readable and executable, Semaphores (empty if no probe has
	// one) readable and writable, both private. The two never share a page
	// of the file, however large the pages of the machine are. Text starts
	// a page of 4 KiB; on a system with larger pages other parts of the
	// file, none of them secret or writable, are mapped along with it.
	Text, Semaphores Extent

	// Sites are the probe sites, in the order of the spec.
	Sites []Site
}

// An Extent is a range of a file.
type Extent struct{ Off, Len int }

// A Site is a place where a probe fires. All offsets are file offsets.
type Site struct {
	// Entry is where a caller enters.
	Entry int
	// Location is the probed instruction: where the note points.
	Location int
	// Word is the 8-byte aligned word that tells whether the site is
	// patched: it holds Pristine, in the byte order of the machine, as long
	// as nobody traces the site.
	Word     int
	Pristine uint64
	// Semaphore is the offset of the semaphore, 0 for none.
	Semaphore int
}
