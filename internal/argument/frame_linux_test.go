//go:build amd64 || arm64

package argument

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"unsafe"
)

// A pointer to memory that is gone or never was costs nothing but its page: the
// program that holds it and does not follow it must not end because it is traced.
func TestTouchFaults(t *testing.T) {
	page := os.Getpagesize()
	mapping := func(prot, flags, fd int) []byte {
		t.Helper()
		b, err := syscall.Mmap(fd, 0, page, prot, flags)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := syscall.Munmap(b); err != nil {
				t.Error(err)
			}
		})
		return b
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "cut"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(int64(page)); err != nil {
		t.Fatal(err)
	}
	cut := mapping(syscall.PROT_READ, syscall.MAP_SHARED, int(f.Fd()))
	if err := f.Truncate(0); err != nil {
		t.Fatal(err)
	}
	closed := mapping(syscall.PROT_NONE, syscall.MAP_PRIVATE|syscall.MAP_ANON, -1)
	small := uintptr(8)
	for _, tt := range []struct {
		name string
		at   unsafe.Pointer
	}{
		{"nil", nil},
		{"close to nil", *(*unsafe.Pointer)(unsafe.Pointer(&small))},
		{"no access", unsafe.Pointer(unsafe.SliceData(closed))},
		{"a file that was cut", unsafe.Pointer(unsafe.SliceData(cut))},
		{"memory", unsafe.Pointer(&page)},
	} {
		t.Run(tt.name, func(t *testing.T) { touch(tt.at) }) // and goes on
	}
}

func BenchmarkTouch(b *testing.B) {
	x := new(int)
	b.ReportAllocs()
	for b.Loop() {
		touch(unsafe.Pointer(x))
	}
}
