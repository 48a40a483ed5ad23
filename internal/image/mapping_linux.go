//go:build amd64 || arm64

package image

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/internal/sys"
)

// A mapping is an object in the address space: one private r-x mapping of the
// text and one private rw- mapping of the semaphores, and no more. A second
// mapping of the same inode would split the semaphore's count, shared or
// writable text and shared or read-only semaphores make the kernel skip the
// process without a word (valid_vma and valid_ref_ctr_vma,
// kernel/events/uprobes.c).
type mapping struct {
	file       *file
	text, sems segment
	mu         sync.Locker // guards what follows; the registry's for shared files
	refs       int         // leases that may still use the addresses
	open       int         // leases that are not closed
	retired    bool        // counted in retired
	unregister func()      // takes the mapping off the registry; nil for private ones
}

// A segment is a mapped part of the file.
type segment struct {
	pages
	addr unsafe.Pointer
	prot int
}

// mapOrClose maps the object in f, which then belongs to the mapping.
func mapOrClose(f *file, obj *elfgen.Object) (*mapping, error) {
	size := os.Getpagesize()
	m := &mapping{
		file: f,
		mu:   new(sync.Mutex),
		refs: 1,
		open: 1,
		text: segment{pages: pagesOf(obj.Text, size), prot: syscall.PROT_READ | syscall.PROT_EXEC},
		sems: segment{pages: pagesOf(obj.Semaphores, size), prot: syscall.PROT_READ | syscall.PROT_WRITE},
	}
	if err := m.text.mapFile(f.fd); err != nil {
		f.close()
		return nil, fmt.Errorf("map text: %w", err)
	}
	if err := m.sems.mapFile(f.fd); err != nil {
		m.unmap()
		f.close()
		return nil, fmt.Errorf("map semaphores: %w", err)
	}
	return m, nil
}

func (s *segment) mapFile(fd int) (err error) {
	if s.len == 0 {
		return nil
	}
	s.addr, err = sys.Mmap(s.len, s.prot, syscall.MAP_PRIVATE, fd, int64(s.off))
	return err
}

// at returns the address of a file offset, nil if it is not mapped.
func (m *mapping) at(off int) unsafe.Pointer {
	for _, s := range []*segment{&m.text, &m.sems} {
		if s.addr != nil && off >= s.off && off < s.off+s.len {
			return unsafe.Add(s.addr, off-s.off)
		}
	}
	return nil
}

// retired counts the mappings that are closed and not given back.
var retired atomic.Int64

// maxRetired bounds them: each costs one or two of the process's 65530
// mappings (vm.max_map_count), and a program that loads and closes in a loop
// need not make the garbage that would run the collector.
const maxRetired = 4096

// retire closes the file and puts private copies in the place of its pages.
// The mapping leaves the world of the tracers with it: the kernel drops its
// breakpoints together with the pages. m.mu is held.
func (m *mapping) retire() error {
	if m.unregister != nil {
		m.unregister()
	}
	// Where the copies cannot be had (a policy against executable anonymous
	// memory, no memory) the file's own pages stay until nobody can reach
	// them. That is as safe, only visible for longer.
	if m.text.replace(m.file.fd) == nil {
		_ = m.sems.replace(m.file.fd)
	}
	m.retired = true
	if n := retired.Add(1); n%maxRetired == 0 {
		runtime.GC()
	}
	return m.file.close()
}

// replace exchanges a segment for an anonymous copy of the file's content. The
// copy is prepared elsewhere and moved over the segment: there is no moment
// without valid code, as there would be with MAP_FIXED.
func (s *segment) replace(fd int) error {
	if s.len == 0 {
		return nil
	}
	st, err := sys.Fstat(fd)
	if err != nil {
		return err
	}
	anon, err := sys.Mmap(s.len, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON, -1, 0)
	if err != nil {
		return err
	}
	// From the file, not from the mapping: that one may hold breakpoints.
	n := min(s.len, max(0, int(st.Size)-s.off))
	err = sys.ReadFull(fd, unsafe.Slice((*byte)(anon), n), int64(s.off))
	if err == nil {
		err = sys.Mprotect(anon, s.len, s.prot)
	}
	if err == nil {
		err = sys.MoveOver(anon, s.addr, s.len)
	}
	if err != nil {
		_ = sys.Munmap(anon, s.len) // ours, private and unused: cannot fail
	}
	return err
}

// unmap gives the addresses back. Munmap of our own whole mappings fails only
// when the kernel is out of memory; then they stay, and nobody is hurt.
func (m *mapping) unmap() {
	for _, s := range []*segment{&m.text, &m.sems} {
		if s.addr != nil {
			_ = sys.Munmap(s.addr, s.len)
			s.addr = nil
		}
	}
	if m.retired {
		retired.Add(-1)
	}
}
