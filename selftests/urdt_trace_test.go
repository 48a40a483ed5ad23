//go:build linux && (amd64 || arm64)

package selftests

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/testutils"
	"github.com/nopfire/nopfire/urdt/abi"
)

// traceNames starts a session for names in the process, in all if pid is 0.
func traceNames(t *testing.T, pid int, names ...string) *trace.Session {
	t.Helper()
	testutils.NeedBPF(t)
	var clauses []trace.Clause
	for _, text := range names {
		clauses = append(clauses, trace.Clause{Pattern: text})
	}
	s, err := trace.Start(trace.Query{PID: pid, Clauses: clauses})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// nextEvents returns n events, each as "PID provider:name args".
func nextEvents(t *testing.T, s *trace.Session, n int) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var got []string
	for ev, err := range s.Events(ctx) {
		var problem *trace.ProblemError
		if errors.As(err, &problem) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, fmt.Sprintf("%d %s", ev.PID, ev)); len(got) == n {
			return got
		}
	}
	t.Fatalf("%d events, want %d: %q", len(got), n, got)
	return nil
}

// One session, begun before two of three processes start, sees what Go, C and Python
// fire, and neither another name nor another number of arguments. bpftrace at the
// object's probe sees the same events, and the other name's as well.
func TestURDTTraceThreeLanguages(t *testing.T) {
	bpftrace := testutils.Oracle(t, "bpftrace")
	object := sharedObject(t)
	t.Setenv(abi.PathVariable, object) // where the tracer looks, too
	first := startFirer(t, object)
	s := traceNames(t, 0, "urdt:dyn:one/2", "urdt:dyn:urdt11")
	spy := testutils.Start(t, bpftrace, "-B", "line", "-e", fmt.Sprintf(
		`BEGIN { printf("ready\n"); } usdt:%s:urdt:probe2 { printf("%%d %%d %%d %%llx\n", pid, (int64)arg0, (int64)arg1, arg2); }`, object))
	for line := ""; line != "ready"; {
		line = spy.ReadLine()
	}
	// bpftrace attaches behind BEGIN, to one site after the other: wait until it
	// has seen a name of each shard.
	warm := make(map[string]string) // what it prints → name
	for i := 0; len(warm) < abi.Shards; i++ {
		name := fmt.Sprintf("warm%d", i)
		shard := abi.Shard(abi.Hash("dyn", name), abi.Shards)
		if !slices.ContainsFunc(slices.Collect(maps.Values(warm)), func(n string) bool {
			return abi.Shard(abi.Hash("dyn", n), abi.Shards) == shard
		}) {
			warm[fmt.Sprintf("%d 0 0 %x", first.PID, abi.Hashes("dyn", name))] = name
		}
	}
	warmLines := maps.Clone(warm)
	for deadline := time.Now().Add(time.Minute); len(warm) > 0; {
		if time.Now().After(deadline) {
			t.Fatalf("bpftrace does not see %v\n%s", warm, spy.Stderr())
		}
		for _, name := range warm {
			urdtTell(first, "two "+name+" 0 0")
		}
		for line, err := spy.TryReadLine(300 * time.Millisecond); err == nil; line, err = spy.TryReadLine(300 * time.Millisecond) {
			delete(warm, line)
		}
	}
	peers := []*testutils.Child{first, startCPeer(t, object), startPyPeer(t, object)}
	var want, wantSpy []string
	for i, p := range peers {
		urdtTell(p, fmt.Sprintf("two one %d %d", i, -i))
		urdtTell(p, "two another 1 1")
		urdtTell(p, "set")
		want = append(want, fmt.Sprintf("%d dyn:one arg1=%d arg2=%d", p.PID, i, -i),
			fmt.Sprintf("%d dyn:urdt11 arg1=1 arg2=2 arg3=3 arg4=4 arg5=5 arg6=6 arg7=7 arg8=8 arg9=9 arg10=10 arg11=11", p.PID))
		wantSpy = append(wantSpy,
			fmt.Sprintf("%d %d %d %x", p.PID, i, -i, abi.Hashes("dyn", "one")),
			fmt.Sprintf("%d 1 1 %x", p.PID, abi.Hashes("dyn", "another")))
	}
	if diff := cmp.Diff(want, nextEvents(t, s, len(want))); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	var gotSpy []string
	for len(gotSpy) < len(wantSpy) {
		line := spy.ReadLine()
		if _, ok := warmLines[line]; !ok {
			gotSpy = append(gotSpy, line)
		}
	}
	if diff := cmp.Diff(wantSpy, gotSpy); diff != "" {
		t.Errorf("bpftrace (-want +got):\n%s", diff)
	}
	if err := spy.Interrupt(); err != nil {
		t.Log("bpftrace:", err)
	}
}

// The object of a process that nobody knew of is found when it is mapped.
func TestURDTTraceLaterProcess(t *testing.T) {
	s := traceNames(t, 0, "urdt:dyn:later")
	own := startFirer(t, "")
	for range 100 { // until the session has found it
		urdtTell(own, "two later 7 8")
	}
	time.Sleep(200 * time.Millisecond)
	urdtTell(own, "two later 9 10")
	want := fmt.Sprintf("%d dyn:later arg1=9 arg2=10", own.PID)
	deadline := time.Now().Add(20 * time.Second)
	for nextEvents(t, s, 1)[0] != want {
		if time.Now().After(deadline) {
			t.Fatalf("no event %q", want)
		}
	}
}

