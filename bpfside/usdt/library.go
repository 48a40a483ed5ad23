package usdt

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/cpu"
)

// ldCache is what ldconfig writes and the loader of glibc reads.
const ldCache = "/etc/ld.so.cache"

// libraryDirs are searched after the cache: the defaults of glibc for 64 and 32
// bits, and that of musl, which has no cache.
var libraryDirs = []string{"/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"}

// FindFile returns the path of the file that a name means: a path, which has a
// slash, stands for itself, a name with ".so" in it is a library (LibraryPath),
// and any other is a program in PATH or else a library. A script in PATH, as
// managers of versions put in front of programs, is passed over if there is an ELF
// file of that name behind it. The error of a name that means nothing wraps
// os.ErrNotExist.
func FindFile(name string) (string, error) {
	if strings.Contains(name, "/") {
		if _, err := os.Stat(name); err != nil {
			return "", fmt.Errorf("find %s: %w", printable(name), unwrapPath(err))
		}
		return name, nil
	}
	if strings.Contains(name, ".so") {
		return LibraryPath(name)
	}
	if path, ok := programPath(name); ok {
		return path, nil
	}
	if path, err := LibraryPath(name); err == nil {
		return path, nil
	}
	return "", fmt.Errorf("find %s: %w", printable(name), notExist("neither a program in PATH nor a library"))
}

// programPath returns the path of the program in PATH that a name means: the first
// that is an ELF file, or else the first.
func programPath(name string) (path string, ok bool) {
	first, err := exec.LookPath(name)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return "", false
	}
	if first, err = filepath.Abs(first); err != nil {
		return "", false
	}
	if isELF(first) {
		return first, true
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		dir, err := filepath.Abs(dir) // "" is the current directory
		if err != nil {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil && isELF(path) {
			return path, true
		}
	}
	return first, true
}

// isELF reports whether a file begins as an ELF file does.
func isELF(path string) bool {
	f, err := openRegular(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, len(elf.ELFMAG))
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == elf.ELFMAG
}

