package usdt

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nopfire/nopfire/internal/procmaps"
	"github.com/nopfire/nopfire/urdt/abi"
)

// A process may map its registry as often as it likes, and others beside it: each
// is read once, and their number is bounded.
func TestRegistriesAreBounded(t *testing.T) {
	const mappings = 50
	registry := func(name string) int {
		fd, err := unix.MemfdCreate(abi.RegistryFile, unix.MFD_CLOEXEC)
		if err != nil {
			t.Skip("no memfd:", err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		if _, err := unix.Write(fd, abi.AppendRegistration(nil, &abi.Registration{Provider: "bounded", Name: name})); err != nil {
			t.Fatal(err)
		}
		return fd
	}
	// Mappings side by side with equal rights would be one.
	mapIt := func(fd, i int) {
		p, err := syscall.Mmap(fd, 0, os.Getpagesize(), syscall.PROT_READ|i%2*syscall.PROT_WRITE, syscall.MAP_SHARED)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { syscall.Munmap(p) })
	}
	count := func() (n int, problems []error) {
		names, problems := RegisteredNames(os.Getpid())
		for _, r := range names {
			if r.Provider == "bounded" {
				n++
			}
		}
		return n, problems
	}

	one := registry("one")
	for i := range mappings {
		mapIt(one, i)
	}
	if n, problems := count(); n != 1 || len(problems) > 0 {
		t.Errorf("a registry with %d mappings: %d names, problems %v", mappings, n, problems)
	}
	for i := range mappings {
		mapIt(registry(fmt.Sprint(i)), i)
	}
	if n, problems := count(); n > maxRegistries || len(problems) != 1 {
		t.Errorf("%d registries: %d names, want at most %d; problems %v, want one", mappings+1, n, maxRegistries, problems)
	}
}

// A registry that is gone when it is to be opened, alone or with its process, is no
// problem: only one that is there and cannot be opened is.
func TestRegistryIsGone(t *testing.T) {
	fd, err := unix.MemfdCreate(abi.RegistryFile, unix.MFD_CLOEXEC)
	if err != nil {
		t.Skip("no memfd:", err)
	}
	defer unix.Close(fd)
	p, err := syscall.Mmap(fd, 0, os.Getpagesize(), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	var m procmaps.Mapping
	for one, err := range procmaps.Of(os.Getpid()) {
		if err == nil && one.Path == "/memfd:"+abi.RegistryFile {
			m = one
		}
	}
	if m.Path == "" || !isMapped(os.Getpid(), m) {
		t.Fatalf("mapping %+v", m)
	}
	if err := syscall.Munmap(p); err != nil {
		t.Fatal(err)
	}
	m.Inode++ // else its descriptor leads to it
	const nobody = 1 << 30
	for _, pid := range []int{os.Getpid(), nobody} {
		if _, _, err := openMapping(pid, m); !errors.Is(err, errUnmapped) {
			t.Errorf("process %d: error %v, want one that it is not mapped", pid, err)
		}
	}
}
