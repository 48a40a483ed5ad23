package trace_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/feature"
	"github.com/nopfire/nopfire/internal/testutils"
)

func TestMain(m *testing.M) { testutils.Main(m) }

// sdtProgram fires its probes for each line "N" N times and says so.
const sdtProgram = `
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sdt.h>

static char text[] = "gr\xc3\xbc\xc3\x9f dich";
static char longtext[600];
static int8_t i8 = -8; static int16_t i16 = -16; static int32_t i32 = -32; static int64_t i64 = INT64_MIN;
static uint8_t u8 = 200; static uint16_t u16 = 60000; static uint32_t u32 = 4000000000u; static uint64_t u64 = UINT64_MAX;

int main(void)
{
	char line[64];
	memset(longtext, 'x', sizeof longtext - 1);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		long n = atol(line);
		for (long i = 0; i < n; i++) {
			DTRACE_PROBE1(seq, num, i);
			DTRACE_PROBE4(seq, ints, i8, i16, i32, i64);
			DTRACE_PROBE4(seq, uints, u8, u16, u32, u64);
			DTRACE_PROBE5(seq, text, i, text, longtext, (char *)0, (char *)16);
		}
		DTRACE_PROBE(seq, done);
		puts("fired");
		fflush(stdout);
	}
}
`

// startSDT starts the program above.
func startSDT(t *testing.T) *testutils.Child {
	t.Helper()
	child := testutils.Start(t, testutils.BuildC(t, sdtProgram))
	if line := child.ReadLine(); line != "ready" {
		t.Fatalf("child says %q", line)
	}
	return child
}

// session opens a session on probes of a process, which ends with the test.
func session(t *testing.T, pid int, o *trace.Options, patterns ...string) *trace.Session {
	t.Helper()
	return start(t, trace.Query{PID: pid, Clauses: clauses(patterns...), Options: o})
}

// clauses returns clauses that make events of all hits of patterns.
func clauses(patterns ...string) []trace.Clause {
	var list []trace.Clause
	for _, p := range patterns {
		list = append(list, trace.Clause{Pattern: p})
	}
	return list
}

// start starts a session without problems, which ends with the test.
func start(t *testing.T, q trace.Query) *trace.Session {
	t.Helper()
	s, err := trace.Start(q)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if p := s.Problems(); p != nil {
		t.Errorf("problems: %v", p)
	}
	return s
}

// next returns n events of the session.
func next(t *testing.T, s *trace.Session, n int) []trace.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var events []trace.Event
	if n == 0 {
		return events
	}
	for ev, err := range s.Events(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if events = append(events, ev); len(events) == n {
			return events
		}
	}
	t.Fatalf("%d events, want %d", len(events), n)
	return nil
}

func TestValuesOfAPlainProgram(t *testing.T) {
	testutils.NeedBPF(t)
	child := startSDT(t)
	s := session(t, child.PID, &trace.Options{MaxString: 100, Strings: []string{"arg2", "arg3", "arg4", "arg5"}}, "seq:*")
	before := time.Now()
	child.WriteLine("1")
	child.ReadLine()
	events := next(t, s, 5)

	type arg struct {
		Type  string
		Value any
		Error bool
		Cut   bool
	}
	want := []struct {
		Probe string
		Args  []arg
	}{
		{"num", []arg{{"int64", int64(0), false, false}}},
		{"ints", []arg{
			{"int8", int64(-8), false, false},
			{"int16", int64(-16), false, false},
			{"int32", int64(-32), false, false},
			{"string", nil, true, false}, // arg4 is INT64_MIN, no address
		}},
		{"uints", []arg{
			{"uint8", uint64(200), false, false},
			{"uint16", uint64(60000), false, false},
			{"uint32", uint64(4000000000), false, false},
			{"string", nil, true, false},
		}},
		{"text", []arg{
			{"int64", int64(0), false, false},
			{"string", "grüß dich", false, false},
			{"string", strings.Repeat("x", 100), false, true},
			{"string", nil, false, false}, // NULL
			{"string", nil, true, false},  // (char *)16
		}},
		{"done", nil},
	}
	for i, ev := range events {
		var got []arg
		for n, a := range ev.Args {
			if name := "arg" + strconv.Itoa(n+1); a.Name != name {
				t.Errorf("%s: argument %d is called %q", ev.Probe, n, a.Name)
			}
			got = append(got, arg{a.Type, a.Value, a.Err != nil, a.Truncated})
		}
		if ev.Provider != "seq" || ev.Probe != want[i].Probe {
			t.Errorf("event %d is %s:%s, want seq:%s", i, ev.Provider, ev.Probe, want[i].Probe)
		}
		if diff := cmp.Diff(want[i].Args, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", ev.Probe, diff)
		}
		if ev.PID != child.PID || ev.TID != child.PID || ev.Comm != "prog" {
			t.Errorf("%s: pid %d tid %d comm %q, want %d %d %q", ev.Probe, ev.PID, ev.TID, ev.Comm, child.PID, child.PID, "prog")
		}
		if d := ev.Time.Sub(before); d < -time.Second || d > 10*time.Second {
			t.Errorf("%s: time %v is %v after the hit", ev.Probe, ev.Time, d)
		}
		if i > 0 && ev.Time.Before(events[i-1].Time) {
			t.Errorf("%s: time goes backwards", ev.Probe)
		}
	}
	if t.Failed() {
		for _, ev := range events {
			t.Log(ev)
		}
	}
}

