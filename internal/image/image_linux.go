//go:build amd64 || arm64

package image

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"unsafe"

	"github.com/nopfire/nopfire/elfgen"
)

// An Image is a mapped object. See the package comment for its life. Its
// methods are safe for concurrent use.
type Image struct {
	m     *mapping
	lease *lease
	info  Info
}

// A lease is the claim of one Image on its mapping, apart from the Image so
// that the cleanup of the Image can refer to it.
type lease struct {
	m      *mapping
	closed bool // guarded by m.mu
}

// Open backs the object in the wanted way, or in the next one that works, and
// maps it. The caller closes the Image; one that is forgotten is closed when
// the garbage collector finds it.
func Open(obj *elfgen.Object, o Options) (*Image, error) {
	if len(obj.Image) == 0 || obj.Text.Len == 0 {
		return nil, errors.New("map object: no text")
	}
	if o.Dir == "" {
		o.Dir = os.TempDir()
	}
	// The name must hold when the program changes its directory.
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("map object: directory %q: %w", o.Dir, err)
	}
	o.Dir = dir
	var reasons []error
	for _, k := range plan(o.Kind) {
		m, err := openMapping(k, obj, o)
		if err != nil {
			reasons = append(reasons, fmt.Errorf("%s: %w", k, err))
			continue
		}
		return newImage(m, k, errors.Join(reasons...)), nil
	}
	return nil, fmt.Errorf("back object of provider %q: %w", o.Provider, errors.Join(reasons...))
}

func newImage(m *mapping, k Kind, reason error) *Image {
	im := &Image{m: m, lease: &lease{m: m}}
	im.info = Info{Kind: k, Path: m.file.path(), Reason: reason}
	runtime.AddCleanup(im, (*lease).release, im.lease)
	return im
}

// plan lists the kinds to try. Each fall-back is less visible or less tidy
// than the one before, none is less correct.
func plan(wanted Kind) []Kind {
	switch wanted {
	case File, Shared:
		return []Kind{wanted, Memfd, Unlinked}
	}
	return []Kind{Memfd, Unlinked}
}

func openMapping(k Kind, obj *elfgen.Object, o Options) (*mapping, error) {
	switch k {
	case File:
		return openNamed(obj, o)
	case Shared:
		return openShared(obj, o)
	case Unlinked:
		return openUnlinked(obj)
	}
	return openMemfd(obj, o.Provider)
}

// Info says how the object is backed.
func (im *Image) Info() Info { return im.info }

// At returns the address of a file offset inside of the object's text or
// semaphores, nil for any other. It is valid as long as im is reachable.
func (im *Image) At(off int) unsafe.Pointer { return im.m.at(off) }

// Close takes the object away, see the package comment. Handles that lead to
// its sites must be inert before. Closing again does nothing.
func (im *Image) Close() error {
	err := im.lease.close()
	runtime.KeepAlive(im)
	return err
}

func (l *lease) close() error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	return l.closeLocked()
}

func (l *lease) closeLocked() error {
	if l.closed {
		return nil
	}
	l.closed = true
	if l.m.open--; l.m.open > 0 {
		return nil
	}
	return l.m.retire()
}

// release gives the addresses back. It runs when the Image is unreachable, so
// nobody is in a site or on the way there.
func (l *lease) release() {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	// Nobody is left to hear of an error, and a file that could not be
	// removed is swept by the next process.
	_ = l.closeLocked()
	if l.m.refs--; l.m.refs == 0 {
		l.m.unmap()
	}
}
