package usdt

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// The steps up to the notes: what kind of file it is.

// checkFile opens the file.
func (d *diagnoser) checkFile() bool {
	const step = "file"
	if d.open == "" {
		d.open = d.Path
		if d.PID > 0 {
			d.open = d.asMapped(step)
		}
	}
	st, err := os.Stat(d.open)
	switch {
	case errors.Is(err, os.ErrNotExist):
		text := fmt.Sprintf("there is no file %s", printable(d.Path))
		if !strings.Contains(d.Path, "/") {
			if _, err := FindFile(d.Path); err != nil {
				text += ", nor a program or library of that name"
			}
		}
		if names := near(filepath.Base(d.Path), entries(filepath.Dir(d.Path))); len(names) > 0 {
			text += ": did you mean " + printable(strings.Join(names, ", ")) + "?"
		}
		return d.fault(step, ReasonNoFile, "%s", text)
	case err != nil:
		return d.fault(step, ReasonNotReadable, "%s: %v", printable(d.Path), unwrapPath(err))
	case st.IsDir():
		return d.fault(step, ReasonNotAFile, "%s is a directory", printable(d.Path))
	}
	d.file, err = openRegular(d.open)
	switch {
	case errors.Is(err, ErrNotELF):
		return d.fault(step, ReasonNotAFile, "%s is not a regular file, but %s", printable(d.Path), st.Mode().Type())
	case err != nil:
		return d.fault(step, ReasonNotReadable, "%s: %v", printable(d.Path), unwrapPath(err))
	}
	id, err := identify(d.file)
	if err != nil {
		return d.fault(step, ReasonNotReadable, "%s: %v", printable(d.Path), err)
	}
	d.image = &image{file: &File{Path: d.Path, ID: id}, r: d.file, size: id.Size}
	d.ok(step, "%s, a regular file of %d bytes", printable(d.Path), id.Size)
	return true
}

// entries returns the names in a directory, nil if it cannot be read.
func entries(dir string) []string {
	list, _ := os.ReadDir(dir)
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = e.Name()
	}
	return names
}

// foreignFormats are what files are that get mistaken for programs and libraries, by
// how they begin.
var foreignFormats = []struct {
	magic string
	why   Reason
	what  string
}{
	{"!<arch>\n", ReasonStaticLibrary, "a static library"},
	{"!<thin>\n", ReasonStaticLibrary, "a static library"},
	{"/* GNU ld script", ReasonLinkerScript, "a script of the linker"},
	{"\x1f\x8b", ReasonNotELF, "compressed by gzip"},
	{"\xfd7zXZ\x00", ReasonNotELF, "compressed by xz"},
	{"\x28\xb5\x2f\xfd", ReasonNotELF, "compressed by zstd"},
	{"MZ", ReasonNotELF, "a program for Windows"},
	{"\xcf\xfa\xed\xfe", ReasonNotELF, "a program for macOS"},
	{"\xca\xfe\xba\xbe", ReasonNotELF, "a class of Java, or a program for macOS"},
	{"PK\x03\x04", ReasonNotELF, "a zip or jar archive"},
}

// checkELF reads the tables of the file, or tells what it is instead.
func (d *diagnoser) checkELF() bool {
	const step = "elf"
	head := make([]byte, 256)
	n, _ := d.file.ReadAt(head, 0) // what there is
	head = head[:n]
	if !bytes.HasPrefix(head, []byte(elf.ELFMAG)) {
		why, what := notELF(head)
		return d.fault(step, why, "%s is %s", d.name(), what)
	}
	var err error
	if d.ef, err = newELFFile(d.file, d.image.size); err != nil {
		return d.fault(step, ReasonMalformed, "%s is malformed: %v", d.name(), err)
	}
	const typeAt = elf.EI_NIDENT // e_type comes first behind the identification
	class := map[elf.Class]string{elf.ELFCLASS32: "32 bits", elf.ELFCLASS64: "64 bits"}[d.ef.Class]
	switch typ := elf.Type(d.ef.ByteOrder.Uint16(head[typeAt:])); typ {
	case elf.ET_EXEC:
		d.ok(step, "a program at a fixed address, of %s", class)
	case elf.ET_DYN:
		d.ok(step, "a shared object or position-independent program, of %s", class)
	case elf.ET_REL:
		return d.fault(step, ReasonObjectFile, "%s is an object file that is not linked yet, or a module of the kernel", d.name())
	case elf.ET_CORE:
		return d.fault(step, ReasonCoreFile, "%s is what a process left when it crashed", d.name())
	default:
		return d.fault(step, ReasonMalformed, "%s is of type %s, which nothing runs", d.name(), typ)
	}
	return true
}

// notELF tells what a file is that is no ELF file, by how it begins.
func notELF(head []byte) (Reason, string) {
	if rest, ok := bytes.CutPrefix(head, []byte("#!")); ok {
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		return ReasonScript, "a script for " + printable(strings.TrimSpace(string(line)))
	}
	for _, f := range foreignFormats {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return f.why, f.what + " and not an ELF file"
		}
	}
	if len(head) == 0 {
		return ReasonNotELF, "empty"
	}
	return ReasonNotELF, fmt.Sprintf("not an ELF file: it begins with % x", head[:min(len(head), 4)])
}