func TestPointersAreIntegersUnlessAsked(t *testing.T) {
	testutils.NeedBPF(t)
	child := startSDT(t)
	s := session(t, child.PID, nil, "seq:text")
	child.WriteLine("1")
	ev := next(t, s, 1)[0]
	if _, ok := ev.Args[1].Value.(uint64); !ok || ev.Args[1].Type != "uint64" {
		t.Errorf("arg2 is %s %v, want a uint64", ev.Args[1].Type, ev.Args[1].Value)
	}
}

// Every hit between attach and detach is one event, in order, by each way to
// attach.
func TestEachHitOnce(t *testing.T) {
	testutils.NeedBPF(t)
	for _, method := range []string{"uprobe_multi", "perf_event"} {
		t.Run(method, func(t *testing.T) {
			t.Setenv(usdt.EnvMethod, method)
			if method == "uprobe_multi" {
				testutils.Need(t, feature.UprobeMulti)
			}
			const n = 5000
			child := startSDT(t)
			child.WriteLine("7") // before: not seen
			child.ReadLine()
			s := session(t, child.PID, nil, "seq:num", "seq:done")
			child.WriteLine(strconv.Itoa(n))
			events := next(t, s, n+1)
			for i, ev := range events[:n] {
				if ev.Args[0].Value != int64(i) {
					t.Fatalf("event %d has number %v", i, ev.Args[0].Value)
				}
			}
			if lost := s.Lost(); lost != 0 {
				t.Errorf("%d lost", lost)
			}
		})
	}
}

