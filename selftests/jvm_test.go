//go:build linux

package selftests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// startJVM compiles and starts testprogs/jvm/Traced.java in a Java virtual
// machine that has the probes of methods switched on.
func startJVM(t *testing.T) *testutils.Child {
	t.Helper()
	var javas []string // Debian's path names the architecture
	if found, err := filepath.Glob("/usr/lib/jvm/java-17-openjdk-*/bin/javac"); err == nil {
		javas = found
	}
	javac := testutils.Oracle(t, append(javas, "/usr/lib/jvm/java-17-openjdk-ARCH/bin/javac")...)
	env := append(os.Environ(), "LC_ALL=C.UTF-8") // a class has letters beyond ASCII in its name
	classes := t.TempDir()
	compile := exec.Command(javac, "-encoding", "UTF-8", "-d", classes, "testprogs/jvm/Traced.java")
	compile.Env = env
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
	run := exec.Command(filepath.Join(filepath.Dir(javac), "java"), "-XX:+ExtendedDTraceProbes", "-XX:+UseSerialGC",
		"-Xms128m", "-Xmx128m", "-cp", classes, "Traced")
	run.Env = env
	jvm := testutils.StartCmd(t, run)
	if line := jvm.ReadLine(); line != "ready" {
		t.Fatalf("the virtual machine says %q\n%s", line, jvm.Stderr())
	}
	return jvm
}

// tell gives the program of the virtual machine a command and waits until it has
// carried it out.
func tell(t *testing.T, jvm *testutils.Child, command string) {
	t.Helper()
	jvm.WriteLine(command)
	if line := jvm.ReadLine(); line != "done" {
		t.Fatalf("%s: the virtual machine says %q\n%s", command, line, jvm.Stderr())
	}
}

// jvmCounts is a script for bpftrace that prints at each call of Traced.mark what
// was counted since the last one. Its clause comes last, as clauses are attached
// in their order. A string of the virtual machine comes with its length.
const jvmCounts = `
usdt:%[1]s:hotspot:method__return /str(arg3, arg4) == "work"/ { @returns++; }
usdt:%[1]s:hotspot:gc__begin     { @gcs++; }
usdt:%[1]s:hotspot:thread__start { @threads++; }
usdt:%[1]s:hotspot:class__loaded { @classes++; }
usdt:%[1]s:hotspot:method__entry {
	if (str(arg3, arg4) == "work") { @entries++; }
	if (str(arg3, arg4) == "mark") {
		printf("counts %%d %%d %%d %%d %%d\n", @entries, @returns, @gcs, @threads, @classes);
		@entries = 0; @returns = 0; @gcs = 0; @threads = 0; @classes = 0;
	}
}`

// startJVMCounts starts bpftrace on the virtual machine, and returns when it
// counts.
func startJVMCounts(t *testing.T, jvm *testutils.Child, lib string) *testutils.Child {
	t.Helper()
	cmd := exec.Command(testutils.Oracle(t, "bpftrace"), "-B", "line", "-p", strconv.Itoa(jvm.PID), "-e", fmt.Sprintf(jvmCounts, lib))
	tracer := testutils.StartCmd(t, cmd)
	t.Cleanup(func() { tracer.Interrupt() })
	if line := tracer.ReadLine(); !strings.HasPrefix(line, "Attaching ") {
		t.Fatalf("bpftrace says %q\n%s", line, tracer.Stderr())
	}
	for deadline := time.Now().Add(20 * time.Second); ; {
		tell(t, jvm, "mark")
		if line, err := tracer.TryReadLine(200 * time.Millisecond); err == nil && strings.HasPrefix(line, "counts ") {
			return tracer
		}
		if time.Now().After(deadline) {
			t.Fatalf("bpftrace sees no method\n%s", tracer.Stderr())
		}
	}
}

// jvmTally is what happened in the virtual machine between two marks.
type jvmTally struct {
	Entries, Returns int            // of Traced.work
	GCs              []string       // the values of "is it a full one"
	Threads, Classes map[string]int // the counts by name
}

