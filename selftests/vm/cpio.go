package main

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A cpioWriter writes the archive that Linux unpacks before it starts init: cpio
// of the kind "newc" (Documentation/driver-api/early-userspace/buffer-format.rst
// of the kernel). It is not compressed: unpacking would be the slowest part of a
// boot under an emulator.
type cpioWriter struct {
	w    *bufio.Writer
	off  int64
	ino  int
	dirs map[string]bool
	err  error
}

func newCpioWriter(w io.Writer) *cpioWriter {
	return &cpioWriter{w: bufio.NewWriter(w), dirs: map[string]bool{".": true}}
}

// header writes the header of an entry: magic number, thirteen numbers of eight
// hexadecimal digits, and the name.
func (c *cpioWriter) header(name string, mode uint32, size int64) {
	c.ino++
	nlink := 1
	if mode&0o170000 == modeDir {
		nlink = 2
	}
	c.print(fmt.Sprintf("070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%s\x00",
		c.ino, mode, 0, 0, nlink, 0, size, 0, 0, 0, 0, len(name)+1, 0, name))
	c.pad()
}

func (c *cpioWriter) print(s string) {
	if c.err == nil {
		_, c.err = c.w.WriteString(s)
		c.off += int64(len(s))
	}
}

// pad aligns to four bytes, as headers and contents are.
func (c *cpioWriter) pad() { c.print("\x00\x00\x00"[:-c.off&3]) }

// Types of files in modes.
const (
	modeDir  = 0o040000
	modeFile = 0o100000
	modeLink = 0o120000
)

// dir adds a directory, and those above it, once.
func (c *cpioWriter) dir(name string) {
	if c.dirs[name] {
		return
	}
	c.dirs[name] = true
	c.dir(path.Dir(name))
	c.header(name, modeDir|0o755, 0)
}

// data adds a file with the given contents.
func (c *cpioWriter) data(name string, perm fs.FileMode, data []byte) {
	c.dir(path.Dir(name))
	c.header(name, modeFile|uint32(perm.Perm()), int64(len(data)))
	c.print(string(data))
	c.pad()
}

// file adds a copy of a file, or of a symbolic link.
func (c *cpioWriter) file(name, from string) error {
	st, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if st.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		c.dir(path.Dir(name))
		c.header(name, modeLink|0o777, int64(len(target)))
		c.print(target)
		c.pad()
		return nil
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s is neither a file nor a link", from)
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	c.data(name, st.Mode(), data)
	return nil
}

// close ends the archive and returns the first error of all.
func (c *cpioWriter) close() error {
	c.header("TRAILER!!!", 0, 0)
	if c.err == nil {
		c.err = c.w.Flush()
	}
	return c.err
}

// inArchive is a path of the repository as a name in the archive.
func inArchive(elem ...string) string {
	return strings.TrimPrefix(path.Join(append([]string{sourceDir}, filepath.ToSlash(filepath.Join(elem...)))...), "/")
}
