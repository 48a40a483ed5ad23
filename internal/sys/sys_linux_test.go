//go:build amd64 || arm64

package sys

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"unsafe"
)

func TestParseRelease(t *testing.T) {
	for _, tt := range []struct {
		release      string
		major, minor int
	}{
		{"6.18.44-fc-v857", 6, 18},
		{"6.1.0-18-amd64", 6, 1},
		{"7.0-rc1", 7, 0},
		{"10.20", 10, 20},
		{"6", 6, 0},
		{"6-odd", 6, 0},
		{"", 0, 0},
		{"linux", 0, 0},
		{"99999999999999999999.1", 0, 0},
	} {
		if major, minor := parseRelease(tt.release); major != tt.major || minor != tt.minor {
			t.Errorf("parseRelease(%q) = %d, %d; want %d, %d", tt.release, major, minor, tt.major, tt.minor)
		}
	}
	if major, _ := KernelVersion(); major < 3 {
		t.Errorf("KernelVersion = %d.x: cannot be", major)
	}
}

func TestSeccompMode(t *testing.T) {
	for _, tt := range []struct{ name, status, mode string }{
		{"none", "NoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n", "0"},
		{"filter", "Name:\tSeccomp: 0\nSeccomp:\t2\nSeccomp_filters:\t1\n", "2"},
		{"only the count of filters", "Seccomp_filters:\t0\n", ""},
		{"kernel without seccomp", "Name:\tx\n", ""},
	} {
		if got := seccompMode([]byte(tt.status)); got != tt.mode {
			t.Errorf("%s: seccompMode = %q, want %q", tt.name, got, tt.mode)
		}
	}
}

func memfd(t *testing.T) int {
	t.Helper()
	fd, err := MemfdCreate("nopfire-test", MFD_CLOEXEC|MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	return fd
}

func TestMemfdSeals(t *testing.T) {
	fd := memfd(t)
	if err := WriteAll(fd, []byte("payload")); err != nil {
		t.Fatal(err)
	}
	const seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE
	if err := AddSeals(fd, seals); err != nil {
		t.Fatal(err)
	}
	if got, err := Seals(fd); err != nil || got != seals {
		t.Errorf("Seals = %#x, %v; want %#x", got, err, seals)
	}
	if err := WriteAll(fd, []byte("x")); !errors.Is(err, syscall.EPERM) {
		t.Errorf("write to a sealed memfd: %v, want EPERM", err)
	}
	b := make([]byte, 7)
	if err := ReadFull(fd, b, 0); err != nil || string(b) != "payload" {
		t.Errorf("ReadFull = %q, %v", b, err)
	}
	if err := ReadFull(fd, b, 1); !errors.Is(err, syscall.EIO) {
		t.Errorf("ReadFull past the end: %v, want EIO", err)
	}
	if _, err := MemfdCreate("nul\x00inside", 0); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("MemfdCreate with NUL: %v, want EINVAL", err)
	}
}

func TestMoveOver(t *testing.T) {
	n := os.Getpagesize()
	fd := memfd(t)
	if err := WriteAll(fd, bytes.Repeat([]byte{'f'}, n)); err != nil {
		t.Fatal(err)
	}
	file, err := Mmap(n, syscall.PROT_READ, syscall.MAP_PRIVATE, fd, 0)
	if err != nil {
		t.Fatal(err)
	}
	anon, err := Mmap(n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON, -1, 0)
	if err != nil {
		t.Fatal(err)
	}
	copy(unsafe.Slice((*byte)(anon), n), bytes.Repeat([]byte{'a'}, n))
	if err := Mprotect(anon, n, syscall.PROT_READ); err != nil {
		t.Fatal(err)
	}
	view := unsafe.Slice((*byte)(file), n)
	if view[0] != 'f' || view[n-1] != 'f' {
		t.Fatalf("file mapping holds %q", view[0])
	}
	if err := MoveOver(anon, file, n); err != nil {
		t.Fatal(err)
	}
	if view[0] != 'a' || view[n-1] != 'a' {
		t.Errorf("after MoveOver the old address holds %q, want 'a'", view[0])
	}
	if err := Munmap(file, n); err != nil {
		t.Error(err)
	}
	if err := MoveOver(file, file, n); err == nil {
		t.Error("MoveOver of nothing succeeded")
	}
}

func TestTmpfileLink(t *testing.T) {
	dir := t.TempDir()
	fd, err := OpenTmpfile(dir, 0o600)
	if errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.EISDIR) {
		t.Skipf("the filesystem of %s has no O_TMPFILE: %v", dir, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if err := WriteAll(fd, []byte("x")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "f")
	if err := Link(fd, path); err != nil {
		t.Fatal(err)
	}
	if err := Link(fd, path); !errors.Is(err, syscall.EEXIST) {
		t.Errorf("Link over an existing name: %v, want EEXIST", err)
	}
	if err := TryLock(fd); err != nil {
		t.Fatal(err)
	}
	other, err := Open(path, syscall.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(other)
	if err := TryLock(other); !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Errorf("second lock: %v, want EWOULDBLOCK", err)
	}
	a, err := Fstat(fd)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Fstat(other)
	if err != nil || ID(&a) != ID(&b) {
		t.Errorf("two descriptors of one file: %v and %v, %v", ID(&a), ID(&b), err)
	}
}

func TestOpenIsCautious(t *testing.T) {
	dir := t.TempDir()
	link, fifo := filepath.Join(dir, "link"), filepath.Join(dir, "fifo")
	if err := os.Symlink("/etc/passwd", link); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(link, syscall.O_RDONLY, 0); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("symbolic link: %v, want ELOOP", err)
	}
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := Open(fifo, syscall.O_RDONLY, 0) // would wait for a writer without O_NONBLOCK
	if err != nil {
		t.Fatal(err)
	}
	syscall.Close(fd)
}
