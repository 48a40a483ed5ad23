//go:build amd64 || arm64

package trace_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// A file that is named is traced before anybody maps it, from the first instruction
// of whoever does.
func TestPathBeforeTheProcess(t *testing.T) {
	testutils.NeedBPF(t)
	prog := testutils.BuildC(t, sdtProgram)
	s := start(t, trace.Query{Clauses: []trace.Clause{
		{Path: prog, Pattern: ":num", Where: "arg1 > 1"},
		{Path: prog, Pattern: "seq:done"},
		{Path: prog, Pattern: "seq:num", Aggregate: trace.Count, ByProcess: true},
	}})
	var pids []int
	for range 2 {
		child := testutils.Start(t, prog)
		child.ReadLine()
		child.WriteLine("4")
		child.ReadLine()
		child.CloseInput()
		child.Wait()
		pids = append(pids, child.PID)
	}
	events := drain(t, s)
	if len(events) != 6 {
		t.Fatalf("events\n%s", text(events))
	}
	for i, want := range []string{"seq:num arg1=2", "seq:num arg1=3", "seq:done"} {
		if got := events[3+i]; got.String() != want || got.PID != pids[1] || got.Clause != map[bool]int{true: 1}[i == 2] {
			t.Errorf("event %v of process %d, clause %d; want %s of %d", got, got.PID, got.Clause, want, pids[1])
		}
	}
	got := rows(t, s)
	if len(got) != 2 || got[0].Count != 4 || got[1].Count != 4 || got[0].Comm != "prog" || got[1].Comm != "prog" {
		t.Errorf("rows %+v", got)
	}
}

// A file that a process is going to map is traced from its first instruction, and each
// hit once when the follower has found it, too.
func TestFilesOfAProcess(t *testing.T) {
	testutils.NeedBPF(t)
	prog := testutils.BuildC(t, sdtProgram)
	child := testutils.StartCmd(t, exec.Command("sh", "-c", `echo held; read go; exec "$1"`, "sh", prog))
	child.ReadLine()
	s := start(t, trace.Query{PID: child.PID, Later: true, Clauses: clauses("seq:*"), Files: []string{prog, "/proc/self/exe"}})
	child.WriteLine("go")
	child.ReadLine()
	child.WriteLine("2")
	child.ReadLine()
	next(t, s, 9)
	time.Sleep(50 * time.Millisecond) // the follower has seen it
	child.WriteLine("3")
	child.ReadLine()
	if events := drain(t, s); len(events) != 13 {
		t.Errorf("%d events, want 13", len(events))
	}
}

// A file that replaces the one that was attached to is traced in whoever maps it, and
// the old one as long as somebody does; one that is written to is another one.
func TestPathThatIsReplaced(t *testing.T) {
	testutils.NeedBPF(t)
	prog := testutils.BuildC(t, sdtProgram)
	data, err := os.ReadFile(prog)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "prog")
	install := func() {
		t.Helper()
		if err := os.WriteFile(path+".new", data, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	install()
	s := start(t, trace.Query{Clauses: []trace.Clause{{Path: path, Pattern: "seq:num"}}})
	old := testutils.Start(t, path)
	old.ReadLine()
	install()
	upgraded := testutils.Start(t, path)
	upgraded.ReadLine()
	fire := func(c *testutils.Child) {
		c.WriteLine("1")
		c.ReadLine()
	}
	// The old one gives an event each time, the new one from some time on.
	deadline := time.Now().Add(10 * time.Second)
	for seen := false; !seen; {
		if time.Now().After(deadline) {
			t.Fatal("the new file is never traced")
		}
		fire(upgraded)
		fire(old)
		for ev := (trace.Event{}); ev.PID != old.PID; {
			ev = next(t, s, 1)[0]
			seen = seen || ev.PID == upgraded.PID
		}
		time.Sleep(10 * time.Millisecond)
	}
	fire(old)
	fire(upgraded)
	if got := next(t, s, 2); got[0].PID != old.PID || got[1].PID != upgraded.PID {
		t.Errorf("events\n%s", text(got))
	}
}

// With a process, only that one is traced, and the session ends with it.
func TestPathOfOneProcess(t *testing.T) {
	testutils.NeedBPF(t)
	prog := testutils.BuildC(t, sdtProgram)
	child, other := testutils.Start(t, prog), testutils.Start(t, prog)
	child.ReadLine()
	other.ReadLine()
	s := start(t, trace.Query{PID: child.PID, Clauses: []trace.Clause{{Path: prog, Pattern: "seq:num"}}})
	for _, c := range []*testutils.Child{other, child} {
		c.WriteLine("2")
		c.ReadLine()
	}
	child.CloseInput()
	child.Wait()
	n := 0
	for ev, err := range s.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.PID != child.PID {
			t.Errorf("event of process %d", ev.PID)
		}
		n++
	}
	if n != 2 {
		t.Errorf("%d events, want 2", n)
	}
}

