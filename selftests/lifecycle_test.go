//go:build linux && (amd64 || arm64)

package selftests

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/internal/testutils"
)

// objectFiles lists the files of fabricated objects in a directory.
func objectFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.so"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func kill9(t *testing.T, e *emitter) {
	t.Helper()
	if err := e.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	e.Wait()
}

// TestKillLeavesNothing kills emitters with -9: a memfd is gone with its
// process, a file is swept by the next start, a file in use is not.
func TestKillLeavesNothing(t *testing.T) {
	dir := t.TempDir()

	e := startEmitter(t, "-backing", "memfd", "-dir", dir)
	if _, err := os.Stat(e.Path); err != nil {
		t.Fatal(err)
	}
	kill9(t, e)
	if _, err := os.Stat(e.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after kill -9: stat %s: %v", e.Path, err)
	}
	if files := objectFiles(t, dir); len(files) != 0 {
		t.Errorf("a memfd left files: %v", files)
	}

	dead := startEmitter(t, "-backing", "file", "-dir", dir)
	alive := startEmitter(t, "-backing", "file", "-dir", dir)
	kill9(t, dead)
	if files := objectFiles(t, dir); len(files) != 2 {
		t.Fatalf("want the files of the dead and the living process, have %v", files)
	}
	next := startEmitter(t, "-backing", "file", "-dir", dir)
	for _, f := range []struct {
		what, path string
		exists     bool
	}{{"dead", dead.Path, false}, {"living", alive.Path, true}, {"next", next.Path, true}} {
		if _, err := os.Stat(f.path); (err == nil) != f.exists {
			t.Errorf("the file of the %s process: %v", f.what, err)
		}
	}
	for _, e := range []*emitter{alive, next} {
		if got := e.command("close"); got != "closed" {
			t.Errorf("emitter says %q", got)
		}
	}
	if files := objectFiles(t, dir); len(files) != 0 {
		t.Errorf("after Close: %v", files)
	}
}

// TestBuildModes traces emitters that are built in the ways in which programs
// are: every value has to be exact in each.
func TestBuildModes(t *testing.T) {
	testutils.NeedBPF(t)
	goTool := testutils.Oracle(t, "go")
	for _, mode := range []struct {
		name string
		cgo  bool
		args []string
	}{
		{"exe", false, []string{"-buildmode=exe"}},
		{"pie", false, []string{"-buildmode=pie"}},
		{"unoptimized", false, []string{"-gcflags=all=-N -l"}},
		{"cgo", true, []string{"-tags=emitter_cgo"}},
		{"race", true, []string{"-race"}},
	} {
		t.Run(mode.name, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "emitter")
			cmd := exec.Command(goTool, append(append([]string{"build", "-o", program}, mode.args...), "./testprogs/emitter")...)
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
			if mode.cgo {
				testutils.Oracle(t, "gcc")
				cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
			}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("go build: %v\n%s", err, out)
			}
			e := startEmitterProgram(t, program)
			checkEmitter(t, e, 100)
		})
	}
}

// TestUnusualForms traces sites of every nop form that this machine can
// execute, whichever the kernel prefers.
func TestUnusualForms(t *testing.T) {
	testutils.NeedBPF(t)
	forms := []string{"nop1", "nop5", "nop10"}
	if runtime.GOARCH != "amd64" {
		forms = forms[:1]
	}
	for _, form := range forms {
		t.Run(form, func(t *testing.T) {
			e := startEmitter(t, "-form", form)
			if e.Form != form {
				t.Errorf("form is %s", e.Form)
			}
			checkEmitter(t, e, 20)
		})
	}
}

// checkEmitter traces an emitter, has it fire n times, and compares each event
// with what was fired.
func checkEmitter(t *testing.T, e *emitter, n int) {
	t.Helper()
	session, err := trace.Start(trace.Query{PID: e.PID, Clauses: []trace.Clause{{Pattern: "selftest:*"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if p := session.Problems(); len(p) > 0 {
		t.Fatal(p)
	}
	first := e.Fired
	e.fire(t, n)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	got := make(map[string]int)
	for ev, err := range session.Events(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		i := first + got[ev.Probe]
		got[ev.Probe]++
		text := ev.String()
		if at := strings.Index(text, "point="); at >= 0 { // an address
			text = text[:at]
		}
		if want := wantEvent(ev.Probe, int64(i)); text != want {
			t.Fatalf("event %d of %s:\n got %s\nwant %s", i, ev.Probe, text, want)
		}
		if ev.PID != e.PID {
			t.Fatalf("event of process %d, want %d", ev.PID, e.PID)
		}
		total := 0
		for _, c := range got {
			total += c
		}
		if total == 8*n {
			break
		}
	}
	for _, probe := range []string{"zero", "ints", "args12", "mixed12", "text", "floats", "other", "bytes"} {
		if got[probe] != n {
			t.Errorf("%d events of %s, want %d", got[probe], probe, n)
		}
	}
	if lost := session.Lost(); lost != 0 {
		t.Errorf("%d events lost", lost)
	}
}