// A Go program that calls nothing but urdt.Probe2 maps the object by that, before
// anybody traces, and is seen.
func TestURDTTracePlainCalls(t *testing.T) {
	object := sharedObject(t)
	t.Setenv(abi.PathVariable, object)
	p := testutils.Start(t, testutils.GoBuild(t, "./testprogs/urdtfire"), "plain")
	urdtTell(p, "two plain 1 2")
	if maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.PID)); err != nil || !strings.Contains(string(maps), object) {
		t.Fatalf("the first call has not mapped %s: %v", object, err)
	}
	s := traceNames(t, 0, "urdt:dyn:plain")
	urdtTell(p, "two plain 3 4")
	want := []string{fmt.Sprintf("%d dyn:plain arg1=3 arg2=4", p.PID)}
	if diff := cmp.Diff(want, nextEvents(t, s, 1)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// Arguments have the types that the process has registered.
func TestURDTTraceTyped(t *testing.T) {
	own := startFirer(t, "")
	names, problems := usdt.RegisteredNames(own.PID)
	if len(problems) > 0 || len(names) != 1 || names[0].Provider != "dyn" || names[0].Name != "typed" {
		t.Fatalf("registered %+v, %v", names, problems)
	}
	s := traceNames(t, own.PID, "urdt:dyn:typed")
	urdtTell(own, "typed -5 hello")
	want := []string{fmt.Sprintf(`%d dyn:typed arg1=-5 arg2="hello"`, own.PID)}
	if diff := cmp.Diff(want, nextEvents(t, s, 1)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// A process that registers after the trace has begun: its events have the types soon,
// each event stands once, and another name of the same site is not disturbed.
func TestURDTTraceTypedLater(t *testing.T) {
	object := sharedObject(t)
	t.Setenv(abi.PathVariable, object)
	other := "typed-0" // any name in the shard of dyn:typed
	for i := 0; abi.Shard(abi.Hash("dyn", other), abi.Shards) != abi.Shard(abi.Hash("dyn", "typed"), abi.Shards); i++ {
		other = fmt.Sprintf("typed-%d", i)
	}
	s := traceNames(t, 0, "urdt:dyn:typed", "urdt:dyn:"+other)
	p := startFirer(t, object)
	typed := false
	for i := 0; i < 400 && !typed; i++ {
		urdtTell(p, fmt.Sprintf("typed %d word", -i))
		urdtTell(p, fmt.Sprintf("two %s %d 2", other, i))
		got := nextEvents(t, s, 2)
		typed = strings.HasSuffix(got[0], `"word"`)
		if !strings.HasPrefix(got[0], fmt.Sprintf("%d dyn:typed arg1=%d arg2=", p.PID, -i)) ||
			got[1] != fmt.Sprintf("%d dyn:%s arg1=%d arg2=2", p.PID, other, i) {
			t.Fatalf("round %d: %q", i, got)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if !typed {
		t.Error("the events have not got the types")
	}
	urdtTell(p, "typed 1 x")
	urdtTell(p, fmt.Sprintf("two %s 3 4", other))
	want := []string{fmt.Sprintf(`%d dyn:typed arg1=1 arg2="x"`, p.PID), fmt.Sprintf("%d dyn:%s arg1=3 arg2=4", p.PID, other)}
	if diff := cmp.Diff(want, nextEvents(t, s, 2)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// Two names with one hash: the second hash tells them apart, in two processes; a
// foreign object, which has none, gets one of them and a word about the other.
func TestURDTTraceSameHash(t *testing.T) {
	if abi.Hash("dyn", "Aa") != abi.Hash("dyn", "BB") {
		t.Fatal("dyn:Aa and dyn:BB do not share a hash")
	}
	object := sharedObject(t)
	t.Setenv(abi.PathVariable, object)
	s := traceNames(t, 0, "urdt:dyn:Aa/2", "urdt:dyn:BB/2")
	only := traceNames(t, 0, "urdt:dyn:BB")
	a, b := startFirer(t, object), startCPeer(t, object)
	urdtTell(a, "two Aa 1 2")
	urdtTell(b, "two BB 3 4")
	want := []string{fmt.Sprintf("%d dyn:Aa arg1=1 arg2=2", a.PID), fmt.Sprintf("%d dyn:BB arg1=3 arg2=4", b.PID)}
	if diff := cmp.Diff(want, nextEvents(t, s, 2)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if got := nextEvents(t, only, 1); got[0] != want[1] {
		t.Errorf("a trace of dyn:BB alone has %q", got)
	}

	foreign := testutils.Start(t, inlinedPeer(t))
	foreign.ReadLine()
	two := traceNames(t, foreign.PID, "urdt:Aa:x/3", "urdt:BB:x/3")
	if p := fmt.Sprint(two.Problems()); !strings.Contains(p, "urdt:BB:x/3: it has the hash of urdt:Aa:x/3, and an object has no second one") {
		t.Errorf("problems %s", p)
	}
}

// Foreign objects: a hash of 4 bytes, constants in the notes, several locations.
func TestURDTTraceForeign(t *testing.T) {
	src, err := os.ReadFile("testprogs/urdtobj/rfc.c")
	if err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"one site": testutils.BuildC(t, string(src)), "inlined": inlinedPeer(t)} {
		t.Run(name, func(t *testing.T) {
			child := testutils.Start(t, path)
			v := child.ReadLine()
			s := traceNames(t, child.PID, "urdt:dyn:urdt3", "urdt:dyn:basic/0", "urdt:dyn:basic/1", "urdt:dyn:shared/4")
			urdtTell(child, "77")
			want := []string{
				"dyn:basic",
				"dyn:urdt3 arg1=1 arg2=42 arg3=" + v,
				"dyn:urdt3 arg1=1 arg2=42 arg3=" + v,
				"dyn:shared arg1=-4 arg2=4611686018427387904 arg3=77 arg4=4",
			}
			got := nextEvents(t, s, len(want))
			for i := range got {
				_, got[i], _ = strings.Cut(got[i], " ")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}
