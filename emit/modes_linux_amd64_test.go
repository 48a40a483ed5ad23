package emit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/internal/testutils"
)

// Every way to build a Go program: nothing is lost, nothing crashes.
func TestBuildModes(t *testing.T) {
	for _, tt := range []struct {
		name  string
		cgo   bool
		flags []string
		hits  uint64
	}{
		{name: "static", hits: 8 * 2000},
		{name: "no optimization", flags: []string{"-gcflags=all=-N -l"}, hits: 8 * 2000},
		{name: "pie", flags: []string{"-buildmode=pie"}, hits: 8 * 2000},
		{name: "cgo", cgo: true, hits: 8 * 2000},
		{name: "race", cgo: true, flags: []string{"-race"}, hits: 8 * 2000},
		{name: "c-shared", cgo: true, flags: []string{"-buildmode=c-shared"}, hits: 8 * 2000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if testing.Short() && tt.name != "static" {
				t.Skip("skipped: builds take long")
			}
			uprobePMU(t)
			exe := buildMode(t, tt.cgo, tt.flags)
			child := testutils.StartCmd(t, exe)
			path, ok := strings.CutPrefix(child.ReadLine(), "ready ")
			if !ok {
				t.Fatalf("child says %q", path)
			}
			u := attachAt(t, path, modesLocation(t), 0, false)
			child.WriteLine("fire")
			if line := child.ReadLine(); line != "done" {
				t.Fatalf("child says %q; %s", line, child.Stderr())
			}
			if n := u.count(); n != tt.hits {
				t.Errorf("%d hits, want %d", n, tt.hits)
			}
			u.detach()
			child.WriteLine("end")
			if line := child.ReadLine(); line != "closed" {
				t.Errorf("child says %q", line)
			}
			if err := child.Wait(); err != nil {
				t.Errorf("child: %v\n%s", err, child.Stderr())
			}
		})
	}
}

// buildMode builds testdata/modes and returns the command that runs it.
func buildMode(t *testing.T, cgo bool, flags []string) *exec.Cmd {
	t.Helper()
	goTool := testutils.Oracle(t, "go")
	out := filepath.Join(t.TempDir(), "modes")
	cmd := exec.Command(goTool, append(append([]string{"build"}, flags...), "-o", out, "./testdata/modes")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if cgo {
		testutils.Oracle(t, "gcc")
		cmd.Env = append(cmd.Env, "CGO_ENABLED=1")
	}
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	if len(flags) == 0 || flags[0] != "-buildmode=c-shared" {
		return exec.Command(out)
	}
	host := testutils.BuildC(t, `
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
	void *lib = dlopen(argv[1], RTLD_NOW);
	if (!lib)
		return fprintf(stderr, "%s\n", dlerror()), 1;
	void (*run)(void) = (void (*)(void))dlsym(lib, "Run");
	if (!run)
		return fprintf(stderr, "%s\n", dlerror()), 1;
	run();
	return 0;
}`, "-ldl")
	return exec.Command(host, out)
}

// modesLocation returns the offset of the child's site in its object.
func modesLocation(t *testing.T) int {
	t.Helper()
	p, err := NewProvider("modes", nil)
	if err != nil {
		t.Fatal(err)
	}
	tick, err := NewProbe3[int64, string, *[64]uint64](p, "tick", nil)
	if err != nil {
		t.Fatal(err)
	}
	machine, err := hostMachine()
	if err != nil {
		t.Fatal(err)
	}
	spec := elfgen.ProviderSpec{Name: "modes", Probes: []elfgen.ProbeSpec{tick.probe.spec}}
	obj, err := elfgen.Build(&spec, machine, p.NopForm())
	if err != nil {
		t.Fatal(err)
	}
	return obj.Sites[0].Location
}
