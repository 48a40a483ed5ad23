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

// fireName is the slow path of the functions that take strings: ops are the ways
// of the arguments, at their addresses.
func fireName(provider, name string, ops []argument.Op, at []unsafe.Pointer) {
	o := current.Load()
	word := o.site(len(ops), abi.Hash(provider, name))
	if atomic.LoadUint64(word) == pristine {
		return // another name of this arity is traced
	}
	var args [abi.MaxArgs]argument.Arg
	for i, op := range ops {
		if op == argument.Bytes {
			op = 0
		}
		args[i] = argument.Arg{Op: op, Place: place(i + 1)}
	}
	var f argument.Frame
	f.Fill(args[:len(ops)], at)
	f.Registers.Words[hashPlace] = abi.Hashes(provider, name)
	call.Site(uintptr(unsafe.Pointer(word)), &f.Registers)
	runtime.KeepAlive(o)
	f.Release()
}

// ifTraced calls f if somebody traces a name with n arguments. Like fast, it
// has the form that the inliner likes.
func ifTraced(n int, f func()) {
	if arityTraced(n) {
		f()
	}
}

// arityTraced reports whether a site of the arity is patched. It looks at all
// of them: the hash of the name, which would tell which one counts, takes longer.
//
//go:noinline
func arityTraced(n int) bool {
	o := current.Load()
	if o == nil {
		o = opened()
	}
	s := o.sites[n]
	changed := (atomic.LoadUint64(&s[0][0]) ^ pristine) | (atomic.LoadUint64(&s[1][0]) ^ pristine) |
		(atomic.LoadUint64(&s[2][0]) ^ pristine) | (atomic.LoadUint64(&s[3][0]) ^ pristine)
	changed |= (atomic.LoadUint64(&s[4][0]) ^ pristine) | (atomic.LoadUint64(&s[5][0]) ^ pristine) |
		(atomic.LoadUint64(&s[6][0]) ^ pristine) | (atomic.LoadUint64(&s[7][0]) ^ pristine)
	changed |= (atomic.LoadUint64(&s[8][0]) ^ pristine) | (atomic.LoadUint64(&s[9][0]) ^ pristine) |
		(atomic.LoadUint64(&s[10][0]) ^ pristine) | (atomic.LoadUint64(&s[11][0]) ^ pristine)
	changed |= (atomic.LoadUint64(&s[12][0]) ^ pristine) | (atomic.LoadUint64(&s[13][0]) ^ pristine) |
		(atomic.LoadUint64(&s[14][0]) ^ pristine) | (atomic.LoadUint64(&s[15][0]) ^ pristine)
	return changed != 0
}

// Enabled reports whether somebody traces the site of a name with nargs
// arguments: the name itself, or one of those that share its site.
func Enabled(provider, name string, nargs int) bool {
	if nargs < 0 || nargs > abi.MaxArgs || !arityTraced(nargs) {
		return false
	}
	return atomic.LoadUint64(current.Load().site(nargs, abi.Hash(provider, name))) != pristine
}
