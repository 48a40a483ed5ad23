package usdt

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// Limits on what is read of one file. A file beyond them is refused, since only
// a hostile one gets there: libjvm.so, the largest known user, has 60 KiB of
// notes.
const (
	// maxNoteBytes bounds the note sections of a file together; 400,000
	// notes fit.
	maxNoteBytes = 64 << 20
	// maxBTFBytes bounds the metadata of a file.
	maxBTFBytes = 16 << 20
	// maxSegments bounds the loaded segments, all of which are looked at for
	// each note. Four are usual.
	maxSegments = 256
	// maxProblems bounds how many faults of one file are kept; a last one
	// says how many more there were.
	maxProblems = 100
)

// A File holds what an ELF file says about its probes: a plain value, nothing
// stays open.
type File struct {
	// Path is the name of the file for people; "" if it has none.
	Path string
	// ID is the identity of the file; zero when it was read by NewFile.
	ID FileID
	// Machine is the machine that the file is for.
	Machine stapsdt.Machine
	// BuildID is the content of the GNU build-id note, nil if there is none.
	BuildID []byte

	// Probes are the probes in the order of their first notes. A file
	// without notes has none: that is no fault.
	Probes []*Probe

	// Problems are the faults that were met, each a *FileError: notes that
	// cannot be understood, locations that cannot be attached to, metadata
	// that contradicts the notes.
	Problems []error

	dropped int // problems beyond maxProblems
}

// Open reads the notes of a file. What cannot be an ELF file gives an error that
// wraps ErrNotELF; faults inside one stand in File.Problems.
func Open(path string) (*File, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", printable(path), unwrapPath(err))
	}
	defer f.Close()
	return ReadFile(f, path)
}

// ReadFile reads the notes of an opened file, which stays open; path is its name
// for people. Errors are as for Open.
func ReadFile(f *os.File, path string) (*File, error) {
	id, err := identify(f)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", printable(path), err)
	}
	file := &File{Path: path, ID: id}
	if err := file.read(f, id.Size); err != nil {
		return nil, err
	}
	return file, nil
}

// NewFile reads the notes of an ELF image of the given size.
func NewFile(r io.ReaderAt, size int64) (*File, error) {
	f := new(File)
	if err := f.read(r, size); err != nil {
		return nil, err
	}
	return f, nil
}