// checkMachine compares the machine of the file with that of the kernel. Steps on one
// that does not run here tell all the same what the file has.
func (d *diagnoser) checkMachine() bool {
	const step = "machine"
	word := 8
	if d.ef.Class == elf.ELFCLASS32 {
		word = 4
	}
	m, ok := stapsdt.MachineOf(uint16(d.ef.Machine), word, d.ef.ByteOrder)
	if !ok {
		return d.fault(step, ReasonOtherMachine, "notes of machine %s with %s and %s are not known here", d.ef.Machine, d.ef.Class, d.ef.Data)
	}
	d.image.file.Machine = m
	switch {
	case !d.dec.runs(m):
		d.foreign = true
		d.fault(step, ReasonOtherMachine, "%s has code for %s, and this kernel runs that for %s", d.name(), m, d.dec.host)
	case m != d.dec.host:
		d.ok(step, "%s, which this kernel of %s runs as well", m, d.dec.host)
	default:
		d.ok(step, "%s, as this kernel", m)
	}
	return true
}

// checkSections makes sure that there are section headers, by which notes are found.
func (d *diagnoser) checkSections() bool {
	const step = "sections"
	if len(d.ef.Sections) == 0 {
		text := fmt.Sprintf("%s has no section headers", d.name())
		// What upx writes behind the program headers: "UPX!" in l_info.
		head := make([]byte, 1024)
		n, _ := d.file.ReadAt(head, 0)
		if bytes.Contains(head[:n], []byte("UPX!")) {
			text += ": it is packed by upx"
		}
		return d.fault(step, ReasonNoSections, "%s", text)
	}
	for _, s := range d.ef.Sections {
		if s.Flags&elf.SHF_EXECINSTR != 0 && s.Flags&elf.SHF_ALLOC != 0 && s.Type == elf.SHT_NOBITS {
			return d.fault(step, ReasonDebugFile, "%s is a separate debug file: section %s has no bytes", d.name(), printable(s.Name))
		}
	}
	d.ok(step, "%d section headers", len(d.ef.Sections))
	return true
}

// checkNotes looks for the sections with the notes, and if there are none for what
// became of them.
func (d *diagnoser) checkNotes() bool {
	const step = "notes"
	left := uint64(maxNoteBytes)
	total, sections := 0, 0
	for _, s := range d.ef.Sections {
		if s.Name != stapsdt.Section {
			continue
		}
		sections++
		data, err := d.image.section(s, left)
		if err != nil {
			d.fault(step, ReasonNotesCut, "section %s cannot be read: %v", s.Name, err)
			continue
		}
		left -= uint64(len(data))
		total += len(data)
		d.notes = append(d.notes, noteSection{s, data})
	}
	switch {
	case len(d.notes) > 0:
		d.ok(step, "%d bytes in section %s", total, stapsdt.Section)
		return true
	case sections > 0:
		return false
	case d.inLibrary(step):
		return false
	case d.ef.Section(stapsdt.BaseSection) != nil, d.ef.Section(stapsdt.ProbesSection) != nil:
		what := stapsdt.BaseSection
		if d.ef.Section(what) == nil {
			what = stapsdt.ProbesSection
		}
		return d.fault(step, ReasonNotesRemoved, "%s has no section %s, but %s, which comes with it: the notes were removed", d.name(), stapsdt.Section, what)
	case d.ef.Section(".go.buildinfo") != nil:
		return d.fault(step, ReasonGoProgram, "%s has no section %s, as every Go program", d.name(), stapsdt.Section)
	}
	return d.fault(step, ReasonNoNotes, "%s has no section %s: it was built without probes", d.name(), stapsdt.Section)
}

// A noteSection is a section of notes with its content.
type noteSection struct {
	*elf.SectionHeader
	data []byte
}

// inLibrary looks for the wanted probes in the libraries that the file needs, or, of a
// process, in those that it has loaded, and reports whether it found some.
func (d *diagnoser) inLibrary(step string) bool {
	if d.foreign || d.Pattern == "" {
		return false
	}
	if d.PID > 0 {
		// The error is that there is nothing, or that it must not be looked at.
		found, _ := ProcessTargets(d.PID, d.Pattern)
		for _, t := range found.Targets {
			if !t.ID.sameFile(d.image.file.ID) {
				d.faultLibrary(step, &t.Probe, t.Path, fmt.Sprintf("which process %d has mapped", d.PID))
				return true
			}
		}
		return false
	}
	pattern, _ := ParsePattern(d.Pattern)
	for _, path := range Needed(d.open) {
		f, err := Open(path)
		if err != nil || f.Machine != d.image.file.Machine {
			continue
		}
		for _, p := range f.Probes {
			if pattern.Match(p.Provider, p.Name) {
				d.faultLibrary(step, p, path, "which it is linked with")
				return true
			}
		}
	}
	return false
}

func (d *diagnoser) faultLibrary(step string, p *Probe, path, how string) {
	d.add(Check{Step: step, Severity: Fault, Reason: ReasonInLibrary, Probe: p.String(),
		Text:   fmt.Sprintf("%s has no such probe, but %s has it, %s", d.name(), printable(path), how),
		Remedy: fmt.Sprintf("name the library: %s %s", printable(path), printable(p.String()))})
}
