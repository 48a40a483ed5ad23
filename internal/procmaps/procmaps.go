// Package procmaps reads the mappings of a process, line by line, from the
// format of /proc/PID/maps.
//
// The names in that file are chosen by whoever maps: they are taken for
// hostile. To open what is mapped, prefer Mapping.MapFile to the name.
package procmaps

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strconv"
)

// Perms are the access rights of a mapping.
type Perms uint8

// The bits of Perms.
const (
	Read Perms = 1 << iota
	Write
	Exec
	// Shared is MAP_SHARED; without it a mapping is private.
	Shared
)

// String returns the rights as the kernel writes them, such as "r-xp".
func (p Perms) String() string {
	b := []byte("---p")
	if p&Read != 0 {
		b[0] = 'r'
	}
	if p&Write != 0 {
		b[1] = 'w'
	}
	if p&Exec != 0 {
		b[2] = 'x'
	}
	if p&Shared != 0 {
		b[3] = 's'
	}
	return string(b)
}

// A Mapping is one line of a maps file: the bytes [Start, End) of an address
// space show a file from Off on.
type Mapping struct {
	Start, End, Off uint64
	Perms           Perms
	// Major and Minor are the device number and Inode the inode number of
	// the mapped file, all 0 for anonymous memory. On btrfs and overlayfs
	// the device may differ from the one that stat reports.
	Major, Minor uint32
	Inode        uint64
	// Path is the name of the file as the process that owns the mapping
	// sees it, or a name in brackets, or "". The kernel writes a newline as
	// \012 and a backslash as itself, so that a name that holds the text
	// \012 cannot be told from one that holds a newline: it is read as a
	// newline.
	Path string
	// Deleted tells that the kernel appended " (deleted)", which Path does
	// not show: the file has no name any more, as always with a memfd. A
	// file whose name ends so cannot be told from a deleted one.
	Deleted bool
}

// MapFile returns the path under which the file of the mapping can be opened
// whatever its name is, deleted or in another mount namespace. Opening it takes
// CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN.
func (m Mapping) MapFile(pid int) string {
	return fmt.Sprintf("/proc/%d/map_files/%x-%x", pid, m.Start, m.End)
}

// A FormatError reports a line that is not as the kernel writes it.
type FormatError struct {
	Line int // counted from 1
	Msg  string
}

func (e *FormatError) Error() string { return fmt.Sprintf("maps line %d: %s", e.Line, e.Msg) }

// maxLine bounds a line. The kernel cuts a path at PATH_MAX (4096) bytes, each
// of which can be escaped into four.
const maxLine = 4*4096 + 256

// errNoProcess is the cause when a maps file is there and cannot be read: the
// process ended, which the kernel reports as ESRCH.
var errNoProcess = errors.New("process ended")

// Of yields the mappings of a process. A line that cannot be read yields a
// *FormatError and the next line follows; any other error is the last thing
// yielded. The error of a process that does not exist wraps os.ErrNotExist. One
// that has ended and was not waited for has no mappings, like a kernel thread.
func Of(pid int) iter.Seq2[Mapping, error] {
	return func(yield func(Mapping, error) bool) {
		any, more := readMaps(pid, fmt.Sprintf("/proc/%d/maps", pid), yield)
		if any || !more {
			return
		}
		// The first thread of a process can end before the others, and
		// with it goes what /proc/PID itself shows.
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil || len(tasks) < 2 {
			return
		}
		for _, t := range tasks {
			ended := false
			any, more := readMaps(pid, fmt.Sprintf("/proc/%d/task/%s/maps", pid, t.Name()), func(m Mapping, err error) bool {
				ended = errors.Is(err, os.ErrNotExist)
				return ended || yield(m, err)
			})
			if any && !ended || !more {
				return
			}
		}
	}
}