// openRegular opens a file for reading if it is a regular file. Others are not
// even opened: that alone can have an effect, as with a device, or hang, as with
// a named pipe. One that is put there in between is opened, but does not hang.
func openRegular(path string) (*os.File, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, notRegular(st)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, err
	}
	if st, err = f.Stat(); err == nil && !st.Mode().IsRegular() {
		err = notRegular(st)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func notRegular(st os.FileInfo) error {
	return fmt.Errorf("%w: %s is not a regular file", ErrNotELF, st.Mode().Type())
}

// unwrapPath takes the path out of an error of package os, for messages that
// name it already.
func unwrapPath(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// problem keeps a fault of the file.
func (f *File) problem(section string, off int64, probe string, err error) {
	if len(f.Problems) >= maxProblems {
		f.dropped++
		f.Problems[maxProblems-1] = &FileError{f.Path, "", -1, "", fmt.Errorf("%d more faults", f.dropped+1)}
		return
	}
	f.Problems = append(f.Problems, &FileError{f.Path, section, off, probe, err})
}

// read fills f from an ELF image.
func (f *File) read(r io.ReaderAt, size int64) error {
	ef, err := newELFFile(r, size)
	if err != nil {
		var fe *FileError
		if errors.As(err, &fe) {
			fe.Path = f.Path
		}
		return err
	}
	word := 8
	if ef.Class == elf.ELFCLASS32 {
		word = 4
	}
	var ok bool
	if f.Machine, ok = stapsdt.MachineOf(uint16(ef.Machine), word, ef.ByteOrder); !ok {
		err := fmt.Errorf("%w: machine %s, %s, %s", ErrNotSupported, ef.Machine, ef.Class, ef.Data)
		if hasNotes(ef) {
			return &FileError{f.Path, "", -1, "", err}
		}
		return nil
	}
	segments := loadSegments(ef)
	if len(segments) > maxSegments {
		return &FileError{f.Path, "", 0, "", fmt.Errorf("%w: %d loaded segments, more than the limit of %d", ErrNotELF, len(segments), maxSegments)}
	}
	img := &image{file: f, r: r, size: size, segments: segments}
	img.readNotes(ef)
	img.readMarker(ef)
	img.readSymbols(ef)
	img.readBuildID(ef)
	img.readMetadata(ef)
	return nil
}

// cutLast cuts s around the last instance of sep.
func cutLast(s, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// binaryOrder returns one of the two values of binary.ByteOrder that package
// stapsdt compares with.
func binaryOrder(o binary.ByteOrder) binary.ByteOrder {
	if o.Uint16([]byte{1, 0}) == 1 {
		return binary.LittleEndian
	}
	return binary.BigEndian
}

func hasNotes(ef *elfFile) bool { return ef.Section(stapsdt.Section) != nil }

// An image is a file while it is being read.
type image struct {
	file     *File
	r        io.ReaderAt
	size     int64
	segments []segment
}

// A segment is a PT_LOAD program header: Size bytes of the file from Off on
// appear at Addr.
type segment struct {
	addr, off, size   uint64
	exec, write, read bool

	// reach is the end of this segment or of one before it, whichever is
	// higher. In a list by address it never falls, so that a file with many
	// segments and notes takes no time for each pair.
	reach uint64
}

// loadSegments returns the PT_LOAD segments by ascending address.
func loadSegments(ef *elfFile) []segment {
	var segs []segment
	for _, p := range ef.Progs {
		if p.Type != elf.PT_LOAD || p.Filesz == 0 {
			continue
		}
		// Sums of these are formed below: drop what wraps around.
		if p.Vaddr+p.Filesz < p.Vaddr || p.Off+p.Filesz < p.Off {
			continue
		}
		segs = append(segs, segment{
			addr: p.Vaddr, off: p.Off, size: p.Filesz,
			exec: p.Flags&elf.PF_X != 0, write: p.Flags&elf.PF_W != 0, read: p.Flags&elf.PF_R != 0,
		})
	}
	sort.SliceStable(segs, func(i, j int) bool { return segs[i].addr < segs[j].addr })
	reach := uint64(0)
	for i := range segs {
		reach = max(reach, segs[i].addr+segs[i].size)
		segs[i].reach = reach
	}
	return segs
}

// offset resolves an address to the offset in the file of n bytes, through a
// segment that has the wanted property. Segments may overlap in hostile or odd
// files, so all are looked at.
func (img *image) offset(addr, n uint64, want func(segment) bool) (uint64, bool) {
	// None of the first ones reaches the address: see segment.reach.
	first := sort.Search(len(img.segments), func(i int) bool { return img.segments[i].reach > addr })
	for _, s := range img.segments[first:] {
		if s.addr > addr {
			break
		}
		if !want(s) || addr-s.addr >= s.size || s.size-(addr-s.addr) < n {
			continue
		}
		if off := addr - s.addr + s.off; off+n <= uint64(img.size) {
			return off, true
		}
	}
	return 0, false
}

// errCompressed is the fault of a section that must stand as it is.
var errCompressed = errors.New("section is compressed")

// section returns the content of a section of at most limit bytes.
func (img *image) section(s *elf.SectionHeader, limit uint64) ([]byte, error) {
	return readSection(img.r, img.size, s, limit)
}

// readSection returns the content of a section of at most limit bytes.
func readSection(r io.ReaderAt, size int64, s *elf.SectionHeader, limit uint64) ([]byte, error) {
	if err := checkSection(size, s, limit); err != nil {
		return nil, err
	}
	data := make([]byte, s.FileSize)
	if _, err := io.ReadFull(io.NewSectionReader(r, int64(s.Offset), int64(s.FileSize)), data); err != nil {
		return nil, err
	}
	return data, nil
}

// checkSection tells why a section cannot be read from a file of the given size.
func checkSection(size int64, s *elf.SectionHeader, limit uint64) error {
	if s.Type == elf.SHT_NOBITS {
		return errors.New("section has no bytes in the file (a separate debug file?)")
	}
	if s.Flags&elf.SHF_COMPRESSED != 0 {
		return errCompressed
	}
	if s.FileSize > limit {
		return fmt.Errorf("%d bytes, more than the limit of %d", s.FileSize, limit)
	}
	if uint64(size) < s.Offset || uint64(size)-s.Offset < s.FileSize {
		return fmt.Errorf("section of %d bytes ends beyond the file of %d bytes", s.FileSize, size)
	}
	return nil
}

// readBuildID finds the GNU build-id.
func (img *image) readBuildID(ef *elfFile) {
	const limit = 4096
	s := ef.Section(".note.gnu.build-id")
	if s == nil {
		return
	}
	data, err := img.section(s, limit)
	// namesz 4, descsz, type 3 (NT_GNU_BUILD_ID), "GNU\0", desc
	const head = 16
	if err != nil || len(data) < head || string(data[12:16]) != "GNU\x00" {
		return
	}
	order := ef.ByteOrder
	n := order.Uint32(data[4:])
	if order.Uint32(data) != 4 || order.Uint32(data[8:]) != 3 || n > uint32(len(data)-head) {
		return
	}
	img.file.BuildID = data[head : head+n]
}
