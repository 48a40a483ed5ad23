package emit

import (
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/internal/argument"
	"github.com/nopfire/nopfire/internal/call"
	"github.com/nopfire/nopfire/internal/image"
)

//go:generate go run ./internal/gen -o probes.go

// MaxString is the largest number of bytes that a string, []byte or error
// takes on the way to a tracer, its terminating NUL included. What is longer is
// cut. BPF programs read strings of fixed sizes below.
const MaxString = argument.MaxString

// ProbeOptions are the options of a probe. Nil means none.
type ProbeOptions struct {
	// Args are the names of the arguments, C identifiers, as many as the
	// probe has; nil means arg1, arg2 …
	Args []string
	// Semaphore adds a semaphore for tracers that insist on one. A tracer
	// that does not use the semaphore of a probe that has one cannot
	// attach to it together with a tracer that does, and Fire costs a call
	// more while nobody traces.
	Semaphore bool
}

// A probe is what all handles have inside: the untyped part.
type probe struct {
	// site is where to fire, nil while the handle is inert.
	site atomic.Pointer[site]

	// What follows is set before the handle is returned and not changed.

	provider *Provider
	spec     elfgen.ProbeSpec
	args     []argument.Arg

	object *object // guarded by provider.mu; nil if not loaded
}

// A site is a loaded probe. It is immutable, and it keeps the mapping that its
// addresses lie in: whoever uses one of them holds the site meanwhile.
type site struct {
	// word is the site's own code, and want what it holds while there is
	// nothing to do; the two together decide the fast path. A probe with a
	// semaphore always leaves the fast path: its want is what the word never
	// holds.
	word *uint64
	want uint64

	pristine uint64  // the word's content while nobody traces
	sem      *uint16 // nil if the probe has none
	entry    uintptr
	args     []argument.Arg
	image    *image.Image
}

func (s *site) init(c *probe, im *image.Image, at *elfgen.Site) {
	*s = site{
		word:     (*uint64)(im.At(at.Word)),
		want:     at.Pristine,
		pristine: at.Pristine,
		entry:    uintptr(im.At(at.Entry)),
		args:     c.args,
		image:    im,
	}
	if at.Semaphore != 0 {
		s.sem = (*uint16)(im.At(at.Semaphore))
		// A patch changes some bytes of the word, never all of them.
		s.want = ^at.Pristine
	}
}

// fast calls f with the site if there may be something to do. It is the fast
// path of every handle, and its form is owed to the compiler's inliner, which
// counts a call of a function parameter as cheap (inlineParamCallCost) and
// then, after inlining, finds that the parameter is a known function. A plain
// "if" with a call in each handle would be too complex to be inlined.
//
// That f takes s keeps the site, hence the mapping, alive while the word is
// read.
func (c *probe) fast(f func(*site)) {
	if s := c.site.Load(); s != nil && atomic.LoadUint64(s.word) != s.want {
		f(s)
	}
}

// fire is the slow path of all typed handles. It is called when the fast path
// says that there may be something to do; args are the addresses of the
// arguments.
func (s *site) fire(args []unsafe.Pointer) {
	if !s.traced() {
		return
	}
	var f argument.Frame
	f.Fill(s.args, args)
	// Not in a function of its own: behind a system call the processor has
	// forgotten where calls return to, and each return that is saved here
	// is a misprediction less.
	call.Site(s.entry, &f.Registers)
	runtime.KeepAlive(s)
	f.Release()
}

// enabled reports whether somebody traces the probe.
func (c *probe) enabled() (on bool) {
	c.fast(func(s *site) { on = s.traced() })
	return on
}

// traced is the exact answer, behind the fast path.
//
//go:noinline
func (s *site) traced() bool {
	return atomic.LoadUint64(s.word) != s.pristine || s.sem != nil && *s.sem != 0
}

// remove makes the handle inert for good.
func (c *probe) remove() {
	if c.provider != nil {
		c.provider.remove(c)
	}
}

// define describes the arguments of a typed handle, by their types, and
// registers it.
func (c *probe) define(p *Provider, name string, o *ProbeOptions, types ...argument.Type) error {
	if o == nil {
		o = &ProbeOptions{}
	}
	c.spec = elfgen.ProbeSpec{Name: name, Semaphore: o.Semaphore}
	if o.Args != nil && len(o.Args) != len(types) {
		return specError(p.Name(), name, -1, "", "%d names for %d arguments", len(o.Args), len(types))
	}
	for i, t := range types {
		argName := ""
		if o.Args != nil {
			argName = o.Args[i]
		}
		if t.Reason != "" {
			return specError(p.Name(), name, i, argName, "%s", t.Reason)
		}
		c.addArg(argName, t)
	}
	return p.define(c)
}

// addArg appends an argument to the probe.
func (c *probe) addArg(name string, t argument.Type) {
	place := 0
	if n := len(c.args); n > 0 {
		place = c.args[n-1].Place + c.args[n-1].Op.Places()
	}
	c.spec.Args = append(c.spec.Args, elfgen.ArgSpec{Name: name, Type: t.Meta})
	c.args = append(c.args, argument.Arg{Op: t.Op, Place: place})
}