// LibraryPath returns the path of a library as the loader finds it for a program
// of this machine that says nothing else: in /etc/ld.so.cache, then in the
// default directories. LD_LIBRARY_PATH, which another process may have set in
// another way, is not looked at, nor is the RUNPATH of a program.
//
// A name such as "libc.so.6" stands for itself, or for its latest version, as
// "libpython3.11.so" stands for libpython3.11.so.1.0; in "c" and "libc" all of
// that is left out. Where glibc has variants of a library for newer processors,
// of x86-64, it is the one for this processor. The error of a library that is not
// there wraps os.ErrNotExist.
func LibraryPath(name string) (string, error) {
	libs, err := readLdCache()
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("find library %s: %w", printable(name), err)
	}
	for _, want := range libraryNames(name) {
		if path, ok := pick(libs, want, x86Level()); ok {
			return path, nil
		}
		for _, dir := range libraryDirs {
			if path, ok := pickIn(dir, want); ok {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("find library %s: %w", printable(name),
		notExist("neither in "+ldCache+" nor in "+strings.Join(libraryDirs, ", ")))
}

// A wantedName is a name of a library, or what the name begins with.
type wantedName struct {
	name   string
	prefix bool
}

func (w wantedName) match(name string) bool {
	return name == w.name || w.prefix && strings.HasPrefix(name, w.name)
}

// libraryNames returns the names to look for, the best first.
func libraryNames(name string) []wantedName {
	if name == "" || strings.Contains(name, "/") {
		return nil
	}
	if strings.Contains(name, ".so") {
		return []wantedName{{name, false}, {name + ".", true}}
	}
	var names []wantedName
	for _, stem := range []string{"lib" + name, name} {
		names = append(names, wantedName{stem + ".so", false}, wantedName{stem + ".so.", true})
	}
	return names
}

// A cachedLibrary is an entry of the loader's cache.
type cachedLibrary struct{ name, path string }

// pick returns the path of the library that is wanted: of several versions the
// latest, of several variants the best one that a processor of the given x86-64
// level runs.
func pick(libs []cachedLibrary, want wantedName, level int) (string, bool) {
	var best cachedLibrary
	bestLevel := 0
	for _, lib := range libs {
		l := variant(lib.path)
		if !want.match(lib.name) || l < 0 || l > level {
			continue
		}
		if c := compareVersions(lib.name, best.name); best.name == "" || c > 0 || c == 0 && l > bestLevel {
			best, bestLevel = lib, l
		}
	}
	return best.path, best.name != ""
}

// pickIn looks for a library in a directory.
func pickIn(dir string, want wantedName) (string, bool) {
	if !want.prefix {
		path := filepath.Join(dir, want.name)
		_, err := os.Stat(path)
		return path, err == nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", false
	}
	var libs []cachedLibrary
	for _, e := range entries {
		libs = append(libs, cachedLibrary{e.Name(), filepath.Join(dir, e.Name())})
	}
	return pick(libs, want, 0)
}

// variant returns the x86-64 level that a library was built for, 0 for every
// processor, and -1 for a variant of another kind.
func variant(path string) int {
	_, sub, ok := strings.Cut(path, "/glibc-hwcaps/")
	if !ok {
		return 0
	}
	sub, _, _ = strings.Cut(sub, "/")
	if i := slices.Index([]string{"x86-64-v2", "x86-64-v3", "x86-64-v4"}, sub); i >= 0 {
		return i + 2
	}
	return -1
}

// x86Level returns the x86-64 level of this processor, as far as its features
// are known here; 0 elsewhere.
func x86Level() int {
	x := &cpu.X86
	switch {
	case runtime.GOARCH != "amd64":
		return 0
	case !x.HasCX16 || !x.HasPOPCNT || !x.HasSSE42 || !x.HasSSSE3:
		return 1
	case !x.HasAVX2 || !x.HasBMI1 || !x.HasBMI2 || !x.HasFMA || !x.HasOSXSAVE:
		return 2
	case !x.HasAVX512F || !x.HasAVX512BW || !x.HasAVX512CD || !x.HasAVX512DQ || !x.HasAVX512VL:
		return 3
	}
	return 4
}

// compareVersions compares names with runs of digits taken as numbers, as the
// cache is sorted (_dl_cache_libcmp in glibc's elf/dl-cache.c).
func compareVersions(a, b string) int {
	for a != "" && b != "" {
		na, ra := leadingDigits(a)
		nb, rb := leadingDigits(b)
		if na != "" && nb != "" {
			na, nb = strings.TrimLeft(na, "0"), strings.TrimLeft(nb, "0")
			if len(na) != len(nb) {
				return len(na) - len(nb)
			}
			if c := strings.Compare(na, nb); c != 0 {
				return c
			}
			a, b = ra, rb
			continue
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

func leadingDigits(s string) (digits, rest string) {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return s[:n], s[n:]
}

// readLdCache returns the libraries of this machine in the loader's cache.
func readLdCache() ([]cachedLibrary, error) {
	const limit = 64 << 20
	st, err := os.Stat(ldCache)
	if err != nil {
		return nil, err
	}
	if st.Size() > limit {
		return nil, fmt.Errorf("%s: %d bytes, more than the limit of %d", ldCache, st.Size(), limit)
	}
	data, err := os.ReadFile(ldCache)
	if err != nil {
		return nil, err
	}
	libs, err := parseLdCache(data, binary.NativeEndian, libraryFlags[runtime.GOARCH])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ldCache, err)
	}
	return libs, nil
}

// libraryFlags are the flags of libraries for this machine (FLAG_ELF_LIBC6 and
// the FLAG_… of the machine in glibc's sysdeps/generic/ldconfig.h); any will do on
// machines that are not listed.
var libraryFlags = map[string]uint32{
	"amd64": 0x0303, "386": 0x0003, "arm64": 0x0a03, "arm": 0x0903,
	"s390x": 0x0403, "ppc64le": 0x0503, "riscv64": 0x1003,
}

// The cache, from glibc's sysdeps/generic/dl-cache.h:
//
//	cache_file      magic "ld.so-1.7.0" NUL, nlibs u32, nlibs entries of 12
//	                bytes; only in front of the other one, aligned to 8 bytes
//	cache_file_new  magic "glibc-ld.so.cache1.1", nlibs u32, len_strings u32,
//	                flags u8, padding, extension_offset u32, unused [3]u32
//	file_entry_new  flags s32, key u32, value u32, osversion u32, hwcap u64
//
// key and value are places of NUL-terminated strings, counted from the start of
// cache_file_new.
const (
	oldMagic  = "ld.so-1.7.0\x00"
	newMagic  = "glibc-ld.so.cache1.1"
	newHeader = 48
	newEntry  = 24
	// hwcapExtension marks an entry for a directory of glibc-hwcaps; other
	// bits are variants that glibc 2.37 and later do not use any more.
	hwcapExtension = 1 << 62
)

// errCacheFormat is the fault of a cache that is not as glibc writes it.
var errCacheFormat = errors.New("not a cache of the loader")

// parseLdCache reads the entries of a cache that have the given flags, 0 for all.
func parseLdCache(data []byte, order binary.ByteOrder, flags uint32) ([]cachedLibrary, error) {
	if bytes.HasPrefix(data, []byte(oldMagic)) {
		const head, entry = len(oldMagic) + 4, 12
		if len(data) < head {
			return nil, fmt.Errorf("%w: %d bytes", errCacheFormat, len(data))
		}
		skip := (uint64(head) + entry*uint64(order.Uint32(data[head-4:])) + 7) &^ 7
		if skip > uint64(len(data)) {
			return nil, fmt.Errorf("%w: entries end at %#x", errCacheFormat, skip)
		}
		data = data[skip:]
	}
	if !bytes.HasPrefix(data, []byte(newMagic)) || len(data) < newHeader {
		return nil, fmt.Errorf("%w: no %q", errCacheFormat, newMagic)
	}
	n := order.Uint32(data[len(newMagic):])
	if uint64(n) > uint64(len(data)-newHeader)/newEntry {
		return nil, fmt.Errorf("%w: %d entries in %d bytes", errCacheFormat, n, len(data))
	}
	all := string(data) // that the names are parts of
	text := func(off uint32) string {
		if uint64(off) >= uint64(len(all)) {
			return ""
		}
		s, _, _ := strings.Cut(all[off:min(len(all), int(off)+4096)], "\x00")
		return s
	}
	var libs []cachedLibrary
	for i := range int(n) {
		e := data[newHeader+i*newEntry:]
		hwcap := order.Uint64(e[16:])
		if flags != 0 && order.Uint32(e) != flags || hwcap != 0 && hwcap&hwcapExtension == 0 {
			continue
		}
		lib := cachedLibrary{text(order.Uint32(e[4:])), text(order.Uint32(e[8:]))}
		if lib.name != "" && filepath.IsAbs(lib.path) {
			libs = append(libs, lib)
		}
	}
	return libs, nil
}
