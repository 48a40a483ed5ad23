package usdt_test

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// foreignMachines are the machines of the fixtures: Debian's name in front of
// the file name, and ours.
var foreignMachines = map[string]stapsdt.Machine{
	"arm64": stapsdt.ARM64, "armhf": stapsdt.ARM, "i386": stapsdt.I386, "mips64el": stapsdt.MIPS64LE,
	"ppc64el": stapsdt.PPC64LE, "riscv64": stapsdt.RISCV64, "s390x": stapsdt.S390X,
}

// loadableMachines are those whose arguments LoadArg can read, wherever it runs.
var loadableMachines = map[stapsdt.Machine]bool{
	stapsdt.ARM64: true, stapsdt.I386: runtime.GOARCH != "386", stapsdt.PPC64LE: true, stapsdt.RISCV64: true, stapsdt.S390X: true,
}

// gunzip returns the content of a compressed file.
func gunzip(t testing.TB, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// foreignFixtures returns the fixtures of testdata/foreign, made of the files of
// Debian packages by the script there.
func foreignFixtures(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/foreign/*.elf.gz")
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// The notes of programs of every machine are read as readelf reads them, every
// argument is understood, and every location and semaphore has its place in the
// file.
func TestOpenForeign(t *testing.T) {
	missing := make(map[stapsdt.Machine]bool)
	for _, m := range foreignMachines {
		missing[m] = true
	}
	for _, path := range foreignFixtures(t) {
		name := strings.TrimSuffix(filepath.Base(path), ".elf.gz")
		t.Run(name, func(t *testing.T) {
			image := gunzip(t, path)
			dump, err := os.ReadFile(strings.TrimSuffix(path, ".elf.gz") + ".notes")
			if err != nil {
				t.Fatal(err)
			}
			notes, err := testutils.ParseReadelf(bytes.NewReader(dump))
			if err != nil {
				t.Fatal(err)
			}
			arch, _, _ := strings.Cut(name, "-")
			machine := foreignMachines[arch]
			delete(missing, machine)

			// As they stand in the notes.
			ef, err := elf.NewFile(bytes.NewReader(image))
			if err != nil {
				t.Fatal(err)
			}
			data, err := ef.Section(stapsdt.Section).Data()
			if err != nil {
				t.Fatal(err)
			}
			var raw []testutils.ReadelfNote
			for n, err := range stapsdt.Notes(machine, data) {
				if err != nil {
					t.Error(err)
				}
				raw = append(raw, testutils.ReadelfNote{Provider: n.Provider, Name: n.Name,
					Location: n.Location, Base: n.Base, Semaphore: n.Semaphore, Args: n.Args})
			}
			if diff := cmp.Diff(notes, raw); diff != "" || len(raw) == 0 {
				t.Errorf("%d notes (-readelf +stapsdt):\n%s", len(raw), diff)
			}

			// As they are in the file.
			f := open(t, image)
			if f.Machine != machine || len(f.BuildID) != 20 {
				t.Errorf("machine %s, build-id %x; want %s and 20 bytes", f.Machine, f.BuildID, machine)
			}
			if len(f.Problems) > 0 {
				t.Errorf("problems: %v", f.Problems)
			}
			base := ef.Section(stapsdt.BaseSection).Addr
			var want, got []string
			for _, n := range notes {
				n = n.Adjusted(base)
				n.Base = 0
				want = append(want, n.String())
			}
			args, loadable, symbols := 0, 0, 0
			for _, p := range f.Probes {
				for i := range p.Locations {
					loc := &p.Locations[i]
					got = append(got, testutils.ReadelfNote{Provider: p.Provider, Name: p.Name,
						Location: loc.Address, Semaphore: loc.Semaphore, Args: loc.ArgString}.String())
					if loc.Err != nil || loc.Offset == 0 || (loc.RefCtrOffset == 0) != (loc.Semaphore == 0) {
						t.Errorf("%s: location at %#x, semaphore at %#x: %v", p, loc.Offset, loc.RefCtrOffset, loc.Err)
					}
					for j, a := range loc.Args() {
						args++
						if a.Err != nil {
							t.Errorf("%s: argument %d: %v", p, j+1, a.Err)
						}
						// Of those machines whose registers a program sees.
						if _, err := usdt.LoadArg(machine, &a, usdt.Frame{Ctx: asm.R6, Dst: asm.R7, Scratch: -8}); err == nil {
							loadable++
						} else if loadableMachines[machine] {
							t.Errorf("%s: argument %d: %v", p, j+1, err)
						}
					}
					if loc.Symbols != nil {
						symbols++
					}
				}
			}
			slices.Sort(want)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("locations (-readelf +usdt):\n%s", diff)
			}
			t.Logf("%d notes, %d arguments, %d of them loadable, %d locations with symbols", len(got), args, loadable, symbols)
		})
	}
	for m := range missing {
		t.Errorf("no fixture of %s", m)
	}
}

// The dumps beside the fixtures are what readelf says of the fixtures too.
func TestForeignDumps(t *testing.T) {
	for _, path := range foreignFixtures(t) {
		file := filepath.Join(t.TempDir(), "elf")
		if err := os.WriteFile(file, gunzip(t, path), 0o644); err != nil {
			t.Fatal(err)
		}
		dump, err := os.Open(strings.TrimSuffix(path, ".elf.gz") + ".notes")
		if err != nil {
			t.Fatal(err)
		}
		want, err := testutils.ParseReadelf(dump)
		dump.Close()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, testutils.ReadelfNotes(t, file)); diff != "" {
			t.Errorf("%s (-committed +readelf):\n%s", path, diff)
		}
	}
}

// What cannot run here is refused before anything is attached.
func TestAttachForeign(t *testing.T) {
	host, _ := usdt.HostMachine()
	for _, m := range []stapsdt.Machine{stapsdt.ARM64, stapsdt.S390X, stapsdt.X86_64} {
		if m == host {
			continue
		}
		path := filepath.Join(t.TempDir(), "lib.so")
		if err := os.WriteFile(path, build(t, m), 0o644); err != nil {
			t.Fatal(err)
		}
		res, err := usdt.FileTargets(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = usdt.AttachUSDT(new(ebpf.Program), res.Targets[0], &usdt.Options{Method: usdt.UprobeMulti})
		if !errors.Is(err, usdt.ErrNotSupported) {
			t.Errorf("%s: error %v, want ErrNotSupported", m, err)
		}
		t.Log(err)
	}
}
