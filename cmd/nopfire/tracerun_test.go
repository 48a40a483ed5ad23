package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nopfire/nopfire/bpfside/trace"
)

// fakeEvents is a sequence of events and errors.
type fakeEvents []any

func (f fakeEvents) Events(ctx context.Context) iter.Seq2[trace.Event, error] {
	return func(yield func(trace.Event, error) bool) {
		for _, x := range f {
			if ctx.Err() != nil {
				return
			}
			var ev trace.Event
			err, isErr := x.(error)
			if !isErr {
				ev = x.(trace.Event)
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// planOf returns the plan of a command line.
func planOf(t *testing.T, f *traceFlags, specs ...string) *tracer {
	t.Helper()
	tr, err := f.plan(specs)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// Conditions of the command line are for every specification, beside its own.
func TestTracePlan(t *testing.T) {
	tid := os.Getpid() // the first thread has the id of the process
	for _, tt := range []struct {
		name  string
		flags traceFlags
		spec  string
		where string
		err   string
	}{
		{"none", traceFlags{uid: -1}, "app:x", "", ""},
		{"its own, as it stands", traceFlags{uid: -1}, "app:x (status >= 500)", "status >= 500", ""},
		{"--where alone, as it stands", traceFlags{uid: -1, where: "arg1 > 3"}, "app:x", "arg1 > 3", ""},
		{"both", traceFlags{uid: -1, where: "b || c"}, "app:x (a || d)", "(a || d) && (b || c)", ""},
		{"--uid", traceFlags{uid: 0}, "app:x", "uid == 0", ""},
		{"--uid and its own", traceFlags{uid: 1000}, "app:x (a)", "(a) && (uid == 1000)", ""},
		{"names of bcc", traceFlags{uid: -1, where: "$tgid != 1"}, "app:x", "pid != 1", ""},
		{"a thread", traceFlags{uid: -1, tid: tid}, "app:x", "tid == TID", ""},
		{"no such thread", traceFlags{uid: -1, tid: math.MaxInt32}, "app:x", "", "no thread has the id 2147483647"},
		{"--where breaks out", traceFlags{uid: -1, where: "1) || (1"}, "app:x (a)", "", "1) || (1"},
		{"no probe", traceFlags{uid: -1}, "request", "", "names no probe"},
		{"a probe of the kernel", traceFlags{uid: -1}, "t:sched:sched_switch", "", "tracepoint"},
	} {
		if tt.flags.tid != 0 && runtime.GOOS != "linux" {
			continue
		}
		tr, err := tt.flags.plan([]string{tt.spec})
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: error %v, want %s", tt.name, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		want := strings.ReplaceAll(tt.where, "TID", strconv.Itoa(tid))
		if got := tr.query.Clauses[0].Where; got != want {
			t.Errorf("%s: condition %s, want %s", tt.name, got, want)
		}
	}
}

// All mistakes are told at once.
func TestTracePlanErrors(t *testing.T) {
	f := &traceFlags{uid: -1}
	_, err := f.plan([]string{"app:x (", "app:y", "app:z )"})
	var b strings.Builder
	printError(&b, err)
	if got := strings.Count(b.String(), "^\n"); got != 2 {
		t.Errorf("%d marks, want 2:\n%s", got, &b)
	}
}

func sampleEvent(comm string, clause int, args ...trace.Value) trace.Event {
	return trace.Event{
		Time: time.Date(2026, 1, 31, 12, 0, 0, 123_456_000, time.Local),
		PID:  4711, TID: 4712, CPU: 1, Comm: comm, Provider: "myapp", Probe: "loop_iter", Clause: clause, Args: args,
	}
}

// The lines are those of bcc's trace, blank by blank.
func TestBCCColumns(t *testing.T) {
	const bcc = `u:lib.so:loop_iter "i=%d msg=%s", arg1, arg2`
	i := trace.Value{Name: "arg1", Type: "int32", Value: int64(3)}
	msg := trace.Value{Name: "arg2", Type: "string", Value: "hello"}
	for _, tt := range []struct {
		name  string
		flags traceFlags
		specs []string
		ev    trace.Event
		want  string
	}{
		{
			"seed", traceFlags{}, []string{bcc}, sampleEvent("app", 0, i, msg),
			"TIME     PID     TID     COMM            FUNC             -\n" +
				"12:00:00 4711    4712    app             loop_iter        i=3 msg=hello\n",
		},
		{
			"time as it is anyway, and a newline as it is anyway", traceFlags{seconds: true}, []string{`u:lib.so:loop_iter "i=%d msg=%s\n", arg1, arg2`}, sampleEvent("app", 0, i, msg),
			"TIME     PID     TID     COMM            FUNC             -\n" +
				"12:00:00 4711    4712    app             loop_iter        i=3 msg=hello\n",
		},
		{
			"offset and processor", traceFlags{offset: true, cpu: true}, []string{bcc}, sampleEvent("app", 0, i, msg),
			"TIME     CPU PID     TID     COMM            FUNC             -\n" +
				"0.123456 1   4711    4712    app             loop_iter        i=3 msg=hello\n",
		},
		{
			"a provider in the specification", traceFlags{}, []string{`myapp:loop_iter "%d", arg1`}, sampleEvent("app", 0, i),
			"TIME     PID     TID     COMM            FUNC             -\n" +
				"12:00:00 4711    4712    app             myapp:loop_iter  3\n",
		},
		{
			"bcc's way without a format", traceFlags{}, []string{"u:lib.so:loop_iter"}, sampleEvent("app", 0, i, msg),
			"TIME     PID     TID     COMM            FUNC             -\n" +
				`12:00:00 4711    4712    app             loop_iter        arg1=3 arg2="hello"` + "\n",
		},
		{
			"one of two with a format", traceFlags{}, []string{bcc, "myapp:*"}, sampleEvent("app", 1, i, msg),
			"TIME     PID     TID     COMM            FUNC             -\n" +
				`12:00:00 4711    4712    app             myapp:loop_iter  arg1=3 arg2="hello"` + "\n",
		},
		{
			"what would move the cursor", traceFlags{}, []string{bcc},
			sampleEvent("a\x1b[2J", 0, i, trace.Value{Name: "arg2", Type: "string", Value: "\x1b[31m"}),
			"TIME     PID     TID     COMM            FUNC             -\n" +
				`12:00:00 4711    4712    a\x1b[2J        loop_iter        i=3 msg=\x1b[31m` + "\n",
		},
	} {
		var out bytes.Buffer
		tr := planOf(t, &tt.flags, tt.specs...)
		tr.out = &out
		p := tr.printer(time.Date(2026, 1, 31, 12, 0, 0, 0, time.Local), nil)
		if got := p.header() + string(p.append(nil, &tt.ev)); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

// JSON has what the columns have, and the message where there is a format.
func TestJSONEvents(t *testing.T) {
	const common = `{"time":"T","pid":4711,"tid":4712,"cpu":1,"comm":"app","provider":"myapp","probe":"loop_iter","args":[{"name":"arg1","type":"int32","value":3}]`
	for _, tt := range []struct {
		specs  []string
		clause int
		want   string
	}{
		{[]string{"myapp:*"}, 0, `}`},
		{[]string{"myapp:*", "a:b"}, 0, `,"clause":0}`},
		{[]string{`myapp:* "i=%d\n", arg1`}, 0, `,"text":"i=3\n"}`},
		{[]string{"a:b", `myapp:* "\"%x\"", arg1`}, 1, `,"clause":1,"text":"\"3\""}`},
	} {
		ev := sampleEvent("app", tt.clause, trace.Value{Name: "arg1", Type: "int32", Value: int64(3)})
		p := planOf(t, &traceFlags{json: true}, tt.specs...).printer(time.Time{}, nil)
		got := p.header() + string(p.append(nil, &ev))
		want := strings.Replace(common, "T", ev.Time.Format(timeFormat), 1) + tt.want + "\n"
		if got != want || !json.Valid([]byte(got)) {
			t.Errorf("%s:\n%s\nwant\n%s", tt.specs, got, want)
		}
	}
}

func TestTracePrint(t *testing.T) {
	broken := errors.New("read ring buffer: broken")
	n := func(i int64) trace.Value { return trace.Value{Name: "n", Type: "int64", Value: i} }
	a, b, c := sampleEvent("alpha", 0, n(1)), sampleEvent("beta", 0, n(2)), sampleEvent("alpha", 0, n(3))
	for _, tt := range []struct {
		name   string
		flags  traceFlags
		events fakeEvents
		out    string // values of the events that are printed
		notes  string
		err    error
	}{
		{"all", traceFlags{}, fakeEvents{a, b, c}, "1 2 3", "", nil},
		{"none", traceFlags{}, nil, "", "", nil},
		{"--count", traceFlags{count: 2}, fakeEvents{a, b, c}, "1 2", "", nil},
		{"--count of those that are printed", traceFlags{count: 2, name: "alp"}, fakeEvents{a, b, c, a}, "1 3", "", nil},
		{"--name", traceFlags{name: "bet"}, fakeEvents{a, b, c}, "2", "", nil},
		{"--msg-filter", traceFlags{message: "n=3"}, fakeEvents{a, b, c}, "3", "", nil},
		{"--rate-limit", traceFlags{rate: 2}, fakeEvents{a, b, c, a}, "1 2", "nopfire: 2 events not printed: more than 2/s\n", nil},
		{
			"a filter before the limit", traceFlags{rate: 1, name: "beta"},
			fakeEvents{a, b, c}, "2", "", nil,
		},
		{
			"losses are summed up", traceFlags{},
			fakeEvents{a, &trace.LostError{Count: 3}, b, &trace.LostError{Count: 4}, &trace.LostError{Count: 1, Reason: trace.Unreadable}},
			"1 2", "nopfire: 7 events lost: ring buffer full\nnopfire: 1 hit left out: an argument of the condition or the value cannot be read\n", nil,
		},
		{
			"a problem", traceFlags{},
			fakeEvents{a, &trace.ProblemError{Err: errors.New("no access")}, b}, "1 2", "nopfire: note: no access\n", nil,
		},
		{"what ends it", traceFlags{}, fakeEvents{a, broken, b}, "1", "", broken},
	} {
		var out, errs bytes.Buffer
		tr := planOf(t, &tt.flags, `myapp:* "n=%d", n`)
		tr.out, tr.errw = &out, &errs
		enough, err := tr.print(t.Context(), tt.events, tr.printer(time.Time{}, nil))
		var got []string
		for line := range strings.Lines(out.String()) {
			_, value, _ := strings.Cut(strings.TrimSpace(line), "n=")
			got = append(got, value)
		}
		if s := strings.Join(got, " "); s != tt.out {
			t.Errorf("%s: printed %s, want %s", tt.name, s, tt.out)
		}
		if want := tt.flags.count > 0 && len(got) == int(tt.flags.count); enough != want {
			t.Errorf("%s: enough is %v", tt.name, enough)
		}
		if errs.String() != tt.notes {
			t.Errorf("%s: notes\n%s\nwant\n%s", tt.name, &errs, tt.notes)
		}
		if !errors.Is(err, tt.err) {
			t.Errorf("%s: error %v, want %v", tt.name, err, tt.err)
		}
	}
}

func TestNoteSome(t *testing.T) {
	problems := make([]error, 12)
	for i := range problems {
		problems[i] = fmt.Errorf("problem %d", i)
	}
	for _, tt := range []struct {
		n    int
		last string
	}{{0, ""}, {1, "nopfire: note: problem 0\n"}, {10, "nopfire: note: problem 9\n"}, {11, "nopfire: note: 1 more problem like these\n"}, {12, "nopfire: note: 2 more problems like these\n"}} {
		var b strings.Builder
		noteSome(&b, problems[:tt.n])
		if got := strings.Count(b.String(), "\n"); got != min(tt.n, 11) || !strings.HasSuffix(b.String(), tt.last) {
			t.Errorf("%d problems: %s", tt.n, &b)
		}
	}
}

// Many problems are told in part, and the next ones again.
func TestTraceNotesProblems(t *testing.T) {
	var b strings.Builder
	n := &traceNotes{w: &b}
	for range 2 {
		for range 15 {
			n.take(&trace.ProblemError{Err: errors.New("no access")})
		}
		n.say()
	}
	want := strings.Repeat(strings.Repeat("nopfire: note: no access\n", 10)+"nopfire: note: 5 more problems like these\n", 2)
	if b.String() != want {
		t.Errorf("notes\n%s", &b)
	}
}

// What is to be said is said while the trace goes on.
func TestTraceNotesEach(t *testing.T) {
	said := make(chan string, 16)
	n := &traceNotes{w: writerFunc(func(p []byte) (int, error) { said <- string(p); return len(p), nil })}
	stop := n.each(time.Millisecond)
	n.take(&trace.LostError{Count: 3})
	if got := <-said; got != "nopfire: 3 events lost: ring buffer full\n" {
		t.Errorf("said %q", got)
	}
	stop()
	if len(said) > 0 {
		t.Errorf("said besides: %q", <-said)
	}
}

// A writer that fails ends the trace with its error, once.
func TestTracePrintBroken(t *testing.T) {
	full := errors.New("no space left on device")
	tr := planOf(t, &traceFlags{}, "myapp:*")
	tr.out, tr.errw = writerFunc(func([]byte) (int, error) { return 0, full }), io.Discard
	events := fakeEvents{sampleEvent("a", 0), sampleEvent("a", 0)}
	if _, err := tr.print(t.Context(), events, tr.printer(time.Time{}, nil)); !errors.Is(err, full) || err.Error() != full.Error() {
		t.Errorf("error %v, want %v", err, full)
	}
}
