package main

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// runCommand runs the command line and returns its exit status and what it printed.
func runCommand(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = execute(context.Background(), args, strings.NewReader(""), &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

// Files that are wrong in one place: each form of list ends with a status of its own
// and a reason, lists what can be read, and never moves the cursor of a terminal.
func TestListBadFiles(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", filepath.Join(t.TempDir(), "none", "here"))
	obj, err := elfgen.Build(&elfgen.ProviderSpec{Name: "app", Probes: []elfgen.ProbeSpec{{Name: "one"}, {Name: "two", Semaphore: true}}},
		stapsdt.X86_64, elfgen.FormNop5)
	if err != nil {
		t.Fatal(err)
	}
	ef, err := elf.NewFile(bytes.NewReader(obj.Image))
	if err != nil {
		t.Fatal(err)
	}
	notes := ef.Section(stapsdt.Section)
	le := binary.LittleEndian
	shoff := le.Uint64(obj.Image[40:])
	header := func(name string) uint64 { // of a section, in the file
		for i, s := range ef.Sections {
			if s.Name == name {
				return shoff + uint64(i)*64
			}
		}
		t.Fatalf("no section %s", name)
		return 0
	}
	const desc = 12 + 8 // of the first note: behind the header and the owner

	for _, tc := range []struct {
		name   string
		mutate func(b []byte) []byte
		// What list does with the file: its status, lines of app:one and app:two,
		// and a text on standard error.
		status, lines int
		errText       string
		// What --why says.
		why string
	}{
		{"the magic number", func(b []byte) []byte { b[1] = 'e'; return b }, 1, 0, "is not an ELF file: it begins with 7f 65 4c 46", "[not-elf]"},
		{"the class", func(b []byte) []byte { b[4] = 9; return b }, 1, 0, "unknown class 9", "[malformed-elf]"},
		{"the byte order", func(b []byte) []byte { b[5] = 7; return b }, 1, 0, "unknown byte order 7", "[malformed-elf]"},
		{"cut off in the header", func(b []byte) []byte { return b[:30] }, 1, 0, "unexpected EOF", "[malformed-elf]"},
		{"the machine", func(b []byte) []byte { le.PutUint16(b[18:], 0x7777); return b }, 1, 0, "not supported: machine", "[other-machine]"},
		{"the place of the section headers", func(b []byte) []byte { le.PutUint64(b[40:], 1<<62); return b }, 1, 0, "section headers of", "[malformed-elf]"},
		{"the number of sections", func(b []byte) []byte { le.PutUint16(b[60:], 0xfff0); return b }, 1, 0, "section headers of", "[malformed-elf]"},
		{"no section headers", func(b []byte) []byte { clear(b[40:48]); clear(b[60:64]); return b }, 0, 0, "no probes in", "[no-sections]"},
		{"the size of the notes", func(b []byte) []byte { le.PutUint64(b[header(stapsdt.Section)+32:], 1<<40); return b }, 0, 0, "more than the limit", "[notes-unreadable]"},
		{"the place of the notes", func(b []byte) []byte { le.PutUint64(b[header(stapsdt.Section)+24:], 1<<40); return b }, 0, 0, "ends beyond the file", "[notes-unreadable]"},
		{"the size of a note", func(b []byte) []byte { le.PutUint32(b[notes.Offset+4:], 1<<30); return b }, 0, 0, ".note.stapsdt: at", "[malformed-note]"},
		{"the address of a probe", func(b []byte) []byte { le.PutUint64(b[notes.Offset+desc:], 1<<40); return b }, 0, 2, "location is not in an executable segment", "[not-executable]"},
		{"an address of 0", func(b []byte) []byte { clear(b[notes.Offset+desc : notes.Offset+desc+8]); return b }, 0, 1, "the linker discarded the probed code", "[discarded]"},
		{"an address in an instruction", func(b []byte) []byte { b[notes.Offset+desc]++; return b }, 0, 2, "", "app:one"},
		{"a name that moves the cursor", func(b []byte) []byte { copy(b[notes.Offset+desc+24:], "\x1b[m"); return b }, 0, 1, "", `\x1b[m`},
		{"an instruction that is refused", func(b []byte) []byte { b[0x1000] = 0xcc; return b }, 0, 2, "", "[instruction-refused]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "bad.so")
			if err := os.WriteFile(path, tc.mutate(bytes.Clone(obj.Image)), 0o644); err != nil {
				t.Fatal(err)
			}
			quiet := func(what, text string) {
				if i := strings.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\n' }); i >= 0 {
					t.Errorf("%s has a control character at %q", what, text[i:])
				}
			}
			for _, form := range [][]string{{"list"}, {"list", "-v"}, {"list", "--json"}} {
				status, out, errs := runCommand(t, append(form, path)...)
				if status != tc.status || !strings.Contains(errs, tc.errText) || (tc.errText == "") != (errs == "") {
					t.Errorf("%s: status %d, error %q; want %d, %q", form, status, errs, tc.status, tc.errText)
				}
				if n := strings.Count(out, "app:one") + strings.Count(out, "app:two") + strings.Count(out, `"provider":"app"`); n != tc.lines {
					t.Errorf("%s: %d probes, want %d: %s", form, n, tc.lines, out)
				}
				quiet("standard output", out)
				quiet("standard error", errs)
			}
			// In a directory none of it is a failure, and what does not begin as an
			// ELF file is none.
			inDir := tc.errText
			if tc.why == "[not-elf]" {
				inDir = ""
			}
			if status, _, errs := runCommand(t, "list", filepath.Dir(path)); status != 0 || !strings.Contains(errs, inDir) {
				t.Errorf("in a directory: status %d, error %q", status, errs)
			}
			status, out, errs := runCommand(t, "list", "--why", path)
			if !strings.Contains(out, tc.why) || status > 1 {
				t.Errorf("--why: status %d, want %q in %s", status, tc.why, out)
			}
			quiet("--why", out)
			quiet("--why", errs)
			_, out, _ = runCommand(t, "list", "--why", "--json", path)
			if !strings.HasSuffix(out, "}\n") || !strings.Contains(out, `{"kind":"verdict",`) {
				t.Errorf("--why --json: %s", out)
			}
		})
	}
}
