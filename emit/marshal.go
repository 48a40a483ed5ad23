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

// isText reports whether the argument travels as a copy of bytes.
func (o op) isText() bool { return o == opString || o == opBytes || o == opError }

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
	c := s.probe
	for i, a := range c.args {
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
		}
	}
	if c.texts == 0 {
		s.enter(&f)
		return
	}
	var texts [call.MaxArgs]text
	for i, a := range c.args {
		p := args[i]
		switch a.op {
		case opString:
			texts[i] = text{*(*string)(p), false}
		case opBytes:
			b := *(*[]byte)(p)
			texts[i] = text{unsafe.String(unsafe.SliceData(b), len(b)), false}
		case opError:
			texts[i] = errorText((*error)(p))
		}
	}
	s.enterTexts(&f, &texts)
}

// A text is an argument that is copied, or NULL.
type text struct {
	string
	null bool
}

// enter calls the site.
func (s *site) enter(f *call.Frame) {
	call.Site(s.entry, f)
	runtime.KeepAlive(s)
}

// enterTexts copies the texts to where a tracer can read them, NUL-terminated
// and in memory that is surely present, and calls the site.
func (s *site) enterTexts(f *call.Frame, texts *[call.MaxArgs]text) {
	args := s.probe.args
	size := 0
	for i, a := range args {
		if a.op.isText() && !texts[i].null {
			size += min(len(texts[i].string), MaxString-1) + 1
		}
	}
	buf := getScratch(size)
	b := buf.bytes[:size]
	for i, a := range args {
		if !a.op.isText() || texts[i].null {
			continue
		}
		n := copy(b[:min(len(texts[i].string), MaxString-1)], texts[i].string)
		b[n] = 0
		f.Ptrs[a.place] = unsafe.Pointer(&b[0])
		if a.op == opBytes {
			f.Words[a.place+1] = uint64(n)
		}
		b = b[n+1:]
	}
	s.enter(f)
	scratchPool.Put(buf)
}

// A scratch holds the copied texts of one fire.
type scratch struct{ bytes []byte }

var scratchPool sync.Pool

// getScratch returns a scratch of at least size bytes, which is at most twelve
// times MaxString.
func getScratch(size int) *scratch {
	buf, _ := scratchPool.Get().(*scratch)
	if buf == nil {
		buf = new(scratch)
	}
	if len(buf.bytes) < size {
		n := 512
		for n < size {
			n *= 2
		}
		buf.bytes = make([]byte, n)
	}
	return buf
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
