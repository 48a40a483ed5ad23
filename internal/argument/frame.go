// Package argument carries values to a tracer: from Go variables to the
// registers of a probe site, with copies of the texts among them, and says what
// Go types can travel and what an object tells of them.
//
// It may not know of probes, sites or files: the packages that fire (emit,
// urdt) decide whether, and where.
package argument

import (
	"math/bits"
	"reflect"
	"runtime/debug"
	"sync"
	"unsafe"

	"github.com/nopfire/nopfire/internal/call"
)

// The way from arguments to registers.
//
// The arguments arrive as addresses of the variables of the caller's frame,
// hidden from escape analysis (NoEscape). That is sound because nothing here
// keeps an address beyond the call, because every address stays in a variable
// of pointer type, which the runtime adjusts when it moves the stack, until
// call.Site, which cannot be interrupted by such a move, has them in
// registers; and because an Error method, which could keep its receiver, is
// never given one on the stack (errtext.go).

// MaxString is the largest number of bytes that a string, []byte or error
// takes on the way to a tracer, its terminating NUL included. What is longer is
// cut. BPF programs read strings of fixed sizes below: a tracer that keeps 4096
// bytes, as package trace does at most, takes one more to see that there are more,
// and the NUL.
const MaxString = 4096 + 2

// An Op says how an argument travels.
type Op uint8

// The ways to travel; 0 is none.
const (
	Int8 Op = iota + 1
	Int16
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64 // uint, uintptr, float64's bits: all words
	String
	Bytes
	Error
	Pointer // its target is touched
	Unsafe  // unsafe.Pointer: may lead anywhere
)

// Places returns the number of registers that the argument takes.
func (o Op) Places() int {
	if o == Bytes {
		return 2
	}
	return 1
}

// The ops of int and of uint and uintptr: the size of a word. Where that is
// four bytes nothing fires, but the definitions are checked all the same.
const (
	intOp  = Int32 + Op(bits.UintSize/64)
	uintOp = Uint32 + Op(bits.UintSize/64)
)

// An Arg is one argument of a probe.
type Arg struct {
	Op    Op
	Place int // its first register
}

// A Frame is the way of the arguments of one fire. It lies on the stack of
// whoever fires, who fills it, enters the site with Registers and then releases
// it. The zero value is ready.
type Frame struct {
	Registers call.Frame

	// near takes the first texts, as long as there is room: it lies on the
	// stack, whose cache lines are warm after a visit of the kernel.
	near [256]byte
	used int      // bytes of near
	far  *scratch // takes the others; nil before the first
}

// Fill loads the registers from the arguments, whose addresses are at.
func (f *Frame) Fill(args []Arg, at []unsafe.Pointer) {
	r := &f.Registers
	for i, a := range args {
		p := at[i]
		switch a.Op {
		case Int8:
			r.Words[a.Place] = uint64(*(*int8)(p))
		case Int16:
			r.Words[a.Place] = uint64(*(*int16)(p))
		case Int32:
			r.Words[a.Place] = uint64(*(*int32)(p))
		case Int64, Uint64:
			r.Words[a.Place] = *(*uint64)(p)
		case Uint8:
			r.Words[a.Place] = uint64(*(*uint8)(p))
		case Uint16:
			r.Words[a.Place] = uint64(*(*uint16)(p))
		case Uint32:
			r.Words[a.Place] = uint64(*(*uint32)(p))
		case Pointer:
			r.Ptrs[a.Place] = *(*unsafe.Pointer)(p)
			touch(r.Ptrs[a.Place])
		case Unsafe:
			r.Ptrs[a.Place] = *(*unsafe.Pointer)(p)
		case String:
			r.Ptrs[a.Place], _ = f.copy(*(*string)(p))
		case Bytes:
			r.Ptrs[a.Place], r.Words[a.Place+1] = f.copyBytes(*(*[]byte)(p))
		case Error:
			r.Ptrs[a.Place] = f.copyError((*error)(p))
		}
	}
}