// A Java virtual machine is traced while it works, by us and by bpftrace at once:
// method names, collections, threads and classes.
func TestJVM(t *testing.T) {
	testutils.NeedBPF(t)
	testutils.Oracle(t, "bpftrace")
	jvm := startJVM(t)
	patterns := []string{"hotspot:method__entry", "hotspot:method__return", "hotspot:gc__begin", "hotspot:thread__start", "hotspot:class__loaded"}
	found, err := usdt.ProcessTargets(jvm.PID, patterns...)
	if err != nil || len(found.Problems) > 0 {
		t.Fatal(err, found.Problems)
	}
	var clauses []trace.Clause
	for _, p := range patterns {
		clauses = append(clauses, trace.Clause{Pattern: p})
	}
	s, err := trace.Start(trace.Query{PID: jvm.PID, Clauses: clauses, Options: &trace.Options{
		Strings: []string{
			"method__*.arg2/arg3", "method__*.arg4/arg5", "method__*.arg6/arg7",
			"thread__start.arg1/arg2", "class__loaded.arg1/arg2",
		},
		MaxString:  64,
		BufferSize: 128 << 20, // all that happens before it is read
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if p := s.Problems(); len(p) > 0 {
		t.Fatal(p)
	}
	oracle := startJVMCounts(t, jvm, found.Targets[0].Path)

	const calls, threads, gcs = 5000, 3, 4 // enough calls for compiled code
	tell(t, jvm, "mark")
	tell(t, jvm, fmt.Sprint("call ", calls))
	for i := range threads {
		tell(t, jvm, fmt.Sprint("thread worker ", i, " äöü"))
	}
	for range gcs {
		tell(t, jvm, "gc")
	}
	tell(t, jvm, "load First")
	tell(t, jvm, "load Größe")
	tell(t, jvm, "mark")

	got := readJVM(t, s, jvm.PID)
	want := jvmTally{
		Entries: calls + threads, Returns: calls + threads,
		GCs:     []string{"1", "1", "1", "1"},
		Threads: map[string]int{"worker 0 äöü": 1, "worker 1 äöü": 1, "worker 2 äöü": 1},
		Classes: map[string]int{"Traced$First": 1, "Traced$Größe": 1},
	}
	ours := fmt.Sprintf("counts %d %d %d %d %d", got.Entries, got.Returns, len(got.GCs), total(got.Threads), total(got.Classes))
	for name := range got.Threads {
		if _, ours := want.Threads[name]; !ours && !strings.HasPrefix(name, "worker") {
			delete(got.Threads, name) // threads and classes of the machine's own
		}
	}
	for name := range got.Classes {
		if !strings.HasPrefix(name, "Traced$") || strings.Contains(name, "Lambda") {
			delete(got.Classes, name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-did +traced:\n%s", diff)
	}

	bpf := oracle.ReadLine()
	for strings.HasPrefix(bpf, "counts 0 ") {
		bpf = oracle.ReadLine() // of the marks before the window
	}
	if bpf != ours {
		t.Errorf("bpftrace says %q, we say %q", bpf, ours)
	}
	t.Logf("%s, as bpftrace", ours)
}

func total(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// readJVM returns what the session saw between the last two marks.
func readJVM(t *testing.T, s *trace.Session, pid int) jvmTally {
	t.Helper()
	fresh := func() jvmTally { return jvmTally{Threads: map[string]int{}, Classes: map[string]int{}} }
	got := fresh()
	marks := 0
	text := func(ev *trace.Event, i int) string {
		text, err := stringValue(ev.Args[i])
		if err != nil {
			t.Errorf("%s: %v", ev, err)
		}
		return text
	}
	// The marks before the window are as many as bpftrace needed: the last
	// window is the one that has work in it.
	for ev, err := range s.Events(deadlineContext(t, 60*time.Second)) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.PID != pid {
			t.Fatalf("event of process %d: %s", ev.PID, ev)
		}
		switch ev.Probe {
		case "method__entry", "method__return":
			// thread, class, method, signature
			if text(&ev, 1) != "Traced" {
				continue
			}
			switch method, signature := text(&ev, 2), text(&ev, 3); {
			case method == "mark" && ev.Probe == "method__entry":
				marks++
				if got.Entries > 0 {
					return got
				}
				got = fresh()
			case method == "work":
				if signature != "(ILjava/lang/String;)I" {
					t.Errorf("signature %q in %s", signature, ev)
				}
				if ev.Probe == "method__entry" {
					got.Entries++
				} else {
					got.Returns++
				}
			}
		case "gc__begin":
			got.GCs = append(got.GCs, ev.Args[0].String())
		case "thread__start":
			got.Threads[text(&ev, 0)]++
		case "class__loaded":
			got.Classes[text(&ev, 0)]++
		}
	}
	t.Fatalf("the events end before the last mark (%d seen)", marks)
	return got
}
