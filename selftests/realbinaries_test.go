//go:build linux

package selftests

import (
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cilium/ebpf/asm"
	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// recordedNotes are the notes of some files of Debian 12 as they once were, by
// the path of the file.
func recordedNotes(t *testing.T) map[string][]testutils.ReadelfNote {
	t.Helper()
	data, err := os.ReadFile("../elfgen/stapsdt/testdata/notes-amd64.tsv")
	if err != nil {
		t.Fatal(err)
	}
	notes := make(map[string][]testutils.ReadelfNote)
	for line := range strings.Lines(string(data)) {
		// package file class etype machine stapsdt_base_sec provider name location base semaphore args
		cols := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") {
			continue
		}
		number := func(s string) uint64 {
			n, err := strconv.ParseUint(s, 0, 64)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			return n
		}
		notes[cols[1]] = append(notes[cols[1]], testutils.ReadelfNote{
			Provider: cols[6], Name: cols[7], Args: cols[11],
			Location: number(cols[8]), Base: number(cols[9]), Semaphore: number(cols[10]),
		})
	}
	return notes
}

// The files with notes in packages of Debian 12 are read as readelf reads them,
// and every argument is understood and can be loaded by a program. Where the
// build is the one whose notes were recorded, they are the recorded ones.
func TestRealBinaries(t *testing.T) {
	recorded := recordedNotes(t)
	total := 0
	for _, tc := range []struct {
		pkg   string
		notes int // at least, lest a file be overlooked
	}{
		{"openjdk-17-jre-headless", 500},
		{"postgresql-15", 71},
		{"libruby3.1", 40},
		{"libpython3.11", 8},
		{"libstdc++6", 3},
		{"libvirt0", 30},
		{"sssd-common", 30},
		{"systemtap", 20},
		{"php8.2-cli", 10},
	} {
		t.Run(tc.pkg, func(t *testing.T) {
			root := debianPackage(t, tc.pkg)
			found := 0
			for _, path := range filesWithNotes(t, root) {
				name := strings.TrimPrefix(path, root)
				notes := checkNotes(t, path)
				found += len(notes)
				verdict := "not among the recorded files"
				if want, ok := recorded[name]; ok {
					verdict = "the recorded notes"
					if !slices.Equal(notes, want) {
						verdict = fmt.Sprintf("built anew since its %d notes were recorded, compared with readelf alone", len(want))
					}
				}
				t.Logf("%s: %d notes, %s", name, len(notes), verdict)
			}
			if found < tc.notes {
				t.Errorf("%d notes, want at least %d", found, tc.notes)
			}
			total += found
		})
	}
	t.Logf("%d notes", total)

	// The files of the machine itself may be those builds.
	t.Run("installed", func(t *testing.T) {
		for path, want := range recorded {
			if _, err := os.Stat(path); err != nil {
				t.Logf("%s: not installed", path)
				continue
			}
			verdict := "the recorded notes"
			if !slices.Equal(checkNotes(t, path), want) {
				verdict = "another build"
			}
			t.Logf("%s: %s", path, verdict)
		}
	})
}

// filesWithNotes returns the ELF files below a directory that have probe notes.
func filesWithNotes(t *testing.T, root string) []string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := elf.Open(path)
		if err != nil {
			return nil // no ELF file
		}
		defer f.Close()
		if f.Section(stapsdt.Section) != nil {
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// checkNotes compares what we read of a file with what readelf reads, and returns
// it.
func checkNotes(t *testing.T, path string) []testutils.ReadelfNote {
	t.Helper()
	want := testutils.ReadelfNotes(t, path)

	// As they stand in the notes.
	ef, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer ef.Close()
	data, err := ef.Section(stapsdt.Section).Data()
	if err != nil {
		t.Fatal(err)
	}
	var notes []testutils.ReadelfNote
	for n, err := range stapsdt.Notes(stapsdt.X86_64, data) {
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		notes = append(notes, testutils.ReadelfNote{Provider: n.Provider, Name: n.Name,
			Location: n.Location, Base: n.Base, Semaphore: n.Semaphore, Args: n.Args})
	}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Errorf("%s (-readelf +stapsdt):\n%s", path, diff)
	}

	// As they are in the file, with arguments that can be loaded.
	var base uint64
	if s := ef.Section(stapsdt.BaseSection); s != nil {
		base = s.Addr
	}
	f, err := usdt.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range f.Problems {
		t.Errorf("%s: %v", path, p)
	}
	var wantLines, gotLines []string
	for _, n := range want {
		n = n.Adjusted(base)
		n.Base = 0
		wantLines = append(wantLines, n.String())
	}
	for _, p := range f.Probes {
		for i := range p.Locations {
			loc := &p.Locations[i]
			gotLines = append(gotLines, testutils.ReadelfNote{Provider: p.Provider, Name: p.Name,
				Location: loc.Address, Semaphore: loc.Semaphore, Args: loc.ArgString}.String())
			for j, a := range loc.Args() {
				if a.Err != nil {
					t.Errorf("%s: %s: argument %d: %v", path, p, j+1, a.Err)
				}
				// Floats are in vector registers, which no program reads.
				_, err := usdt.LoadArg(loc.Machine, &a, usdt.Frame{Ctx: asm.R6, Dst: asm.R7, Scratch: -8})
				if err != nil && !a.Float {
					t.Errorf("%s: %s: argument %d: %v", path, p, j+1, err)
				}
			}
		}
	}
	slices.Sort(wantLines)
	slices.Sort(gotLines)
	if diff := cmp.Diff(wantLines, gotLines); diff != "" {
		t.Errorf("%s: locations (-readelf +usdt):\n%s", path, diff)
	}
	return notes
}
