package usdt

import (
	"os"
	"strings"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// A Probe is a probe as one file describes it: a plain value.
type Probe struct {
	Provider, Name string

	// Locations are the places where the probe fires, in the order of the
	// notes.
	Locations []Location

	// Params are the names and types of the arguments, from the metadata
	// that nopfire writes beside the notes; nil if there is none or it
	// contradicts the notes (then File.Problems says how).
	Params []Param

	// Shards is the number of locations of a probe of URDT in a marked
	// object, where each name fires at one of them: see ShardOf. It is 0 for
	// every other probe.
	Shards     int
	shardOrder []int // the locations by ascending address
}

// String returns PROVIDER:NAME.
func (p *Probe) String() string { return p.Provider + ":" + p.Name }

// A Location is one place where a probe fires.
type Location struct {
	// Machine is the machine of the file.
	Machine stapsdt.Machine

	// Address is the address of the probed instruction and Semaphore that
	// of the semaphore (0: none), as the program headers of the file count
	// them, moves by prelink undone.
	Address, Semaphore uint64

	// Offset is the place of the instruction in the file, RefCtrOffset that
	// of the semaphore (0: none).
	Offset, RefCtrOffset uint64

	// ArgString is the argument string of the note, unparsed.
	ArgString string

	// Symbols are the addresses, counted like Address, of the symbols that
	// the arguments name, as far as the file defines them; nil if there are
	// none.
	Symbols map[string]uint64

	// Err tells why the location cannot be attached to, nil if it can.
	Err error
}

// Args parses the argument string. An argument that cannot be understood keeps
// its place and says why in its Err. An operand that names a symbol becomes one
// that is relative to the probed instruction, if the symbol is known: then Text
// ends in that distance, so that equal texts still mean equal operands.
func (l *Location) Args() []stapsdt.Arg {
	args := stapsdt.ParseArgs(l.Machine, l.ArgString)
	for i := range args {
		l.resolve(&args[i])
	}
	return args
}

// layout identifies what the arguments are and where they stand.
func (l *Location) layout() string {
	if len(l.Symbols) == 0 {
		return l.ArgString
	}
	var b strings.Builder
	for _, a := range l.Args() {
		b.WriteString(a.Text)
		b.WriteByte(' ')
	}
	return b.String()
}

// A Param is what the metadata of an object says about one argument.
type Param struct {
	Name string
	Type *Type
	// Len is the index of the argument that holds the number of bytes, for a
	// Type of kind Bytes: it always comes later, so that 0 stands for none.
	Len int
}

// A Kind tells how a value is meant.
type Kind uint8

// The kinds of a Type.
const (
	Unknown Kind = iota // a type that carries no meaning here
	Int                 // signed integer of Size bytes
	Uint                // unsigned integer of Size bytes
	Bool                // one byte, 0 or 1
	Float               // IEEE 754 of Size bytes (4, 8); the argument holds its bits
	String              // pointer to NUL-terminated bytes
	Bytes               // pointer to bytes, counted by another argument
	Error               // pointer to the NUL-terminated text of an error
	Pointer             // pointer to Elem; to void when Elem is nil
	Struct              // Fields; only behind a Pointer, or inside another
	Array               // Len times Elem; only behind a Pointer, or inside another
)

var kindNames = [...]string{"unknown", "int", "uint", "bool", "float", "string", "bytes", "error", "pointer", "struct", "array"}

// String returns the name of the kind in lower case.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "invalid"
}

// A Type is the type of an argument, or of what it points to. Structs may refer
// to themselves through a Pointer. The metadata it comes from is not trusted:
// use Offset and Size for reads that may fail, not for access.
type Type struct {
	Kind Kind
	// Size is the number of bytes of the value; of a pointer it is that of
	// the pointer.
	Size int
	// Name is the name of a Struct.
	Name string
	// Go is the Go spelling of the type where C lacks it, else "".
	Go string
	// Elem is what a Pointer points to and an Array holds.
	Elem *Type
	// Len is the number of elements of an Array.
	Len int
	// Fields are the fields of a Struct by ascending offset.
	Fields []Field
}

// A Field is a field of a Struct.
type Field struct {
	Name string
	// Offset is counted in bytes from the start of the struct.
	Offset int
	Type   *Type
}

// A Target is a probe in one file as a tracer can reach it: what AttachUSDT
// takes. It is a plain value that holds no file open.
type Target struct {
	Probe

	// Path is the name of the file for people, as the traced process or the
	// user knows it: "/usr/bin/postgres", "/memfd:nopfire:app".
	Path string
	// Open is a path under which this process can open the very file, in
	// whatever mount namespace it lies and even if it has no name any more,
	// for instance "/proc/77/map_files/400000-401000".
	Open string
	// ID is the identity of the file.
	ID FileID
	// PID is the process to trace, 0 for every process that maps the file.
	PID int
	// PIDs are the processes that were seen to map the file, ascending, if a
	// search of all processes or a Follower has found it.
	PIDs []int
}

// Key identifies a target among others: two targets with equal keys would
// attach to the same instructions.
type Key struct {
	Provider, Name string
	ID             FileID
	PID            int
}

// Key returns the key of t.
func (t *Target) Key() Key { return Key{t.Provider, t.Name, t.ID, t.PID} }

// Layouts splits a target into targets whose locations all have the same
// arguments in the same places, so that one BPF program can read the arguments
// of each. Most probes have one layout. Locations that cannot be attached to are
// left out.
func (t *Target) Layouts() []*Target {
	var out []*Target
	byLayout := make(map[string]*Target)
	for i := range t.Locations {
		loc := &t.Locations[i]
		if loc.Err != nil {
			continue
		}
		key := loc.layout()
		o := byLayout[key]
		if o == nil {
			c := *t
			o = &c
			o.Locations = nil
			byLayout[key] = o
			out = append(out, o)
		}
		o.Locations = append(o.Locations, *loc)
	}
	return out
}

// A FileID tells files apart, and tells a file from what it was before it was
// written to: offsets that were read from the one must not be used in the other.
type FileID struct {
	Dev, Inode uint64
	Size       int64
	// MTime is the time of the last change, in nanoseconds since 1970.
	MTime int64
}

// sameFile reports whether a and b are the same file, changed or not.
func (a FileID) sameFile(b FileID) bool { return a.Dev == b.Dev && a.Inode == b.Inode }

// isFile reports whether a path leads to a file.
func isFile(path string, id FileID) bool {
	st, err := os.Stat(path)
	if err != nil {
		return false
	}
	got, err := identityOf(st)
	return err == nil && got.sameFile(id)
}