// What was gathered before a cancel comes after it, and nothing is hit later.
func TestCancelDrains(t *testing.T) {
	testutils.NeedBPF(t)
	child := startSDT(t)
	s := session(t, child.PID, nil, "seq:num")
	child.WriteLine("1000")
	child.ReadLine()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	n := 0
	for _, err := range s.Events(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 1000 {
		t.Errorf("%d events after the cancel, want 1000", n)
	}
	child.WriteLine("1000")
	child.ReadLine()
	for ev, err := range s.Events(ctx) {
		t.Fatalf("event after the detach: %v, %v", ev, err)
	}
}

func TestEndsWithTheProcess(t *testing.T) {
	testutils.NeedBPF(t)
	child := startSDT(t)
	s := session(t, child.PID, nil, "seq:num")
	child.WriteLine("3")
	child.ReadLine()
	child.CloseInput()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	n := 0
	for _, err := range s.Events(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if ctx.Err() != nil {
		t.Fatal("the session outlives its process")
	}
	if n != 3 {
		t.Errorf("%d events, want 3", n)
	}
}

// Events that do not fit are counted, and received + lost = fired.
func TestLostEventsAreTold(t *testing.T) {
	testutils.NeedBPF(t)
	child := startSDT(t)
	s := session(t, child.PID, &trace.Options{BufferSize: 1, MaxString: 4000, Strings: []string{"arg2"}}, "seq:text", "seq:num")
	const n = 2000
	child.WriteLine(strconv.Itoa(n))
	child.ReadLine() // nobody has read so far
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	received, told := 0, uint64(0)
	for _, err := range s.Events(ctx) {
		var lost *trace.LostError
		switch {
		case errors.As(err, &lost):
			told += lost.Count
		case err != nil:
			t.Fatal(err)
		default:
			received++
		}
	}
	if received == 0 || told == 0 || received+int(told) != 2*n {
		t.Errorf("%d received and %d lost of %d", received, told, 2*n)
	}
	if s.Lost() != told {
		t.Errorf("Lost is %d, told were %d", s.Lost(), told)
	}
}

// A loop that is left goes on where it was, and Close ends a running one, also
// from within.
func TestLeaveAndClose(t *testing.T) {
	testutils.NeedBPF(t)
	child := startSDT(t)
	s := session(t, child.PID, nil, "seq:num")
	child.WriteLine("4")
	for want := range int64(4) {
		if got := next(t, s, 1)[0].Args[0].Value; got != want {
			t.Fatalf("event %v, want %d", got, want)
		}
	}

	started := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		first := true
		for range s.Events(context.Background()) {
			if first {
				first = false
				close(started)
			}
		}
	}()
	child.WriteLine("1")
	<-started
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the loop outlives the session")
	}

	s = session(t, child.PID, nil, "seq:num")
	child.WriteLine("1")
	for _, err := range s.Events(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
}

func TestStartRefuses(t *testing.T) {
	some := clauses("a:b")
	for _, tt := range []struct {
		name string
		q    trace.Query
		want string
	}{
		{"no clauses", trace.Query{}, "trace: no clauses"},
		{"negative string", trace.Query{Clauses: some, Options: &trace.Options{MaxString: -1}}, "trace: MaxString -1 is not within 0..4096"},
		{"long string", trace.Query{Clauses: some, Options: &trace.Options{MaxString: 4097}}, "trace: MaxString 4097 is not within 0..4096"},
		{"huge buffer", trace.Query{Clauses: some, Options: &trace.Options{BufferSize: 1<<30 + 1}}, fmt.Sprintf("trace: BufferSize %d is not within 0..%d", 1<<30+1, 1<<30)},
		{"negative keys", trace.Query{Clauses: some, Options: &trace.Options{MaxKeys: -1}}, "trace: MaxKeys -1 is not within 0..16777216"},
		{"string rule", trace.Query{Clauses: some, Options: &trace.Options{Strings: []string{"x/"}}}, `trace: string argument "x/": want [PROBE.]ARG[/LENGTH], such as arg1 or method__entry.arg2/arg3`},
		{"no pattern", trace.Query{Clauses: clauses("x")}, `trace: pattern "x": want PROVIDER:PROBE, such as "x:*"`},
		{"the second pattern", trace.Query{Clauses: clauses("a:b", "x")}, `trace: clause 1: pattern "x": want PROVIDER:PROBE, such as "x:*"`},
		{"no name", trace.Query{Clauses: clauses("urdt::x")}, `trace: name "urdt::x": want urdt:PROVIDER:NAME or urdt:PROVIDER:NAME/NARGS`},
		{"no value", trace.Query{Clauses: []trace.Clause{{Pattern: "a:b", Aggregate: trace.Log2Hist}}}, "trace: a histogram of no value"},
		{"a value", trace.Query{Clauses: []trace.Clause{{Pattern: "a:b", Value: "arg1"}}}, "trace: value arg1, but no histogram"},
		{"an empty capture", trace.Query{Clauses: []trace.Clause{{Pattern: "a:b", Capture: []trace.Capture{{}}}}}, "trace: a capture of no expression"},
		{"13 captures", trace.Query{Clauses: []trace.Clause{{Pattern: "a:b", Capture: make([]trace.Capture, 13)}}}, "trace: 13 captures, more than 12"},
		{"unknown aggregate", trace.Query{Clauses: []trace.Clause{{Pattern: "a:b", Aggregate: 9}}}, "trace: aggregate 9 is none"},
		{"no bounds", linear(trace.Linear{}), "trace: a histogram from 0 up to 0"},
		{"no step", linear(trace.Linear{Max: 1}), "trace: a histogram in steps of 0"},
		{"many buckets", linear(trace.Linear{Min: -1 << 63, Max: 1<<63 - 1, Step: 1}),
			"trace: a histogram from -9223372036854775808 up to 9223372036854775807 in steps of 1 has 18446744073709551615 buckets, more than 1000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := trace.Start(tt.q)
			if err == nil || err.Error() != tt.want {
				t.Errorf("error %v, want %s", err, tt.want)
			}
			if s != nil {
				t.Error("a session beside the error")
			}
		})
	}
}

func linear(l trace.Linear) trace.Query {
	return trace.Query{Clauses: []trace.Clause{{Pattern: "a:b", Aggregate: trace.LinearHist, Value: "arg1", Linear: l}}}
}

// drainAll ends a session and returns the events that it has gathered, and the
// errors.
func drainAll(s *trace.Session) (events []trace.Event, errs []error) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for ev, err := range s.Events(ctx) {
		if err != nil {
			errs = append(errs, err)
		} else {
			events = append(events, ev)
		}
	}
	return events, errs
}
