//go:build !unix

package scan

import (
	"debug/elf"
	"io"
	"io/fs"
	"os"
)

// openELF opens a file if it is an ELF file; it returns nil for any other.
func openELF(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	var magic [len(elf.ELFMAG)]byte
	n, err := f.ReadAt(magic[:], 0)
	if n < len(magic) || string(magic[:]) != elf.ELFMAG {
		f.Close()
		if err == io.EOF {
			err = nil
		}
		return nil, err
	}
	return f, nil
}

// deviceOf returns 0: devices have no numbers here.
func deviceOf(fs.FileInfo) uint64 { return 0 }
