package usdt

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/internal/testutils"
)

// A cacheEntry is an entry of a cache that a test makes.
type cacheEntry struct {
	flags      uint32
	hwcap      uint64
	name, path string
}

// makeCache lays out a cache as glibc does.
func makeCache(order binary.AppendByteOrder, entries ...cacheEntry) []byte {
	data := append([]byte(newMagic), make([]byte, newHeader-len(newMagic))...)
	order.(binary.ByteOrder).PutUint32(data[len(newMagic):], uint32(len(entries)))
	text := uint32(newHeader + newEntry*len(entries))
	var names []byte
	put := func(s string) uint32 {
		at := text + uint32(len(names))
		names = append(append(names, s...), 0)
		return at
	}
	for _, e := range entries {
		data = order.AppendUint32(data, e.flags)
		data = order.AppendUint32(data, put(e.name))
		data = order.AppendUint32(data, put(e.path))
		data = order.AppendUint32(data, 0)
		data = order.AppendUint64(data, e.hwcap)
	}
	return append(data, names...)
}

func TestParseLdCache(t *testing.T) {
	entries := []cacheEntry{
		{0x0303, 0, "libz.so.1", "/lib/x86_64-linux-gnu/libz.so.1"},
		{0x0303, hwcapExtension, "libz.so.1", "/lib/x86_64-linux-gnu/glibc-hwcaps/x86-64-v3/libz.so.1"},
		{0x0303, 1 << 5, "libz.so.1", "/lib/haswell/libz.so.1"}, // of old
		{0x0003, 0, "libz.so.1", "/lib/i386-linux-gnu/libz.so.1"},
		{0x0303, 0, "libbad.so", "relative/libbad.so"},
		{0x0303, 0, "", "/lib/nameless.so"},
	}
	amd64 := []cachedLibrary{
		{"libz.so.1", "/lib/x86_64-linux-gnu/libz.so.1"},
		{"libz.so.1", "/lib/x86_64-linux-gnu/glibc-hwcaps/x86-64-v3/libz.so.1"},
	}
	i386 := []cachedLibrary{{"libz.so.1", "/lib/i386-linux-gnu/libz.so.1"}}
	little := makeCache(binary.LittleEndian, entries...)
	old := binary.LittleEndian.AppendUint32([]byte(oldMagic), 1)
	old = append(old, make([]byte, 12)...) // one entry
	old = append(old, make([]byte, 4)...)  // up to a multiple of 8
	for _, tt := range []struct {
		name  string
		data  []byte
		order binary.ByteOrder
		flags uint32
		want  []cachedLibrary
		err   string
	}{
		{"one machine", little, binary.LittleEndian, 0x0303, amd64, ""},
		{"another", little, binary.LittleEndian, 0x0003, i386, ""},
		{"any", little, binary.LittleEndian, 0, append(amd64, i386...), ""},
		{"big-endian", makeCache(binary.BigEndian, entries...), binary.BigEndian, 0x0303, amd64, ""},
		{"behind one of the old format", append(old, little...), binary.LittleEndian, 0x0303, amd64, ""},
		{"empty", makeCache(binary.LittleEndian), binary.LittleEndian, 0x0303, nil, ""},
		{"names cut off", little[:newHeader+6*newEntry+8], binary.LittleEndian, 0x0303, nil, ""},
		{"no cache", []byte("#!/bin/sh\n"), binary.LittleEndian, 0, nil, "no \"glibc-ld.so.cache1.1\""},
		{"nothing", nil, binary.LittleEndian, 0, nil, "no \"glibc-ld.so.cache1.1\""},
		{"cut in the header", little[:30], binary.LittleEndian, 0, nil, "no \"glibc-ld.so.cache1.1\""},
		{"cut in the entries", little[:newHeader+newEntry], binary.LittleEndian, 0, nil, "6 entries in 72 bytes"},
		{"cut in the old format", old[:14], binary.LittleEndian, 0, nil, "14 bytes"},
		{"old format alone", old[:20], binary.LittleEndian, 0, nil, "entries end at 0x20"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseLdCache(tt.data, tt.order, tt.flags)
			if tt.err == "" && err != nil || tt.err != "" && (!errors.Is(err, errCacheFormat) || !strings.Contains(err.Error(), tt.err)) {
				t.Fatalf("error %v, want %q", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(cachedLibrary{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParseLdCache(f *testing.F) {
	f.Add(makeCache(binary.LittleEndian, cacheEntry{0x0303, 0, "libz.so.1", "/lib/libz.so.1"}), uint32(0x0303))
	f.Add(append([]byte(oldMagic), 0, 0, 0, 0), uint32(0))
	f.Fuzz(func(t *testing.T, data []byte, flags uint32) {
		libs, err := parseLdCache(data, binary.LittleEndian, flags)
		if err != nil && libs != nil {
			t.Error("libraries beside an error")
		}
		for _, l := range libs {
			if l.name == "" || !filepath.IsAbs(l.path) || strings.Contains(l.name+l.path, "\x00") {
				t.Errorf("library %+v", l)
			}
		}
	})
}

func TestPickLibrary(t *testing.T) {
	libs := []cachedLibrary{
		{"libfoo.so.9", "/lib/libfoo.so.9"},
		{"libfoo.so.10", "/lib/libfoo.so.10"},
		{"libfoo.so.2", "/lib/libfoo.so.2"},
		{"libfoobar.so.3", "/lib/libfoobar.so.3"},
		{"libc.so.6", "/lib/libc.so.6"},
		{"libc.so.6", "/lib/glibc-hwcaps/x86-64-v4/libc.so.6"},
		{"libc.so.6", "/lib/glibc-hwcaps/x86-64-v2/libc.so.6"},
		{"libc.so.6", "/lib/glibc-hwcaps/power10/libc.so.6"},
		{"plugin.so", "/lib/plugin.so"},
	}
	for _, tt := range []struct {
		name  string
		level int
		want  string
	}{
		{"libfoo.so.9", 1, "/lib/libfoo.so.9"},
		{"libfoo.so", 1, "/lib/libfoo.so.10"},
		{"libfoo", 1, "/lib/libfoo.so.10"},
		{"foo", 1, "/lib/libfoo.so.10"},
		{"fooba", 1, ""},
		{"libfoo.so.1", 1, ""}, // not the beginning of .10
		{"c", 0, "/lib/libc.so.6"},
		{"c", 1, "/lib/libc.so.6"},
		{"c", 2, "/lib/glibc-hwcaps/x86-64-v2/libc.so.6"},
		{"c", 4, "/lib/glibc-hwcaps/x86-64-v4/libc.so.6"},
		{"plugin", 1, "/lib/plugin.so"},
		{"", 1, ""},
		{"/lib/libc.so.6", 1, ""},
	} {
		got := ""
		for _, want := range libraryNames(tt.name) {
			if path, ok := pick(libs, want, tt.level); ok {
				got = path
				break
			}
		}
		if got != tt.want {
			t.Errorf("%q on level %d: %q, want %q", tt.name, tt.level, got, tt.want)
		}
	}
}

func TestCompareVersions(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"libx.so.1", "libx.so.1", 0},
		{"libx.so.10", "libx.so.9", 1},
		{"libx.so.1.2", "libx.so.1", 1},
		{"libx.so.01", "libx.so.1", 0},
		{"liba.so", "libb.so", -1},
		{"libx.so.1", "libx.so.a", -1},
		{"", "a", -1},
	} {
		for _, sign := range []int{1, -1} {
			got := compareVersions(tt.a, tt.b)
			if sign < 0 {
				got = -compareVersions(tt.b, tt.a)
			}
			if got < 0 && tt.want >= 0 || got > 0 && tt.want <= 0 || got == 0 && tt.want != 0 {
				t.Errorf("%q and %q: %d, want %d", tt.a, tt.b, got, tt.want)
			}
		}
	}
}

// The loader itself agrees on where the library is that a program gets.
func TestLibraryPathAsTheLoader(t *testing.T) {
	ldd, program := testutils.Oracle(t, "ldd"), testutils.Oracle(t, "bash", "perl", "python3")
	out, err := exec.Command(ldd, program).Output()
	if err != nil {
		t.Skipf("skipped: ldd %s: %v", program, err)
	}
	n := 0
	for line := range strings.Lines(string(out)) {
		name, rest, ok := strings.Cut(strings.TrimSpace(line), " => ")
		if !ok {
			continue
		}
		want, _, _ := strings.Cut(rest, " (")
		got, err := LibraryPath(name)
		if err != nil || got != want {
			t.Errorf("%s: %q, error %v, want %q", name, got, err, want)
		}
		stem, _, _ := strings.Cut(name, ".so")
		if short, err := FindFile(strings.TrimPrefix(stem, "lib")); err != nil || filepath.Base(short) == "" {
			t.Errorf("%s: %v", stem, err)
		}
		n++
	}
	if n == 0 {
		t.Skipf("skipped: %s needs no library", program)
	}
}

func TestFindFile(t *testing.T) {
	sh := testutils.Oracle(t, "sh")
	for _, tt := range []struct{ name, want string }{
		{"sh", sh},
		{sh, sh},
		{"/no/such/file", ""},
		{"libnosuch.so.1", ""},
		{"nosuchprogram", ""},
		{"", ""},
	} {
		got, err := FindFile(tt.name)
		if got != tt.want || (err == nil) != (tt.want != "") || err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q: %q, error %v, want %q", tt.name, got, err, tt.want)
		}
	}
}

// A script in PATH is passed over if there is a program of that name behind it.
func TestFindFileBehindAScript(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	shims, bin := t.TempDir(), t.TempDir()
	for _, path := range []string{filepath.Join(shims, "python3"), filepath.Join(shims, "alone"), filepath.Join(bin, "alone")} {
		if err := os.WriteFile(path, []byte("#!/usr/bin/env bash\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(self, filepath.Join(bin, "python3")); err != nil {
		t.Skipf("skipped: no symbolic links: %v", err)
	}
	want := filepath.Join(bin, "python3")
	if !isELF(self) {
		want = filepath.Join(shims, "python3") // no ELF file here: the first
	}
	t.Setenv("PATH", shims+string(filepath.ListSeparator)+bin)
	for name, want := range map[string]string{"python3": want, "alone": filepath.Join(shims, "alone")} {
		if got, err := FindFile(name); got != want || err != nil {
			t.Errorf("%s: %q, error %v, want %q", name, got, err, want)
		}
	}
}
