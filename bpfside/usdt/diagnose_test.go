package usdt_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// A sick file, made for TestDiagnose: a fabric with some code, changed.
type sick struct {
	segments []elf.ProgHeader // nil: the code and data segments
	sections []fabricSection
	machine  stapsdt.Machine // 0: the host's
	typ      elf.Type        // 0: ET_DYN
	code     []byte          // at the location; nil: a nop
	change   func(image []byte) []byte
}

// where the code of a sick file is.
const sickAt = 0x11010

// nops are one instruction that does nothing.
var nops = map[stapsdt.Machine][]byte{stapsdt.X86_64: {0x90}, stapsdt.ARM64: {0x1f, 0x20, 0x03, 0xd5}}

// moves are one instruction that does something, as a patch may put in the place of a
// nop.
var moves = map[stapsdt.Machine][]byte{stapsdt.X86_64: {0x48, 0x89, 0xc1}, stapsdt.ARM64: {0xe0, 0x03, 0x01, 0xaa}}

// refused are instructions that no kernel probes.
var refused = map[stapsdt.Machine][]byte{stapsdt.X86_64: {0xcc}, stapsdt.ARM64: {0x01, 0x00, 0x00, 0xd4}}

// sickHost returns the machine that the files are for.
func sickHost(t testing.TB) stapsdt.Machine {
	host, _ := usdt.HostMachine()
	if nops[host] == nil {
		t.Skipf("skipped: no instructions of %s in the table", host)
	}
	return host
}

func (s *sick) write(t *testing.T) []byte {
	t.Helper()
	f := &fabric{machine: s.machine, typ: s.typ, segments: s.segments, sections: s.sections, size: fabricSize}
	if f.machine == 0 {
		f.machine = sickHost(t)
	}
	if f.typ == 0 {
		f.typ = elf.ET_DYN
	}
	if f.segments == nil {
		f.segments = []elf.ProgHeader{codeSegment, dataSegment}
	}
	image := f.write(t)
	code := s.code
	if code == nil {
		code = nops[f.machine]
	}
	copy(image[sickAt-codeSegment.Vaddr+codeSegment.Off:], code)
	if s.change != nil {
		image = s.change(image)
	}
	return image
}

// plainSection returns a section that is there and no more.
func plainSection(name string) fabricSection {
	return fabricSection{SectionHeader: elf.SectionHeader{Name: name, Type: elf.SHT_PROGBITS}, data: []byte{0}}
}

// diagnosed returns the answers as "severity step reason", those that are fine
// together as "ok step step …".
func diagnosed(d *usdt.Diagnosis) []string {
	var out []string
	for _, c := range d.Checks {
		if c.Severity == usdt.OK && c.Reason == "" {
			if n := len(out) - 1; n >= 0 && strings.HasPrefix(out[n], "ok ") && !strings.HasSuffix(out[n], "]") {
				out[n] += " " + c.Step
				continue
			}
			out = append(out, "ok "+c.Step)
			continue
		}
		out = append(out, fmt.Sprintf("%s %s [%s]", c.Severity, c.Step, c.Reason))
	}
	return out
}

