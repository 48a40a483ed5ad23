// Package image gives a fabricated object a file and maps it, so that its
// sites can be entered and the kernel can find them: a uprobe is a file and
// an offset.
//
// It may not know of probes, notes or argument types: an object is bytes with
// two extents.
//
// # Life of an image
//
// Open backs the object and maps it. Close, called when no handle leads to a
// site any more, takes the object away from the world: the file goes and the
// mapped pages are replaced, in place and in one step each, by private copies
// of what the file held. A goroutine that was about to enter a site, and does
// so late, executes the same harmless instructions. The addresses themselves
// are given back when the garbage collector finds that nobody can reach the
// Image: whoever uses an address of At keeps the Image alive meanwhile.
package image

import (
	"strings"

	"github.com/nopfire/nopfire/elfgen"
)

// A Kind is a kind of backing.
type Kind uint8

// The kinds of backing.
const (
	// Memfd is a sealed anonymous file named "nopfire:PROVIDER".
	Memfd Kind = iota
	// File is a named file of this process, removed on Close.
	File
	// Shared is a file whose name is derived from its content, which all
	// processes with the same object share. It stays.
	Shared
	// Unlinked is a file without a name on a disk or tmpfs: what is left
	// where the kernel refuses executable memfds. It cannot be asked for.
	Unlinked
)

// String returns the name of the kind.
func (k Kind) String() string {
	switch k {
	case Memfd:
		return "memfd"
	case File:
		return "file"
	case Shared:
		return "shared file"
	case Unlinked:
		return "unlinked file"
	}
	return "unknown backing"
}

// Options say how to back an object.
type Options struct {
	// Kind is the wanted kind. If it cannot be had, the object is backed by
	// a memfd, or an unlinked file, and Info says why.
	Kind Kind
	// Provider becomes part of the names.
	Provider string
	// Dir is the directory of File and Shared, which must exist; "" means
	// that of os.TempDir.
	Dir string
}

// Info says how an object is backed.
type Info struct {
	Kind Kind
	// Path is where a tracer finds the file: its name, or
	// /proc/PID/fd/N for one without, with the PID that the process has in
	// its own namespace.
	Path string
	// Reason is why the backing is not the wanted one, nil if it is.
	Reason error
}

// fileStem makes a provider name, which may hold '/' and what shells dislike,
// fit to start a file name. Different providers may share a stem: the rest of
// the name tells files apart.
func fileStem(provider string) string {
	stem := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-', r == '.':
			return r
		}
		return '_'
	}, provider)
	if strings.HasPrefix(stem, ".") {
		stem = "_" + stem[1:] // neither hidden nor "." nor ".."
	}
	return stem
}

// An extent of pages: what is mapped for an elfgen.Extent.
type pages struct {
	off int // file offset, page aligned
	len int // bytes, page aligned; 0 for none
}

// pagesOf returns the pages that hold the extent e.
func pagesOf(e elfgen.Extent, pageSize int) pages {
	if e.Len == 0 {
		return pages{}
	}
	start := e.Off &^ (pageSize - 1)
	end := (e.Off + e.Len + pageSize - 1) &^ (pageSize - 1)
	return pages{start, end - start}
}
