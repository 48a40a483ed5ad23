package trace

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// An Event is one hit of one probe. It belongs to the caller: the session does
// not keep or change it (but see Options.ReuseArgs).
type Event struct {
	// Time is when the probe was hit, by the kernel's clock. The difference
	// of two times of one session is exact; the distance to the wall clock
	// is measured once, when the session starts.
	Time time.Time
	// PID and TID are the process and the thread that hit the probe, CPU is
	// where it ran.
	PID, TID, CPU int
	// Comm is the name of the thread, at most 15 bytes.
	Comm string
	// Provider and Probe name the probe.
	Provider, Probe string
	// Clause is the index of the clause that selected the probe.
	Clause int
	// Args are the arguments in the order of the probe, or what the clause
	// captures.
	Args []Value
}

// String returns the event as "provider:probe name=value name=value", the
// values as [Value.String] writes them, names that are not printable quoted.
func (e Event) String() string {
	var b strings.Builder
	b.WriteString(printable(e.Provider + ":" + e.Probe))
	for _, a := range e.Args {
		b.WriteByte(' ')
		b.WriteString(printable(a.Name))
		b.WriteByte('=')
		b.WriteString(a.String())
	}
	return b.String()
}

// printable quotes a name of the traced side unless it is plain: what a file
// calls its probes and types must not move the cursor of a terminal.
func printable(s string) string {
	for _, r := range s {
		if !strconv.IsPrint(r) || r == '\ufffd' {
			return strconv.Quote(s)
		}
	}
	return s
}

// A Value is one argument of an event.
type Value struct {
	// Name is the name of the argument: from the metadata of the object,
	// else argN, counted from 1.
	Name string
	// Type is the type of the argument, in Go's spelling ("int64",
	// "string", "time.Duration", "*main.Order"). Without metadata it is an
	// integer of the size and sign that the note gives, or "string" where
	// the caller asked for one.
	Type string
	// Value is the value: int64, uint64, bool, float64, string, []byte or
	// [Pointer]; integers of every size as int64 or uint64 by their sign, a
	// float32 as float64, an error as the string of its text. It is nil for
	// a string, error or bytes whose pointer is NULL, and for a value that
	// could not be read: then Err is not nil.
	Value any
	// Truncated tells that a string or bytes value was longer than
	// [Options].MaxString.
	Truncated bool
	// Err is the reason why the value could not be read, else nil.
	Err error
}

// A Pointer is an address in the traced process.
type Pointer uint64

// String returns the address in hexadecimal, with 0x in front.
func (p Pointer) String() string { return "0x" + strconv.FormatUint(uint64(p), 16) }

// String returns the value for people: strings and bytes quoted, with every
// byte that is not printable UTF-8 escaped, a time.Duration with its unit, a
// NULL pointer as <nil> and a value that could not be read as its reason
// between !( and ). "…" follows a value that was cut.
func (v Value) String() string {
	if v.Err != nil {
		return "!(" + v.Err.Error() + ")"
	}
	var s string
	switch x := v.Value.(type) {
	case nil:
		s = "<nil>"
	case int64:
		if v.Type == "time.Duration" {
			return time.Duration(x).String()
		}
		return strconv.FormatInt(x, 10)
	case uint64:
		return strconv.FormatUint(x, 10)
	case bool:
		return strconv.FormatBool(x)
	case float64:
		bits := 64
		if v.Type == "float32" {
			bits = 32
		}
		return strconv.FormatFloat(x, 'g', -1, bits)
	case string:
		s = strconv.Quote(x)
	case []byte:
		s = strconv.Quote(string(x))
	default: // Pointer
		s = fmt.Sprint(x)
	}
	if v.Truncated {
		s += "…"
	}
	return s
}