// readMaps yields what a maps file says. It reports whether that was anything,
// and whether more is wanted.
func readMaps(pid int, path string, yield func(Mapping, error) bool) (any, more bool) {
	fail := func(err error) bool {
		return yield(Mapping{}, fmt.Errorf("read mappings of process %d: %w", pid, gone(err)))
	}
	f, err := os.Open(path)
	if err != nil {
		return true, fail(err)
	}
	defer f.Close()
	for m, err := range Parse(f) {
		any = true
		var fe *FormatError
		if err != nil && !errors.As(err, &fe) {
			return true, fail(err)
		}
		if !yield(m, err) {
			return true, false
		}
	}
	return any, true
}

// gone turns the error of reading from a process that has ended into one that
// wraps os.ErrNotExist, as if it had ended before the file was opened.
func gone(err error) error {
	if isESRCH(err) {
		return fmt.Errorf("%w: %w", errNoProcess, os.ErrNotExist)
	}
	return err
}

// Parse yields the mappings in a maps file, in memory that does not grow with
// the file. Errors are as for Of.
func Parse(r io.Reader) iter.Seq2[Mapping, error] {
	return func(yield func(Mapping, error) bool) {
		br := bufio.NewReaderSize(r, maxLine)
		for n := 1; ; n++ {
			line, err := br.ReadSlice('\n')
			if errors.Is(err, bufio.ErrBufferFull) {
				for errors.Is(err, bufio.ErrBufferFull) {
					_, err = br.ReadSlice('\n')
				}
				if !yield(Mapping{}, &FormatError{n, fmt.Sprintf("longer than %d bytes", maxLine)}) {
					return
				}
				line = nil
			}
			if line = bytes.TrimSuffix(line, []byte("\n")); len(line) > 0 {
				m, msg := parseLine(line)
				var lineErr error
				if msg != "" {
					m, lineErr = Mapping{}, &FormatError{n, msg}
				}
				if !yield(m, lineErr) {
					return
				}
			}
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(Mapping{}, err)
				return
			}
		}
	}
}

// parseLine reads
//
//	START-END PERMS OFFSET MAJOR:MINOR INODE [blanks PATH]
//
// (show_map_vma in fs/proc/task_mmu.c) and returns what is wrong, or "".
func parseLine(line []byte) (m Mapping, msg string) {
	field := func() []byte {
		f, rest, _ := bytes.Cut(line, []byte(" "))
		line = rest
		return f
	}
	num := func(b []byte, base, bits int) (uint64, bool) {
		n, err := strconv.ParseUint(string(b), base, bits)
		return n, err == nil
	}

	start, end, ok := bytes.Cut(field(), []byte("-"))
	var ok1, ok2 bool
	m.Start, ok1 = num(start, 16, 64)
	m.End, ok2 = num(end, 16, 64)
	if !ok || !ok1 || !ok2 || m.End < m.Start {
		return m, "no address range"
	}
	if m.Perms, ok = parsePerms(field()); !ok {
		return m, "no permissions"
	}
	if m.Off, ok = num(field(), 16, 64); !ok {
		return m, "no offset"
	}
	major, minor, ok := bytes.Cut(field(), []byte(":"))
	maj, ok1 := num(major, 16, 32)
	mnr, ok2 := num(minor, 16, 32)
	if !ok || !ok1 || !ok2 {
		return m, "no device number"
	}
	m.Major, m.Minor = uint32(maj), uint32(mnr)
	if m.Inode, ok = num(field(), 10, 64); !ok {
		return m, "no inode number"
	}
	path := bytes.TrimLeft(line, " ")
	path, m.Deleted = bytes.CutSuffix(path, []byte(" (deleted)"))
	m.Path = string(bytes.ReplaceAll(path, []byte(`\012`), []byte("\n")))
	return m, ""
}

func parsePerms(b []byte) (p Perms, ok bool) {
	if len(b) != 4 {
		return 0, false
	}
	for i, letter := range []byte("rwx") {
		switch b[i] {
		case letter:
			p |= 1 << i
		case '-':
		default:
			return 0, false
		}
	}
	switch b[3] {
	case 's':
		p |= Shared
	case 'p':
	default:
		return 0, false
	}
	return p, true
}
