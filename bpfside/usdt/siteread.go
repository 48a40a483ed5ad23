package usdt

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// Sites looks at the instructions at the locations of a target, one Site for
// each and in their order. The file is opened anew and must be the one whose
// notes were read; else the error wraps ErrChanged. A location with an Err gets
// an empty Site with that Err.
func (t *Target) Sites() ([]Site, error) {
	sites, err := SitesOf([]*Target{t})
	if err != nil {
		return nil, err
	}
	return sites[0], nil
}

// SitesOf is Sites for targets of one file, which is opened and read once. All
// targets must have the ID of the first.
func SitesOf(targets []*Target) ([][]Site, error) {
	if len(targets) == 0 {
		return nil, nil
	}
	first := targets[0]
	for _, t := range targets {
		if t.ID != first.ID {
			return nil, fmt.Errorf("sites of %s and of %s: targets are not of one file", printable(first.Path), printable(t.Path))
		}
	}
	f, err := reopen(first)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return newSiteReader(f, first.ID.Size, first.Path, thisKernel()).all(targets), nil
}

// reopen opens the file of a target and makes sure that it is the same.
func reopen(t *Target) (*os.File, error) {
	f, err := openRegular(t.Open)
	if errors.Is(err, os.ErrNotExist) {
		// A mapping has moved, or another process than the first has it.
		if again := findAgain(t); again != nil {
			f, err = again, nil
		}
	}
	if err != nil && strings.HasPrefix(t.Open, "/proc/") && errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("open %s: %w (has the process ended, or the object been unmapped?)", t.Open, unwrapPath(err))
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", printable(t.Open), unwrapPath(err))
	}
	id, err := identify(f)
	if err == nil && id != t.ID {
		err = fmt.Errorf("%s: %w", printable(t.Open), ErrChanged)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// A siteReader decodes the locations of one file. What it needs beyond the code
// itself, it reads when it is first asked for.
type siteReader struct {
	r    io.ReaderAt
	size int64
	path string
	dec  *decoder

	window    []byte // of the file, from windowAt on
	windowAt  int64
	locations map[uint64]bool // offsets of all locations of the file
	functions *functions
	// How far the instructions of which function are known: hundreds of
	// locations in one large function must not each walk from its start.
	walked struct {
		function uint64
		pos      int // -1 if nothing is known of what follows
	}
}

func newSiteReader(r io.ReaderAt, size int64, path string, dec *decoder) *siteReader {
	return &siteReader{r: r, size: size, path: path, dec: dec}
}

// sites decodes the locations of a target.
func (sr *siteReader) sites(t *Target) []Site { return sr.all([]*Target{t})[0] }

// all decodes the locations of targets of the file.
func (sr *siteReader) all(targets []*Target) [][]Site {
	out := make([][]Site, len(targets))
	type job struct {
		loc *Location
		to  *Site
	}
	var jobs []job
	for i, t := range targets {
		out[i] = make([]Site, len(t.Locations))
		for j := range t.Locations {
			loc := &t.Locations[j]
			if loc.Err != nil {
				out[i][j] = Site{Err: loc.Err}
				continue
			}
			jobs = append(jobs, job{loc, &out[i][j]})
		}
	}
	// By ascending offset, so that each part of the file is read once.
	sort.SliceStable(jobs, func(a, b int) bool { return jobs[a].loc.Offset < jobs[b].loc.Offset })
	for _, j := range jobs {
		*j.to = sr.site(j.loc)
	}
	return out
}

// site decodes one location.
func (sr *siteReader) site(loc *Location) Site {
	code, err := sr.code(loc.Offset, maxSpot)
	if err != nil {
		return Site{}
	}
	site := sr.dec.decode(spot{
		machine: loc.Machine, code: code, address: loc.Address, offset: loc.Offset,
		fixed:      countsFromProbe(loc),
		isLocation: sr.isLocation,
	})
	if site.Nop || site.Err != nil {
		return site
	}
	// Not what sys/sdt.h makes: a note that is wrong by a few bytes would
	// have the kernel write a breakpoint into the middle of an instruction.
	if err := sr.inside(loc); err != nil {
		site = Site{}
		site.refuse(err)
	}
	return site
}

// countsFromProbe reports whether an argument is found by the address of the
// probed instruction, see Location.resolve.
func countsFromProbe(loc *Location) bool {
	pc := programCounter[loc.Machine]
	if len(loc.Symbols) == 0 || pc == "" {
		return false
	}
	for _, a := range loc.Args() {
		if a.Operand.Base == pc || a.Operand.Index == pc {
			return true
		}
	}
	return false
}

// code returns up to n bytes of the file from an offset on, fewer at its end.
func (sr *siteReader) code(offset uint64, n int) ([]byte, error) {
	const window = 64 << 10
	if offset >= uint64(sr.size) {
		return nil, io.ErrUnexpectedEOF
	}
	off := int64(offset)
	n = int(min(int64(n), sr.size-off))
	if off < sr.windowAt || off+int64(n) > sr.windowAt+int64(len(sr.window)) {
		want := int(min(int64(max(window, n)), sr.size-off))
		if cap(sr.window) < want {
			sr.window = make([]byte, want)
		}
		sr.window = sr.window[:want]
		sr.windowAt = off
		if got, err := sr.r.ReadAt(sr.window, off); got < n {
			sr.window = sr.window[:0]
			return nil, err
		} else {
			sr.window = sr.window[:got]
		}
	}
	return sr.window[off-sr.windowAt:][:n], nil
}

// isLocation reports whether any note of the file points at an offset.
func (sr *siteReader) isLocation(offset uint64) bool {
	if sr.locations == nil {
		sr.locations = make(map[uint64]bool)
		f := &File{Path: sr.path}
		if err := f.read(sr.r, sr.size); err != nil {
			return false
		}
		for _, p := range f.Probes {
			for i := range p.Locations {
				sr.locations[p.Locations[i].Offset] = true
			}
		}
	}
	return sr.locations[offset]
}

// inside returns an error if a location is known to be in the middle of an
// instruction.
func (sr *siteReader) inside(loc *Location) error {
	if loc.Machine != stapsdt.X86_64 {
		return nil // i386 is not worth it; the others have no middle
	}
	if sr.functions == nil {
		sr.functions = readFunctions(sr.r, sr.size)
	}
	fn, ok := sr.functions.find(loc.Address)
	const most = 1 << 20
	if !ok || loc.Address-fn.addr > most || loc.Offset < loc.Address-fn.addr {
		return nil
	}
	at, w := int(loc.Address-fn.addr), &sr.walked
	if w.function != fn.addr || w.pos > at {
		w.function, w.pos = fn.addr, 0
	}
	if w.pos < 0 {
		return nil
	}
	code, err := sr.code(loc.Offset-uint64(at-w.pos), at-w.pos+maxSpot)
	if err != nil {
		return nil
	}
	w.pos, err = insideInstruction(code, w.pos, at, fn.name)
	return err
}

// functions are the functions of a file by ascending address.
type functions struct{ list []function }

type function struct {
	addr, size uint64
	name       string
}

// maxFunctions bounds how many functions of a file are looked at: the largest
// programs have a million.
const maxFunctions = 1 << 21

// readFunctions reads the symbol tables of a file: of one that cannot be read
// there are no functions.
func readFunctions(r io.ReaderAt, size int64) *functions {
	fs := new(functions)
	ef, err := newELFFile(r, size)
	if err != nil {
		return fs
	}
	for _, typ := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
		// What was read before an error is good.
		_, _ = eachSymbol(r, size, ef, typ, func(sym symbol) {
			if sym.typ() == elf.STT_FUNC && sym.shndx != elf.SHN_UNDEF && sym.size > 0 && len(fs.list) < maxFunctions {
				fs.list = append(fs.list, function{sym.value, sym.size, sym.name})
			}
		})
	}
	sort.SliceStable(fs.list, func(i, j int) bool { return fs.list[i].addr < fs.list[j].addr })
	return fs
}

// find returns the function that an address is in. Of functions that lie in each
// other, which only assembly makes, it takes the one that starts last.
func (fs *functions) find(addr uint64) (function, bool) {
	i := sort.Search(len(fs.list), func(i int) bool { return fs.list[i].addr > addr }) - 1
	if i < 0 || addr-fs.list[i].addr >= fs.list[i].size {
		return function{}, false
	}
	return fs.list[i], true
}
