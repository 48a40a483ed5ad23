// Package urdt fires tracepoints of any name at any time, without a set-up:
//
//	urdt.Probe2("app", "request", status, path)
//
// A tracer that was told of app:request, before or after this program was
// started, sees the call with its arguments, in this program and in every other
// one that fires the name: Go, C, Python, a shell (docs/urdt-spec.md is the
// contract, cmd/nopfire has "nopfire fire").
//
// # Model
//
// There is one object for all names, liburdt.so.1. It holds, for each number of
// arguments from 0 to 11, sixteen sites. A name fires at the site that its hash
// selects, with the hash as last argument; a tracer attaches to the site and
// compares the hash. The object's bytes are always the same, so all processes
// can share one file: what attaches to it sees them all, those too that are
// started later.
//
// The object is opened by the first use of the package. Where it is looked
// for, and what it takes to be trusted, stands at Scope.
//
// # Handles and calls
//
// A handle (New0 … New11, or New with a number of arguments) has its name hashed
// once. While nobody traces the name, Fire is inlined and costs about a
// nanosecond. Making the handle registers the name and the types of its
// arguments, where "nopfire list urdt" finds them.
//
// The functions Probe0 … Probe11 take the name as strings. They cost some
// nanoseconds while nobody traces any name with that many arguments, a little
// more while somebody traces another one.
//
// Neither allocates anything, traced or not (an Error method may).
//
// A name shares its site with one in sixteen others of its arity. While such a
// neighbour is traced, Enabled is true for it too and Fire pays for the
// breakpoint; the tracer tells the two apart.
//
// # Arguments
//
// Every argument takes one register, as a signed 64-bit number in the eyes of a
// tracer that knows nothing else:
//
//   - integers, uintptr and bool, and types derived from them, travel as they are;
//   - float32 and float64 travel as their bits;
//   - string travels as a pointer to a NUL-terminated copy, cut at MaxString;
//   - error travels as its text, a nil error as a NULL pointer, with the
//     exception of package emit;
//   - pointers and unsafe.Pointer travel as they are.
//
// A []byte would take two (package emit sends it with its length), which would
// make a tracepoint with two arguments of one: pass a string, or a pointer and
// a length. Handles for other types are refused by the constructor. The
// functions Probe1 … Probe11, which have no error to return, send 0 for a value
// whose type cannot travel.
//
// # Limits
//
// Sites fire on linux/amd64 and linux/arm64. Everywhere else the package
// compiles and everything is inert, and so it is where no object can be had:
// that is no error of any function; Scope tells.
//
// All functions and methods are safe for concurrent use.
package urdt

//go:generate go run ./internal/gen -o probes.go
