package urdt

import (
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/nopfire/nopfire/internal/argument"
	"github.com/nopfire/nopfire/internal/call"
	"github.com/nopfire/nopfire/urdt/abi"
)

// MaxString is the largest number of bytes that a string or error takes on the
// way to a tracer, its terminating NUL included. What is longer is cut.
const MaxString = argument.MaxString

// A handle is what all handles have inside: the untyped part. It is set when it
// is made and not changed; the zero value is inert.
type handle struct {
	// word is the first word of the site, nil while there is none.
	word   *uint64
	hashes uint64
	args   []argument.Arg
	object *object // that word lies in
}

// define makes the handle of a name. Without an object it stays inert, which is
// no error.
func (h *handle) define(provider, name string, types ...argument.Type) error {
	sig, err := newSignature(provider, name, types)
	if err != nil {
		return err
	}
	if err := register(sig); err != nil {
		return err
	}
	for i, t := range types {
		h.args = append(h.args, argument.Arg{Op: t.Op, Place: place(i + 1)})
	}
	h.hashes = sig.hashes
	if o := opened(); o.image != nil {
		h.object = o
		h.word = o.site(len(types), uint32(h.hashes))
	}
	return nil
}

// fast calls f if there may be something to do. Its form is owed to the
// compiler's inliner: see package emit.
func (h *handle) fast(f func(*handle)) {
	if h.word != nil && atomic.LoadUint64(h.word) != pristine {
		f(h)
	}
}

// enabled reports whether somebody traces the site.
func (h *handle) enabled() (on bool) {
	h.fast(func(*handle) { on = true })
	return on
}

// fire is the slow path of all typed handles; at are the addresses of the
// arguments.
func (h *handle) fire(at []unsafe.Pointer) {
	var f argument.Frame
	f.Fill(h.args, at)
	f.Registers.Words[hashPlace] = h.hashes
	call.Site(uintptr(unsafe.Pointer(h.word)), &f.Registers)
	runtime.KeepAlive(h)
	f.Release()
}

// fireName is the slow path of the functions that take strings: word is the
// site of the name, ops are the ways of the arguments, at their addresses.
func fireName(word *uint64, provider, name string, ops []argument.Op, at []unsafe.Pointer) {
	var args [abi.MaxArgs]argument.Arg
	for i, op := range ops {
		if op == argument.Bytes {
			op = 0 // which Fill leaves out
		}
		args[i] = argument.Arg{Op: op, Place: place(i + 1)}
	}
	var f argument.Frame
	f.Fill(args[:len(ops)], at)
	f.Registers.Words[hashPlace] = abi.Hashes(provider, name)
	call.Site(uintptr(unsafe.Pointer(word)), &f.Registers)
	f.Release()
}

// tracedSite returns the site of a name, nil if nobody traces it.
//
//go:noinline
func tracedSite(n int, provider, name string) *uint64 {
	word := opened().site(n, abi.Hash(provider, name))
	if atomic.LoadUint64(word) == pristine {
		return nil
	}
	return word
}

// arity returns the sites of an arity.
func arity(n int) *sites { return (*object)(atomic.LoadPointer(&current)).sites[n] }

// patched returns something other than 0 if one of the four sites from number
// i on is patched, or nothing is open yet. The functions that take names look
// at all sixteen before anything else: the hash, which would tell which one
// counts, takes longer. Four at a time is what the compiler inlines.
func patched(s *sites, i int) uint64 {
	// In Go ^ and | are of one precedence.
	return (atomic.LoadUint64(&s[i][0]) ^ pristine) | (atomic.LoadUint64(&s[i+1][0]) ^ pristine) |
		(atomic.LoadUint64(&s[i+2][0]) ^ pristine) | (atomic.LoadUint64(&s[i+3][0]) ^ pristine)
}

// Enabled reports whether somebody traces the site of a name with nargs
// arguments: the name itself, or one of those that share its site.
func Enabled(provider, name string, nargs int) bool {
	if nargs < 0 || nargs > abi.MaxArgs {
		return false
	}
	s := arity(nargs)
	return patched(s, 0)|patched(s, 4)|patched(s, 8)|patched(s, 12) != 0 && tracedSite(nargs, provider, name) != nil
}
