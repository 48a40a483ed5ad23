//go:build !unix

package scan

import (
	"debug/elf"
	"io"
	"io/fs"
	"os"
)

// openDirectory opens a directory.
func openDirectory(path string, _ bool) (*os.File, error) { return os.Open(path) }

// openELF opens a file in a directory if it is an ELF file; it returns nil for any other. Its
// identity is not known.
func openELF(dir *os.File, name string, _ bool) (*os.File, identity, error) {
	f, err := os.Open(pathIn(dir, name))
	if err != nil {
		return nil, identity{}, err
	}
	var magic [len(elf.ELFMAG)]byte
	n, err := f.ReadAt(magic[:], 0)
	if n < len(magic) || string(magic[:]) != elf.ELFMAG {
		f.Close()
		if err == io.EOF {
			err = nil
		}
		return nil, identity{}, err
	}
	return f, identity{}, nil
}

// deviceOf returns 0: devices have no numbers here.
func deviceOf(fs.FileInfo) uint64 { return 0 }
