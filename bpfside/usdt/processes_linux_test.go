package usdt_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// One file that several processes map is one, with all of them; one attach traces
// them all, and those that start later.
func TestAllTargets(t *testing.T) {
	prog := buildSDT(t, "-DSEMAPHORES")
	a, b := testutils.Start(t, prog), testutils.Start(t, prog)
	a.ReadLine()
	b.ReadLine()
	mem := startFromMemfd(t, prog) // the same bytes in another file
	res, err := usdt.AllTargets("app:values")
	if err != nil {
		t.Fatal(err, res.Problems)
	}
	for _, p := range res.Problems {
		if strings.Contains(p.Error(), prog) {
			t.Error(p)
		}
	}
	byPath := func(path string, pid int) *usdt.Target {
		for _, target := range res.Targets {
			if target.Path == path && slices.Contains(target.PIDs, pid) {
				return target
			}
		}
		t.Fatalf("no target in %s of process %d", path, pid)
		return nil
	}
	named, memfd := byPath(prog, a.PID), byPath("/memfd:app memfd", mem.PID)
	want := []int{a.PID, b.PID}
	slices.Sort(want)
	if diff := cmp.Diff(want, named.PIDs); diff != "" {
		t.Errorf("processes of the named file (-want +got):\n%s", diff)
	}
	if named.PID != 0 || memfd.PID != 0 {
		t.Errorf("targets of processes %d and %d, want all", named.PID, memfd.PID)
	}
	needMethod(t, usdt.UprobeMulti)
	r := newRig(t, named, usdt.UprobeMulti, 1)
	r.attach(named, nil)
	r.attach(memfd, nil)
	c := testutils.Start(t, prog)
	c.ReadLine()
	for i, child := range []*testutils.Child{a, b, mem, c} {
		fireSDT(t, child, i)
	}
	for i, h := range r.hits(4) {
		if h.values[0] != uint64(i) {
			t.Errorf("hit %d has value %d", i, h.values[0])
		}
	}
}

// A target is reachable through whichever of its processes is left.
func TestAllTargetsSurviveProcesses(t *testing.T) {
	prog := buildSDT(t)
	a, b := testutils.Start(t, prog), testutils.Start(t, prog)
	a.ReadLine()
	b.ReadLine()
	if err := os.Remove(prog); err != nil { // no name either
		t.Fatal(err)
	}
	res, err := usdt.AllTargets("app:values")
	if err != nil {
		t.Fatal(err, res.Problems)
	}
	i := slices.IndexFunc(res.Targets, func(target *usdt.Target) bool { return slices.Contains(target.PIDs, b.PID) })
	if i < 0 {
		t.Fatal("not found")
	}
	first := a
	if b.PID < a.PID {
		first = b
	}
	first.CloseInput()
	first.Wait()
	needMethod(t, usdt.Auto)
	newRig(t, res.Targets[i], usdt.Auto, -1).attach(res.Targets[i], nil)
}

func TestAllTargetsErrors(t *testing.T) {
	_, err := usdt.AllTargets("no such provider:*")
	if !errors.Is(err, usdt.ErrNoProbe) || !strings.Contains(err.Error(), "no such probe in any process") {
		t.Errorf("error %v, want no such probe", err)
	}
	if _, err := usdt.AllTargets("app"); err == nil {
		t.Error("a pattern without a colon was taken")
	}
}

// Processes of others are one problem that says what is missing. The test runs
// itself as an ordinary user.
func TestAllTargetsWithoutPrivilege(t *testing.T) {
	out := asUser(t, "^TestPrintAllTargets$")
	if !strings.Contains(out, "processes, such as 1: read mappings: permission denied: missing CAP_SYS_PTRACE (run as root") {
		t.Errorf("output:\n%s", out)
	}
}

// TestPrintAllTargets is for TestAllTargetsWithoutPrivilege.
func TestPrintAllTargets(t *testing.T) {
	res, err := usdt.AllTargets()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, p := range res.Problems {
		if pe := new(usdt.ProcessError); errors.As(p, &pe) {
			t.Logf("problem: %v", p)
			n++
		}
	}
	if n > 1 {
		t.Errorf("%d problems for processes, want one", n)
	}
}

func BenchmarkAllTargets(b *testing.B) {
	for b.Loop() {
		if _, err := usdt.AllTargets(); err != nil {
			b.Fatal(err)
		}
	}
}
