package emit

import (
	"math/bits"
	"runtime"
	"sync"
	"unsafe"

	"github.com/nopfire/nopfire/emit/internal/call"
)

// The slow path: from typed arguments to registers.
//
// The arguments arrive as addresses of the variables of the caller's frame,
// hidden from escape analysis (noescape). That is sound because nothing here
// keeps an address beyond the call, because every address stays in a variable
// of pointer type, which the runtime adjusts when it moves the stack, until
// call.Site, which cannot be interrupted by such a move, has them in
// registers; and because an Error method, which could keep its receiver, is
// never given one on the stack (errtext.go).

// MaxString is the largest number of bytes that a string, []byte or error
// takes on the way to a tracer, its terminating NUL included. What is longer is
// cut. BPF programs read strings of fixed sizes well below.
const MaxString = 4096

// An op says how an argument travels.
type op uint8

const (
	opInt8 op = iota + 1
	opInt16
	opInt32
	opInt64
	opUint8
	opUint16
	opUint32
	opUint64 // uint, uintptr, float64's bits: all words
	opString
	opBytes
	opError
	opPointer // its target is touched
	opUnsafe  // unsafe.Pointer: may lead anywhere
)

// places returns the number of registers that the argument takes.
func (o op) places() int {
	if o == opBytes {
		return 2
	}
	return 1
}

// The ops of int and of uint and uintptr: the size of a word. Where that is
// four bytes nothing fires, but the definitions are checked all the same.
const (
	opInt  = opInt32 + op(bits.UintSize/64)
	opUint = opUint32 + op(bits.UintSize/64)
)

// An arg is one argument of a probe.
type arg struct {
	op    op
	place int // its first register
}

// fire is the slow path of all typed handles. It is called when the fast path
// says that there may be something to do; args are the addresses of the
// arguments.
func (s *site) fire(args []unsafe.Pointer) {
	if !s.traced() {
		return
	}
	var f call.Frame
	var texts copier
	for i, a := range s.args {
		p := args[i]
		switch a.op {
		case opInt8:
			f.Words[a.place] = uint64(*(*int8)(p))
		case opInt16:
			f.Words[a.place] = uint64(*(*int16)(p))
		case opInt32:
			f.Words[a.place] = uint64(*(*int32)(p))
		case opInt64, opUint64:
			f.Words[a.place] = *(*uint64)(p)
		case opUint8:
			f.Words[a.place] = uint64(*(*uint8)(p))
		case opUint16:
			f.Words[a.place] = uint64(*(*uint16)(p))
		case opUint32:
			f.Words[a.place] = uint64(*(*uint32)(p))
		case opPointer:
			f.Ptrs[a.place] = *(*unsafe.Pointer)(p)
			touch(f.Ptrs[a.place])
		case opUnsafe:
			f.Ptrs[a.place] = *(*unsafe.Pointer)(p)
		case opString:
			f.Ptrs[a.place], _ = texts.copy(*(*string)(p))
		case opBytes:
			f.Ptrs[a.place], f.Words[a.place+1] = texts.copyBytes(*(*[]byte)(p))
		case opError:
			f.Ptrs[a.place] = texts.copyError((*error)(p))
		}
	}
	// Not in a function of its own: behind a system call the processor has
	// forgotten where calls return to, and each return that is saved here
	// is a misprediction less.
	call.Site(s.entry, &f)
	runtime.KeepAlive(s)
	texts.release()
}

// A copier copies the texts of one fire to where a tracer can read them:
// NUL-terminated, in memory that is surely present.
type copier struct {
	// near takes the first texts, as long as there is room: it lies on the
	// stack, whose cache lines are warm after a visit of the kernel.
	near [256]byte
	used int      // bytes of near
	far  *scratch // takes the others; nil before the first
}

// A scratch is memory for long texts. It grows to what the fires of a program
// need, at most to twice twelve texts of MaxString.
type scratch struct{ bytes []byte }

var scratchPool = sync.Pool{New: func() any { return &scratch{bytes: make([]byte, 0, 2*MaxString)} }}

// copy returns the address of the copy and its length without the NUL.
func (c *copier) copy(s string) (unsafe.Pointer, uint64) {
	if len(s) < len(c.near)-c.used {
		to := c.near[c.used:]
		c.used += copy(to, s) + 1 // the NUL is there: near was zeroed
		return unsafe.Pointer(&to[0]), uint64(len(s))
	}
	return c.copyFar(s)
}

//go:noinline
func (c *copier) copyFar(s string) (unsafe.Pointer, uint64) {
	if c.far == nil {
		c.far = scratchPool.Get().(*scratch)
	}
	b := c.far.bytes
	n := min(len(s), MaxString-1)
	if cap(b)-len(b) < n+1 {
		// The copies made so far stay where they are: the frame has
		// their addresses.
		b = make([]byte, 0, max(2*cap(b), n+1))
	}
	at := len(b)
	b = append(append(b, s[:n]...), 0)
	c.far.bytes = b
	return unsafe.Pointer(&b[at]), uint64(n)
}

// copyBytes is copy for bytes.
func (c *copier) copyBytes(b []byte) (unsafe.Pointer, uint64) {
	return c.copy(unsafe.String(unsafe.SliceData(b), len(b)))
}

// copyError is copy for the text of an error, nil for a nil error.
func (c *copier) copyError(e *error) unsafe.Pointer {
	if *e == nil {
		return nil
	}
	p, _ := c.copy(errorText(*e))
	return p
}

// release ends the life of the copies.
func (c *copier) release() {
	if c.far != nil {
		c.far.bytes = c.far.bytes[:0]
		scratchPool.Put(c.far)
	}
}

// touch reads the first byte behind a pointer, so that its page is present: a
// BPF program that may not sleep reads nothing from a page that was never
// used.
//
//go:noinline
func touch(p unsafe.Pointer) byte {
	if p == nil {
		return 0
	}
	return *(*byte)(p)
}
