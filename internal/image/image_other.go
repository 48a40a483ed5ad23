//go:build !linux || !(amd64 || arm64)

package image

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/internal/sys"
)

// An Image is a mapped object. On this platform there is none.
type Image struct{}

// Open fails on this platform.
func Open(obj *elfgen.Object, o Options) (*Image, error) {
	return nil, fmt.Errorf("map object on %s/%s: %w", runtime.GOOS, runtime.GOARCH, sys.ErrNotSupported)
}

// OpenFile fails on this platform.
func OpenFile(obj *elfgen.Object, path string, create bool) (*Image, error) {
	return Open(obj, Options{})
}

// Verify fails on this platform.
func Verify(path string, content []byte) error {
	return fmt.Errorf("verify %s on %s/%s: %w", path, runtime.GOOS, runtime.GOARCH, sys.ErrNotSupported)
}

// Info returns nothing.
func (im *Image) Info() Info { return Info{} }

// At returns nil.
func (im *Image) At(off int) unsafe.Pointer { return nil }

// Close does nothing.
func (im *Image) Close() error { return nil }
