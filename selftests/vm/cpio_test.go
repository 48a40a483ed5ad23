package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// An entry of an archive, as readCpio finds it.
type entry struct {
	name string
	mode uint64
	data string
}

// readCpio reads an archive as the kernel does (init/initramfs.c): a header of 110
// bytes, the name up to a boundary of four, the contents up to another.
func readCpio(t *testing.T, b []byte) []entry {
	t.Helper()
	var es []entry
	inodes := make(map[uint64]bool)
	for off := 0; ; {
		if len(b)-off < 110 || string(b[off:off+6]) != "070701" {
			t.Fatalf("no header at %d of %d", off, len(b))
		}
		field := func(i int) uint64 {
			n, err := strconv.ParseUint(string(b[off+6+8*i:off+14+8*i]), 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		size, nameSize := int(field(6)), int(field(11))
		if inodes[field(0)] {
			t.Errorf("inode %d twice", field(0))
		}
		inodes[field(0)] = true
		name := string(b[off+110 : off+110+nameSize])
		if !strings.HasSuffix(name, "\x00") {
			t.Fatalf("name %q does not end", name)
		}
		name = name[:nameSize-1]
		start := (off + 110 + nameSize + 3) &^ 3
		if name == "TRAILER!!!" {
			if start != len(b) {
				t.Errorf("the archive has %d bytes, and ends at %d", len(b), start)
			}
			return es
		}
		es = append(es, entry{name, field(1), string(b[start : start+size])})
		off = (start + size + 3) &^ 3
	}
}

func TestCpio(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("12345"), 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("program", link); err != nil {
		t.Skipf("skipped: no symbolic links: %v", err)
	}
	var b bytes.Buffer
	c := newCpioWriter(&b)
	if err := c.file("bin/program", program); err != nil {
		t.Fatal(err)
	}
	if err := c.file("bin/link", link); err != nil {
		t.Fatal(err)
	}
	c.data("a/b/empty", 0o644, nil)
	c.data("a/b/one", 0o600, []byte("1"))
	c.dir("a/b")
	if err := c.file("bin/dir", dir); err == nil {
		t.Error("a directory is taken for a file")
	}
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
	want := []entry{
		{"bin", 0o040755, ""},
		{"bin/program", 0o100755, "12345"},
		{"bin/link", 0o120777, "program"},
		{"a", 0o040755, ""},
		{"a/b", 0o040755, ""},
		{"a/b/empty", 0o100644, ""},
		{"a/b/one", 0o100600, "1"},
	}
	got := readCpio(t, b.Bytes())
	if len(got) != len(want) {
		t.Fatalf("entries %v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("entry %d is %+v, want %+v", i, got[i], want[i])
		}
	}
}
