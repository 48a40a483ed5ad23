package usdt_test

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf/asm"
	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// readelfNotes returns the probe notes of a file as readelf prints them, a line
// each: "PROVIDER:NAME location semaphore arguments", with the addresses moved by
// as much as the base was.
func readelfNotes(t *testing.T, path string) []string {
	t.Helper()
	var base uint64
	if ef, err := elf.Open(path); err == nil {
		if sec := ef.Section(stapsdt.BaseSection); sec != nil {
			base = sec.Addr
		}
		ef.Close()
	}
	var lines []string
	for _, n := range testutils.ReadelfNotes(t, path) {
		n = n.Adjusted(base)
		lines = append(lines, fmt.Sprintf("%s:%s %#x %#x %s", n.Provider, n.Name, n.Location, n.Semaphore, n.Args))
	}
	slices.Sort(lines)
	return lines
}

// Files of strangers are read as readelf reads them, and all their arguments are
// understood and can be read by a program.
func TestOpenAgreesWithReadelf(t *testing.T) {
	files := map[string]string{
		"sdt.h with semaphores": testutils.BuildC(t, sdtSource, "-DSEMAPHORES"),
		"sdt.h, unoptimized":    testutils.BuildC(t, sdtSource, "-O0"),
		"sdt.h, no PIE":         testutils.BuildC(t, sdtSource, "-no-pie"),
	}
	// What the host has; the CI installs more of them.
	for _, glob := range []string{"/usr/lib/*/libstdc++.so.6", "/usr/lib/*/libpython3*.so.1.0", "/usr/lib/jvm/*/lib/server/libjvm.so", "/usr/lib/postgresql/*/bin/postgres"} {
		paths, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paths {
			if p, err = filepath.EvalSymlinks(p); err == nil {
				files[p] = p
			}
		}
	}
	for name, path := range files {
		t.Run(strings.TrimPrefix(name, "/"), func(t *testing.T) {
			want := readelfNotes(t, path)
			f, err := usdt.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range f.Probes {
				for i := range p.Locations {
					loc := &p.Locations[i]
					got = append(got, strings.TrimSpace(fmt.Sprintf("%s %#x %#x %s", p, loc.Address, loc.Semaphore, loc.ArgString)))
					for _, a := range loc.Args() {
						if a.Err != nil {
							t.Errorf("%s: %v", p, a.Err)
						}
						_, err := usdt.LoadArg(loc.Machine, &a, usdt.Frame{Ctx: asm.R6, Dst: asm.R7, Scratch: -8})
						if err != nil && !a.Float { // floats are in vector registers
							t.Errorf("%s: %v", p, err)
						}
					}
				}
			}
			slices.Sort(got)
			for i := range want {
				want[i] = strings.TrimSpace(want[i])
			}
			if len(want) == 0 {
				t.Fatal("readelf finds no notes")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("notes (-readelf +usdt):\n%s", diff)
			}
			if len(f.Problems) > 0 {
				t.Errorf("problems: %v", f.Problems)
			}
			t.Logf("%d notes", len(got))
		})
	}
}

// sdtSource is a C program with probes of two providers.
const sdtSource = `
#ifdef SEMAPHORES
#define _SDT_HAS_SEMAPHORES 1
unsigned short app_one_semaphore __attribute__((section(".probes"))) = 0;
unsigned short lib_two_semaphore __attribute__((section(".probes"))) = 0;
#endif
#include <sys/sdt.h>
int v = 3; double d = 2.5; char s[] = "text";
int main(int argc, char **argv)
{
	DTRACE_PROBE(app, one);
	DTRACE_PROBE3(lib, two, argc, argv[0], v);
	DTRACE_PROBE2(lib, two, s, (char)argc);
	return 0;
}`

// The faults of probes that nobody asked for are not shown.
func TestProblemsOfOtherProbes(t *testing.T) {
	image := bytes.Clone(build(t, stapsdt.X86_64))
	sec := section(t, image, stapsdt.Section)
	clear(image[sec.Offset+20 : sec.Offset+28]) // app:request becomes a tombstone
	path := filepath.Join(t.TempDir(), "lib.so")
	if err := os.WriteFile(path, image, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		patterns []string
		want     int
	}{
		{nil, 1}, {[]string{"app:*"}, 1}, {[]string{"app:visit"}, 0}, {[]string{"app:visit", "*:bare"}, 0},
	} {
		res, err := usdt.FileTargets(path, tc.patterns...)
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Problems) != tc.want {
			t.Errorf("patterns %q: problems %v, want %d", tc.patterns, res.Problems, tc.want)
		}
	}
}