// FillValues is Fill for values in interfaces, which fit args; words holds the
// scalars among them.
func (f *Frame) FillValues(args []Arg, words *[call.MaxArgs]uint64, values []any) {
	r := &f.Registers
	for i, a := range args {
		v := values[i]
		switch a.Op {
		case String:
			str, ok := v.(string)
			if !ok {
				str = reflect.ValueOf(v).String()
			}
			r.Ptrs[a.Place], _ = f.copy(str)
		case Bytes:
			b, ok := v.([]byte)
			if !ok {
				b = reflect.ValueOf(v).Bytes()
			}
			r.Ptrs[a.Place], r.Words[a.Place+1] = f.copyBytes(b)
		case Error:
			e, _ := v.(error)
			r.Ptrs[a.Place] = f.copyError(&e)
		case Pointer:
			r.Words[a.Place] = words[i] // of a uintptr
			r.Ptrs[a.Place] = pointerIn(v)
		default:
			r.Words[a.Place] = words[i]
		}
	}
}

// Release ends the life of the copies.
func (f *Frame) Release() {
	if f.far != nil {
		f.far.bytes = f.far.bytes[:0]
		scratchPool.Put(f.far)
	}
}

// A scratch is memory for long texts. It grows to what the fires of a program
// need, at most to twice twelve texts of MaxString.
type scratch struct{ bytes []byte }

var scratchPool = sync.Pool{New: func() any { return &scratch{bytes: make([]byte, 0, 2*MaxString)} }}

// copy copies a text to where a tracer can read it: NUL-terminated, in memory
// that is surely present. It returns the address of the copy and its length
// without the NUL.
func (f *Frame) copy(s string) (unsafe.Pointer, uint64) {
	if len(s) < len(f.near)-f.used {
		to := f.near[f.used:]
		f.used += copy(to, s) + 1 // the NUL is there: near was zeroed
		// A frame that refers to itself would have to live on the heap,
		// thinks the compiler.
		return NoEscape(unsafe.Pointer(&to[0])), uint64(len(s))
	}
	return f.copyFar(s)
}

//go:noinline
func (f *Frame) copyFar(s string) (unsafe.Pointer, uint64) {
	if f.far == nil {
		f.far = scratchPool.Get().(*scratch)
	}
	b := f.far.bytes
	n := min(len(s), MaxString-1)
	if cap(b)-len(b) < n+1 {
		// The copies made so far stay where they are: the registers have
		// their addresses.
		b = make([]byte, 0, max(2*cap(b), n+1))
	}
	at := len(b)
	b = append(append(b, s[:n]...), 0)
	f.far.bytes = b
	return unsafe.Pointer(&b[at]), uint64(n)
}

// copyBytes is copy for bytes.
func (f *Frame) copyBytes(b []byte) (unsafe.Pointer, uint64) {
	return f.copy(unsafe.String(unsafe.SliceData(b), len(b)))
}

// copyError is copy for the text of an error, nil for a nil error.
func (f *Frame) copyError(e *error) unsafe.Pointer {
	if *e == nil {
		return nil
	}
	p, _ := f.copy(errorText(*e))
	return p
}

// pointerIn returns the pointer in a value, nil for others, and touches what
// it leads to, unless that is anything.
func pointerIn(v any) unsafe.Pointer {
	if v == nil {
		return nil
	}
	switch t := reflect.TypeOf(v); t.Kind() {
	case reflect.Pointer:
		p := reflect.ValueOf(v).UnsafePointer()
		if t.Elem().Size() > 0 {
			touch(p)
		}
		return p
	case reflect.UnsafePointer:
		return reflect.ValueOf(v).UnsafePointer()
	}
	return nil
}

// touch reads the first byte behind a pointer, so that its page is present: a
// BPF program that may not sleep reads nothing from a page that was never
// used. The program may be changing the byte: its value is nothing to us, so that
// is no race.
//
// The pointer may lead to memory that is gone, such as a mapping of C or a file
// that was cut: a program that does not follow it runs well, and shall do so
// while it is traced. So a fault is no end of it.
func touch(p unsafe.Pointer) {
	if p == nil {
		return
	}
	old := debug.SetPanicOnFault(true)
	defer func() {
		_ = recover()
		debug.SetPanicOnFault(old)
	}()
	load(p)
}

//go:noinline
//go:norace
func load(p unsafe.Pointer) byte { return *(*byte)(p) }

// NoEscape hides a pointer from escape analysis: the addresses of arguments go
// to the slow path of a fire and no further, and nothing that the caller passes
// may be forced to the heap for the sake of a tracer that is not there. What that
// path does with them, and why it is sound, stands above.
//
//go:nosplit
func NoEscape(p unsafe.Pointer) unsafe.Pointer {
	x := uintptr(p)
	return *(*unsafe.Pointer)(unsafe.Pointer(&x))
}