// What is wrong with a file, and what the diagnosis says.
func TestDiagnose(t *testing.T) {
	host := sickHost(t)
	note := func(name string, location, base, semaphore uint64, args string) stapsdt.Note {
		return stapsdt.Note{Provider: "app", Name: name, Location: location, Base: base, Semaphore: semaphore, Args: args}
	}
	good := note("p", sickAt, 0, 0, "")
	notes := func(n ...stapsdt.Note) []fabricSection { return []fabricSection{notesSection(t, host, n...)} }
	const sane = "ok file elf machine sections notes format base probe"
	register := map[stapsdt.Machine]string{stapsdt.X86_64: "-4@%eax 8@8(%rbx)", stapsdt.ARM64: "-4@w0 8@[x1, 8]"}[host]
	vector := map[stapsdt.Machine]string{stapsdt.X86_64: "-4@%eax 8@%xmm0", stapsdt.ARM64: "-4@w0 8@d0"}[host]
	other := stapsdt.S390X

	for _, tc := range []struct {
		name    string
		file    *sick
		raw     string // in place of file
		pattern string
		want    []string
		text    string // in the answer that is not fine
		fine    bool
	}{
		// Files.
		{name: "a script", raw: "#!/usr/bin/python3 -u\nprint()\n", want: []string{"ok file", "problem elf [script]"}, text: "is a script for /usr/bin/python3 -u"},
		{name: "a static library", raw: "!<arch>\nx", want: []string{"ok file", "problem elf [static-library]"}},
		{name: "a script of the linker", raw: "/* GNU ld script\n*/ GROUP ( /lib/libc.so.6 )", want: []string{"ok file", "problem elf [linker-script]"}},
		{name: "compressed", raw: "\x1f\x8b\x08\x00", want: []string{"ok file", "problem elf [not-elf]"}, text: "compressed by gzip"},
		{name: "text", raw: "hello", want: []string{"ok file", "problem elf [not-elf]"}, text: "begins with 68 65 6c 6c"},
		{name: "empty", raw: "", want: []string{"ok file", "problem elf [not-elf]"}, text: "is empty"},
		{name: "cut off", file: &sick{sections: notes(good), change: func(b []byte) []byte { return b[:0x1800] }},
			want: []string{"ok file", "problem elf [malformed-elf]"}, text: "section headers of"},
		{name: "an object file", file: &sick{sections: notes(good), typ: elf.ET_REL}, want: []string{"ok file", "problem elf [object-file]"}},
		{name: "a core file", file: &sick{typ: elf.ET_CORE}, want: []string{"ok file", "problem elf [core-file]"}},

		// Machines: what there is, is told all the same.
		{name: "another machine", file: &sick{machine: other, code: []byte{7, 7}, sections: []fabricSection{notesSection(t, other, good)}},
			want: []string{"ok file elf", "problem machine [other-machine]", "ok sections notes format base probe location instruction semaphore"}, text: "code for s390x"},
		{name: "a machine that nobody knows", file: &sick{change: func(b []byte) []byte { binary.NativeEndian.PutUint16(b[18:], 0x1234); return b }},
			want: []string{"ok file elf", "problem machine [other-machine]"}, text: "are not known here"},

		// Sections.
		{name: "stripped of section headers", file: &sick{sections: notes(good), change: func(b []byte) []byte {
			clear(b[40:48]) // e_shoff
			clear(b[58:64]) // e_shentsize, e_shnum, e_shstrndx
			return b
		}}, want: []string{"ok file elf machine", "problem sections [no-sections]"}},
		{name: "packed", file: &sick{change: func(b []byte) []byte {
			clear(b[40:48])
			clear(b[58:64])
			copy(b[0xec:], "UPX!")
			return b
		}}, want: []string{"ok file elf machine", "problem sections [no-sections]"}, text: "packed by upx"},
		{name: "a debug file", file: &sick{sections: append(notes(good), fabricSection{SectionHeader: elf.SectionHeader{
			Name: ".text", Type: elf.SHT_NOBITS, Flags: elf.SHF_ALLOC | elf.SHF_EXECINSTR}})},
			want: []string{"ok file elf machine", "problem sections [debug-file]"}, text: "section .text has no bytes"},

		// Notes.
		{name: "built without probes", file: &sick{sections: []fabricSection{plainSection(".text")}},
			want: []string{"ok file elf machine sections", "problem notes [no-notes]"}},
		{name: "notes removed", file: &sick{sections: []fabricSection{baseSection(0x5000)}},
			want: []string{"ok file elf machine sections", "problem notes [notes-removed]"}, text: "but .stapsdt.base"},
		{name: "notes removed, semaphores left", file: &sick{sections: []fabricSection{plainSection(".probes")}},
			want: []string{"ok file elf machine sections", "problem notes [notes-removed]"}, text: "but .probes"},
		{name: "a Go program", file: &sick{sections: []fabricSection{plainSection(".go.buildinfo")}},
			want: []string{"ok file elf machine sections", "problem notes [go-program]"}},
		{name: "notes compressed", file: &sick{sections: []fabricSection{{SectionHeader: elf.SectionHeader{
			Name: ".note.stapsdt", Type: elf.SHT_NOTE, Flags: elf.SHF_COMPRESSED}, data: make([]byte, 24)}}},
			want: []string{"ok file elf machine sections", "problem notes [notes-unreadable]"}, text: "compressed"},
		{name: "no good note", file: &sick{sections: []fabricSection{{SectionHeader: elf.SectionHeader{
			Name: ".note.stapsdt", Type: elf.SHT_NOTE}, data: bytes.Repeat([]byte{0xff}, 24)}}},
			want: []string{"ok file elf machine sections notes", "caution format [malformed-note]", "problem format [malformed-note]"}},
		{name: "a note cut off behind a good one", file: &sick{sections: func() []fabricSection {
			s := notesSection(t, host, good, note("q", sickAt, 0, 0, ""))
			s.data = s.data[:len(s.data)-8]
			return []fabricSection{s}
		}()}, want: []string{"ok file elf machine sections notes", "caution format [malformed-note]",
			"ok format base probe location instruction semaphore arguments tracers"}, fine: true},

		// The base.
		{name: "as it should be", file: &sick{sections: append(notes(note("p", sickAt, 0x12000, 0, "")), baseSection(0x12000))},
			want: []string{sane + " location instruction semaphore arguments tracers"}, fine: true},
		{name: "no base", file: &sick{sections: notes(note("p", sickAt, 0x12000, 0, ""))},
			want: []string{"ok file elf machine sections notes format", "caution base [no-base]", "ok probe location instruction semaphore arguments tracers"}, fine: true},
		{name: "moved by prelink", file: &sick{sections: append(notes(note("p", sickAt-0x1000, 0x12000, 0, "")), baseSection(0x13000))},
			want: []string{"ok file elf machine sections notes format", "ok base [moved]", "ok probe location instruction semaphore arguments tracers"}, text: "moved by +0x1000", fine: true},
		{name: "moved without a base", file: &sick{sections: notes(note("p", 0x41010, 0x42000, 0, ""))},
			want: []string{"ok file elf machine sections notes format", "caution base [no-base]", "ok probe", "problem location [not-executable]",
				"ok semaphore arguments tracers"}},

		// Names.
		{name: "another name", file: &sick{sections: notes(note("request", sickAt, 0, 0, ""))}, pattern: "app:reqest",
			want: []string{"ok file elf machine sections notes format base", "problem probe [no-probe]"}, text: "did you mean app:request?"},
		{name: "no such provider", file: &sick{sections: notes(good, note("q", sickAt, 0, 0, ""))}, pattern: "postgresql:*",
			want: []string{"ok file elf machine sections notes format base", "problem probe [no-probe]"}, text: "there are 2 others"},
		{name: "the name of one", file: &sick{sections: notes(good, note("q", 0x7fff0000, 0, 0, ""))}, pattern: "app:p",
			want: []string{sane + " location instruction semaphore arguments tracers"}, fine: true},

		// Locations.
		{name: "discarded by the linker", file: &sick{sections: notes(note("p", 0, 0, 0, ""))}, pattern: "app:p",
			want: []string{"ok file elf machine sections notes format base", "problem location [discarded]"}},
		{name: "another one discarded", file: &sick{sections: notes(good, note("q", 0, 0, 0, ""))},
			want: []string{sane, "caution location [discarded]", "ok instruction semaphore arguments tracers"}, fine: true},
		{name: "in the data", file: &sick{sections: notes(note("p", 0x23010, 0, 0, ""))},
			want: []string{sane, "problem location [not-executable]", "ok semaphore arguments tracers"}, text: "1 of 1 location: "},
		{name: "one of two in the data", file: &sick{sections: notes(good, note("p", 0x23010, 0, 0, ""))},
			want: []string{sane, "caution location [not-executable]", "ok instruction semaphore arguments tracers"}, text: "1 of 2 locations: ", fine: true},

		// Instructions.
		{name: "not a nop", file: &sick{sections: notes(good), code: moves[host]},
			want: []string{sane + " location", "caution instruction [not-a-nop]", "ok instruction semaphore arguments tracers"}, text: "and not a nop", fine: true},
		{name: "refused by the kernel", file: &sick{sections: notes(good), code: refused[host]},
			want: []string{sane + " location", "problem instruction [instruction-refused]", "ok instruction semaphore arguments tracers"}},

		// Semaphores.
		{name: "a semaphore", file: &sick{sections: notes(note("p", sickAt, 0, 0x23010, ""))},
			want: []string{sane + " location instruction semaphore arguments tracers"}, fine: true},
		{name: "a semaphore at an odd address", file: &sick{sections: notes(note("p", sickAt, 0, 0x23011, ""))},
			want: []string{sane + " location", "problem semaphore [semaphore-odd]", "ok arguments tracers"}},
		{name: "a semaphore in the code", file: &sick{sections: notes(note("p", sickAt, 0, 0x11080, ""))},
			want: []string{sane + " location", "problem semaphore [semaphore-unwritable]", "ok arguments tracers"}},
		{name: "a semaphore in .bss", file: &sick{sections: notes(note("p", sickAt, 0, 0x23880, ""))},
			want: []string{sane + " location", "problem semaphore [semaphore-unwritable]", "ok arguments tracers"}},
		{name: "two semaphores for an instruction", file: &sick{sections: notes(note("p", sickAt, 0, 0x23010, ""), note("p", sickAt, 0, 0x23020, ""))},
			want: []string{sane + " location instruction", "problem semaphore [two-semaphores]", "ok arguments tracers"}},

		// Arguments.
		{name: "arguments", file: &sick{sections: notes(note("p", sickAt, 0, 0, register))},
			want: []string{sane + " location instruction semaphore arguments tracers"}, fine: true},
		{name: "an argument in a vector register", file: &sick{sections: notes(note("p", sickAt, 0, 0, vector))},
			want: []string{sane + " location instruction semaphore", "caution arguments [argument-unreadable]", "ok tracers"}, text: "argument 2 at", fine: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			image := []byte(tc.raw)
			if tc.file != nil {
				image = tc.file.write(t)
			}
			path := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(path, image, 0o644); err != nil {
				t.Fatal(err)
			}
			all, err := usdt.Diagnose(path, &usdt.DiagnoseOptions{Pattern: tc.pattern})
			if err != nil || len(all) != 1 {
				t.Fatalf("%d diagnoses, error %v", len(all), err)
			}
			d := all[0]
			got := diagnosed(d)
			// An ordinary user may not look at the tracers of others.
			got = slices.DeleteFunc(got, func(s string) bool { return s == "caution tracers [no-access]" })
			if want := slices.Clone(tc.want); !slices.Equal(fold(got), fold(want)) {
				t.Errorf("answers:\n  %s\nwant:\n  %s", strings.Join(fold(got), "\n  "), strings.Join(fold(want), "\n  "))
			}
			if d.Fine() != tc.fine {
				t.Errorf("%d of %d can be traced, want fine %v", d.Traceable, d.Probes, tc.fine)
			}
			var texts string
			for _, c := range d.Checks {
				if c.Reason != "" {
					texts += c.Text + "\n"
					if c.Severity == usdt.Fault && c.Remedy == "" {
						t.Errorf("no remedy for %s", c.Reason)
					}
				}
			}
			if !strings.Contains(texts, tc.text) {
				t.Errorf("texts %q, want %q in them", texts, tc.text)
			}
		})
	}
}

