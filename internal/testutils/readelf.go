package testutils

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A ReadelfNote is a probe note as readelf prints it: what stands in the file,
// nothing adjusted.
type ReadelfNote struct {
	Provider, Name            string
	Location, Base, Semaphore uint64
	Args                      string
}

// String returns the note as one line, for comparisons.
func (n ReadelfNote) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s:%s location %#x base %#x semaphore %#x %s",
		n.Provider, n.Name, n.Location, n.Base, n.Semaphore, n.Args))
}

// Adjusted returns the note with the addresses that it has in a file whose
// .stapsdt.base section is at address base, 0 for none: readelf leaves that to
// its reader.
func (n ReadelfNote) Adjusted(base uint64) ReadelfNote {
	if base == 0 || n.Base == 0 || n.Location == 0 {
		return n
	}
	n.Location += base - n.Base
	if n.Semaphore != 0 {
		n.Semaphore += base - n.Base
	}
	return n
}

// ReadelfNotes returns the probe notes of a file in the order in which readelf
// prints them. The test is skipped (fails in the CI) if there is no readelf.
func ReadelfNotes(t testing.TB, path string) []ReadelfNote {
	t.Helper()
	cmd := exec.Command(Oracle(t, "readelf"), "-n", path)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("readelf -n %s: %v", path, err)
	}
	notes, err := ParseReadelf(bytes.NewReader(out))
	if err != nil {
		t.Fatalf("readelf -n %s: %v", path, err)
	}
	return notes
}

// ParseReadelf reads what "readelf -n" prints of probe notes:
//
//	Provider: postgresql
//	Name: clog__checkpoint__start
//	Location: 0x…, Base: 0x…, Semaphore: 0x…
//	Arguments: 1@%bpl
func ParseReadelf(r io.Reader) ([]ReadelfNote, error) {
	var notes []ReadelfNote
	var n ReadelfNote
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		line := strings.TrimSpace(sc.Text())
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch key {
		case "Provider":
			n = ReadelfNote{Provider: value}
		case "Name":
			n.Name = value
		case "Location":
			if _, err := fmt.Sscanf(line, "Location: 0x%x, Base: 0x%x, Semaphore: 0x%x", &n.Location, &n.Base, &n.Semaphore); err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
		case "Arguments":
			n.Args = value
			notes = append(notes, n)
		}
	}
	return notes, sc.Err()
}