// A file that was replaced since the process has mapped it is the one that the process
// has mapped; one that is found by nobody else is that of the process.
func TestPathOfAReplacedFile(t *testing.T) {
	testutils.NeedBPF(t)
	prog := testutils.BuildC(t, sdtProgram)
	copied := filepath.Join(t.TempDir(), "replaced")
	data, err := os.ReadFile(prog)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied, data, 0o755); err != nil {
		t.Fatal(err)
	}
	child := testutils.Start(t, copied)
	child.ReadLine()
	if err := os.Remove(copied); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied, data, 0o755); err != nil {
		t.Fatal(err)
	}
	s := start(t, trace.Query{PID: child.PID, Clauses: []trace.Clause{{Path: copied, Pattern: "seq:num"}, {Path: "replaced", Pattern: ":done"}}})
	child.WriteLine("3")
	child.ReadLine()
	if events := drain(t, s); len(events) != 4 {
		t.Errorf("events\n%s", text(events))
	}
}

// A path of a process in another mount namespace is that of its own file.
func TestPathInAMountNamespace(t *testing.T) {
	testutils.NeedBPF(t)
	testutils.Root(t)
	unshare := testutils.Oracle(t, "unshare")
	prog := testutils.BuildC(t, sdtProgram)
	dir := t.TempDir()
	inside := filepath.Join(dir, "inside")
	// The name is that of nothing out here.
	cmd := exec.Command(unshare, "-m", "sh", "-c", `mount -t tmpfs none "$1" && cp "$2" "$1/inside" && exec "$1/inside"`, "sh", dir, prog)
	child := testutils.StartCmd(t, cmd)
	if line := child.ReadLine(); line != "ready" {
		t.Fatalf("child says %q: %s", line, child.Stderr())
	}
	s := start(t, trace.Query{PID: child.PID, Clauses: []trace.Clause{{Path: inside, Pattern: "seq:num"}}})
	child.WriteLine("3")
	child.ReadLine()
	if events := drain(t, s); len(events) != 3 {
		t.Errorf("events\n%s", text(events))
	}
	if _, err := trace.Start(trace.Query{Clauses: []trace.Clause{{Path: inside, Pattern: "seq:num"}}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if _, err := trace.Start(trace.Query{PID: child.PID, Clauses: []trace.Clause{{Path: prog + "x", Pattern: "seq:num"}}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if _, err := trace.Start(trace.Query{PID: child.PID, Clauses: []trace.Clause{{Path: inside, Pattern: "seq:nun"}}}); !errors.Is(err, usdt.ErrNoProbe) {
		t.Errorf("error %v", err)
	}
}

// An argument that cannot be read where the condition needs it costs the hit, which
// is told; where only a value needs it, that value.
func TestUnreadableArguments(t *testing.T) {
	testutils.NeedBPF(t)
	child := testutils.Start(t, testutils.BuildC(t, unreadableProgram))
	child.ReadLine()
	s := start(t, trace.Query{PID: child.PID, Clauses: []trace.Clause{
		{Pattern: "bad:arg", Where: "arg2 == 5"},
		{Pattern: "bad:arg", Where: "arg1 == 7", Capture: captures("arg1 + 1", "arg2 + 1", "arg1 + arg2", "arg2")},
		{Pattern: "bad:arg", Aggregate: trace.Count, Capture: captures("arg1 + 1", "arg2 + 1", "arg2")},
		{Pattern: "bad:arg", Aggregate: trace.Log2Hist, Value: "arg2"},
	}})
	for range 3 {
		child.WriteLine("")
		child.ReadLine()
	}
	const reason = "!(read argument: bad address)"
	events, errs := drainAll(s)
	var lost *trace.LostError
	if len(errs) != 1 || !errors.As(errs[0], &lost) || *lost != (trace.LostError{Count: 6, Reason: trace.Unreadable}) {
		t.Errorf("errors %v", errs)
	}
	want := "bad:arg arg1 + 1=8 arg2 + 1=" + reason + " arg1 + arg2=" + reason + " arg2=" + reason
	if len(events) != 3 || events[0].String() != want {
		t.Errorf("events\n%swant\n%s", text(events), want)
	}
	if got, want := lines(rows(t, s)), "bad:arg arg1 + 1=8 arg2 + 1="+reason+" arg2="+reason+" "+strconv.Itoa(3)+"\n"; got != want {
		t.Errorf("rows\n%swant\n%s", got, want)
	}
}

// unreadableProgram fires a probe whose second argument stands at an address that
// nothing is mapped at.
const unreadableProgram = `
#include <stdio.h>

int main(void)
{
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF) {
		__asm__ volatile(
			"990: nop\n"
			".pushsection .note.stapsdt,\"\",\"note\"\n"
			".balign 4\n .4byte 8, 994f-993f, 3\n .asciz \"stapsdt\"\n"
			"993: .8byte 990b, 0, 0\n"
			".asciz \"bad\"\n .asciz \"arg\"\n .asciz \"-4@%0 -4@%1\"\n"
			"994: .balign 4\n .popsection\n" : : "r" ((long)7), "m" (*(int *)16));
		puts("fired");
		fflush(stdout);
	}
}
`