// fold takes the steps apart that are fine, but for the one on tracers, which needs
// privilege, and sorts nothing.
func fold(answers []string) []string {
	var out []string
	for _, a := range answers {
		steps, ok := strings.CutPrefix(a, "ok ")
		if !ok || strings.HasSuffix(a, "]") {
			out = append(out, a)
			continue
		}
		for step := range strings.FieldsSeq(steps) {
			if step != "tracers" {
				out = append(out, "ok "+step)
			}
		}
	}
	return out
}

func TestDiagnosePaths(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "libapp.so"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ path, want, text string }{
		{filepath.Join(dir, "libap.so"), "problem file [no-file]", "did you mean libapp.so?"},
		{filepath.Join(dir, "quite", "else"), "problem file [no-file]", "there is no file"},
		{dir, "problem file [not-a-file]", "is a directory"},
	} {
		all, err := usdt.Diagnose(tc.path, nil)
		if err != nil || len(all) != 1 {
			t.Fatalf("%s: %v, %v", tc.path, all, err)
		}
		if got := diagnosed(all[0]); !slices.Equal(got, []string{tc.want}) || !strings.Contains(all[0].Checks[0].Text, tc.text) {
			t.Errorf("%s: %+v, want %s with %q", tc.path, all[0].Checks, tc.want, tc.text)
		}
	}
	if _, err := usdt.Diagnose(dir, &usdt.DiagnoseOptions{Pattern: "nocolon"}); err == nil {
		t.Error("no error for a pattern without a colon")
	}
	if _, err := usdt.Diagnose("", nil); err == nil {
		t.Error("no error for nothing to look at")
	}
}

// docs/prerequisites.md has every reason, in the order in which they are found.
func TestReasonsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/prerequisites.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("diagnose_reasons.go")
	if err != nil {
		t.Fatal(err)
	}
	find := func(text []byte, pattern string) (out []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
			out = append(out, string(m[1]))
		}
		return out
	}
	reasons := find(source, `Reason = "([a-z-]+)"`)
	told := find(page, "(?m)^\\| `([a-z-]+)` \\|")
	if !slices.Equal(reasons, told) {
		t.Errorf("reasons in docs/prerequisites.md:\n%q\nin diagnose_reasons.go:\n%q", told, reasons)
	}
}
