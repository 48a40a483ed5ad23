package urdt

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/internal/image"
	"github.com/nopfire/nopfire/urdt/abi"
)

// siteWords is the distance of two sites, in words.
const siteWords = 4

// A sites is the sixteen sites of an arity as they lie in the text; the first
// word of each tells whether it is patched.
type sites [abi.Shards][siteWords]uint64

// An object is the opened liburdt.so.1. It stays until the process ends: there
// is nothing that could close it while handles and calls lead into it, and
// current keeps it reachable.
type object struct {
	image  *image.Image // nil for the inert object
	sites  [abi.MaxArgs + 1]*sites
	status Status
}

// site returns the first word of a site, which is where a fire enters it.
func (o *object) site(nargs int, hash uint32) *uint64 {
	return &o.sites[nargs][abi.Shard(hash, abi.Shards)][0]
}

// current is the *object in use. It is never nil, so that the functions that
// take strings need not look: before the first use it is unopened, whose sites
// are never pristine, so that they leave the fast path. (An atomic.Pointer
// cannot be set without work at the start of the program.)
var current = unsafe.Pointer(&unopened)

var (
	unopened = object{sites: [...]*sites{
		&blank, &blank, &blank, &blank, &blank, &blank, &blank, &blank, &blank, &blank, &blank, &blank,
	}}
	blank sites
)

// opening is held by whoever opens the object.
var opening sync.Mutex

// opened returns the object, and opens it if this is the first use. There
// always is one: where none can be had it is inert.
func opened() *object {
	if o := (*object)(atomic.LoadPointer(&current)); o != &unopened {
		return o
	}
	return openNow()
}

func openNow() *object {
	opening.Lock()
	defer opening.Unlock()
	o := (*object)(atomic.LoadPointer(&current))
	if o == &unopened {
		o = search()
		atomic.StorePointer(&current, unsafe.Pointer(o))
	}
	return o
}

// Use opens the object at path, instead of the one that a search would find; it
// must come before every other use of the package, or the answer is ErrInUse.
// A file that cannot be trusted is not used: the error says why, and the next
// use of the package searches as ever.
func Use(path string) error {
	opening.Lock()
	defer opening.Unlock()
	if atomic.LoadPointer(&current) != unsafe.Pointer(&unopened) {
		return useError(path, ErrInUse)
	}
	o, err := openAt(path)
	if err != nil {
		return useError(path, err)
	}
	atomic.StorePointer(&current, unsafe.Pointer(o))
	return nil
}

// inert returns an object whose sites are never traced.
func inert(reason error) *object {
	quiet := new(sites)
	for i := range quiet {
		quiet[i][0] = pristine
	}
	o := &object{status: Status{Reason: reason}}
	for n := range o.sites {
		o.sites[n] = quiet
	}
	return o
}

// newObject returns the object that is mapped as im.
func newObject(obj *elfgen.Object, im *image.Image) *object {
	o := &object{image: im}
	for n := range o.sites {
		o.sites[n] = (*sites)(im.At(obj.Sites[n*abi.Shards].Word))
	}
	return o
}
