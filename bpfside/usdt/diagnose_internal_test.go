package usdt

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nopfire/nopfire/internal/testutils"
)

// lastFault returns the reason against all probes.
func lastFault(t *testing.T, path, pattern string) (Reason, Check) {
	t.Helper()
	all, err := Diagnose(path, &DiagnoseOptions{Pattern: pattern})
	if err != nil || len(all) != 1 {
		t.Fatalf("%d diagnoses, error %v", len(all), err)
	}
	for _, c := range slices.Backward(all[0].Checks) {
		if c.Severity == Fault {
			return c.Reason, c
		}
	}
	if !all[0].Fine() {
		t.Errorf("no fault, but %d of %d", all[0].Traceable, all[0].Probes)
	}
	return "", Check{}
}

// What the usual tools do to a program with a probe.
func TestDiagnoseTools(t *testing.T) {
	gcc := testutils.Oracle(t, "gcc")
	objcopy, strip, ar := testutils.Oracle(t, "objcopy"), testutils.Oracle(t, "strip"), testutils.Oracle(t, "ar")
	const source = `
		#include <sys/sdt.h>
		int main(int argc, char **argv) { DTRACE_PROBE1(app, request, argc); return 0; }`
	prog := testutils.BuildC(t, source)
	from := prog + ".c"
	for _, tc := range []struct {
		name string
		make func(out string) *exec.Cmd
		want Reason
	}{
		{"copied", func(out string) *exec.Cmd { return exec.Command("cp", prog, out) }, ""},
		{"stripped", func(out string) *exec.Cmd { return exec.Command(strip, "-o", out, prog) }, ""},
		{"stripped of debug information", func(out string) *exec.Cmd { return exec.Command(strip, "-g", "-o", out, prog) }, ""},
		{"stripped of the notes", func(out string) *exec.Cmd {
			return exec.Command(strip, "--remove-section=.note.stapsdt", "-o", out, prog)
		}, ReasonNotesRemoved},
		{"its debug file", func(out string) *exec.Cmd { return exec.Command(objcopy, "--only-keep-debug", prog, out) }, ReasonDebugFile},
		{"an object file", func(out string) *exec.Cmd { return exec.Command(gcc, "-c", "-o", out, from) }, ReasonObjectFile},
		{"a static library", func(out string) *exec.Cmd { return exec.Command(ar, "rc", out, prog) }, ReasonStaticLibrary},
		{"cut in half", func(out string) *exec.Cmd { return exec.Command("head", "-c", "6000", prog) }, ReasonMalformed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := os.WriteFile(from, []byte(source), 0o644); err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(t.TempDir(), "out")
			cmd := tc.make(out)
			text, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v\n%s", cmd, err, text)
			}
			if cmd.Args[0] == "head" {
				if err := os.WriteFile(out, text, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if got, c := lastFault(t, out, "app:request"); got != tc.want {
				t.Errorf("%s (%s), want %q", got, c.Text, tc.want)
			}
		})
	}
}

// A probe that is in a library that the program is linked with.
func TestDiagnoseInLibrary(t *testing.T) {
	lib := testutils.BuildC(t, `
		#include <sys/sdt.h>
		void work(void) { DTRACE_PROBE(sicklib, inner); }`, "-shared", "-fPIC", "-Wl,-soname,libsick.so.1")
	dir := t.TempDir()
	path := filepath.Join(dir, "libsick.so.1")
	if err := os.Rename(lib, path); err != nil {
		t.Fatal(err)
	}
	old := libraryDirs
	t.Cleanup(func() { libraryDirs = old })
	libraryDirs = append([]string{dir}, old...)

	for name, source := range map[string]string{
		"without probes": `void work(void); int main() { work(); return 0; }`,
		"with a probe of its own": `#include <sys/sdt.h>
			void work(void); int main() { DTRACE_PROBE(app, outer); work(); return 0; }`,
	} {
		prog := testutils.BuildC(t, source, path)
		got, c := lastFault(t, prog, "sicklib:inner")
		if got != ReasonInLibrary || !strings.Contains(c.Remedy, path+" sicklib:inner") {
			t.Errorf("%s: %s: %s -> %s", name, got, c.Text, c.Remedy)
		}
		if got, _ := lastFault(t, prog, "sicklib:iner"); got == ReasonInLibrary || got == "" {
			t.Errorf("%s, and no such probe anywhere: %q", name, got)
		}
	}
}

// The library is found as the loader finds it: in a directory that the program names,
// or a library that it needs.
func TestDiagnoseInLibraryOfRunpath(t *testing.T) {
	dir := t.TempDir()
	inner, outer := filepath.Join(dir, "libinner.so"), filepath.Join(dir, "libouter.so")
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	move(testutils.BuildC(t, `
		#include <sys/sdt.h>
		void work(void) { DTRACE_PROBE(sicklib, inner); }`, "-shared", "-fPIC", "-Wl,-soname,libinner.so"), inner)
	move(testutils.BuildC(t, `void work(void); void more(void) { work(); }`,
		"-shared", "-fPIC", "-Wl,-soname,libouter.so", "-Wl,-rpath,$ORIGIN", inner), outer)
	const source = `void more(void); int main() { more(); return 0; }`
	for name, tag := range map[string]string{"DT_RUNPATH": "--enable-new-dtags", "DT_RPATH": "--disable-new-dtags"} {
		prog := testutils.BuildC(t, source, outer, "-Wl,-rpath,"+dir, "-Wl,"+tag, "-Wl,-rpath-link,"+dir)
		if got := Needed(prog); len(got) < 2 || got[0] != outer || !slices.Contains(got, inner) {
			t.Errorf("%s: needs %q, want %s and what that needs", name, got, outer)
		}
		if got, c := lastFault(t, prog, "sicklib:inner"); got != ReasonInLibrary || !strings.Contains(c.Remedy, inner+" sicklib:inner") {
			t.Errorf("%s: %s: %s -> %s", name, got, c.Text, c.Remedy)
		}
	}
	prog := testutils.BuildC(t, source, outer, "-Wl,-rpath-link,"+dir)
	t.Setenv("LD_LIBRARY_PATH", dir)
	if got, _ := lastFault(t, prog, "sicklib:inner"); got != ReasonInLibrary {
		t.Errorf("LD_LIBRARY_PATH: %s", got)
	}
}

// A file that needs more than any loader would look for is done with soon.
func TestNeededOfHostileFile(t *testing.T) {
	dirs := strings.Repeat("/x:", maxDynamicPaths/3)
	lookups := 3
	if got := findNeeded("libx.so", strings.Split(dirs, ":"), &lookups); got != "" || lookups >= 0 {
		t.Errorf("%q, %d lookups left", got, lookups)
	}
	d := dynamicInfo{rpath: []string{"/a:$ORIGIN/b", "/c"}}
	if got := d.dirs("/opt/app/prog"); len(got) < 3 || got[0] != "/a" || got[1] != "/opt/app/b" || got[2] != "/c" {
		t.Errorf("directories %q", got)
	}
	d.runpath = []string{"${ORIGIN}/../lib"} // which DT_RPATH is ignored for
	if got := d.dirs("/opt/app/prog"); len(got) == 0 || got[len(got)-1] != "/opt/app/../lib" || slices.Contains(got, "/a") {
		t.Errorf("directories %q", got)
	}
}
