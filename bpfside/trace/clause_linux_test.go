//go:build amd64 || arm64

package trace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/emit"
	"github.com/nopfire/nopfire/internal/testutils"
)

// An order is what the probes of these tests have pointers to.
type order struct {
	ID    int32
	Item  *item
	Total uint64
	Name  string
	Data  []byte
	Rate  float32
}

type item struct{ Price uint16 }

// shop is a provider with one probe of each kind of argument.
type shop struct {
	sold *emit.Probe5[int32, string, *order, bool, float64]
}

func newShop(t *testing.T, name string) *shop {
	t.Helper()
	p := provider(t, name, nil)
	h, err := emit.NewProbe5[int32, string, *order, bool, float64](p, "sold", &emit.ProbeOptions{Args: []string{"n", "msg", "o", "ok", "f"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	return &shop{h}
}

// fire fires some hits: n from 0 to 9, with messages of their number.
func (s *shop) fire() {
	for n := range int32(10) {
		s.sold.Fire(n, fmt.Sprintf("msg %d", n), &order{n * 100, &item{uint16(n)}, uint64(n) << 40, strings.Repeat("x", int(n)), []byte{byte(n)}, float32(n) / 4}, n%2 == 0, float64(n)/2)
	}
}

func captures(exprs ...string) []trace.Capture {
	list := []trace.Capture{}
	for _, e := range exprs {
		list = append(list, trace.Capture{Expr: e})
	}
	return list
}

// text returns events as their probe, and their values by name.
func text(events []trace.Event) string {
	var b strings.Builder
	for _, ev := range events {
		fmt.Fprintln(&b, ev)
	}
	return b.String()
}

func TestConditionsAndCaptures(t *testing.T) {
	testutils.NeedBPF(t)
	s := newShop(t, "shop")
	for _, tt := range []struct {
		name    string
		where   string
		capture []trace.Capture
		want    string
	}{
		{"all arguments of some hits", "n == 3", nil,
			`shop:sold n=3 msg="msg 3" o=? ok=false f=1.5` + "\n"},
		{"arguments alone ask for no function", "", captures("f", "n"), "*"},
		{"no capture at all", "arg1 > 8", captures(), "shop:sold\n"},
		{"names or numbers", "arg1 == 8", captures("arg5", "msg", "arg4"), `shop:sold arg5=4 msg="msg 8" arg4=true` + "\n"},
		{"in parentheses", "n == 8", captures("(n)"), "shop:sold (n)=8\n"},
		{"a string in a condition", `msg == "msg 7"`, captures("n"), "shop:sold n=7\n"},
		{"what a pointer leads to", "o->Item->Price > 7 && !ok", captures("o->ID", "o->Total >> 40"), "shop:sold o->ID=900 o->Total >> 40=9\n"},
		{"thread and process", fmt.Sprintf("pid == %d && n == 1", os.Getpid()), captures("pid", "comm"),
			fmt.Sprintf("shop:sold pid=%d comm=%q\n", os.Getpid(), testComm(t))},
		{"named", "n == 1", []trace.Capture{{Expr: "n * 2", Name: "twice"}, {Expr: "n", Name: "once"}}, "shop:sold twice=2 once=1\n"},
		{"an address as a string", "n == 2", []trace.Capture{{Expr: "(uint64_t)msg", Name: "m", String: true}}, `shop:sold m="msg 2"` + "\n"},
		{"no address, whatever is asked", "n == 2", []trace.Capture{{Expr: "n", String: true}, {Expr: "ok", String: true}, {Expr: "f", String: true}, {Expr: "msg", String: true}},
			`shop:sold n=2 ok=true f=1 msg="msg 2"` + "\n"},
		{"strings and bytes of Go", `o->Name == "xx" || o->ID == 0`, captures("o->Name", "o->Data"),
			"shop:sold o->Name=\"\" o->Data=\"\\x00\"\nshop:sold o->Name=\"xx\" o->Data=\"\\x02\"\n"},
		{"a float of Go", "n == 5", captures("o->Rate"), "shop:sold o->Rate=1.25\n"},
		{"a string of Go at no address", "n == 2", captures("((struct order *)8)->Name"), "shop:sold ((struct order *)8)->Name=!(read string at 0x20: bad address)\n"},
		{"never", "n > 100", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ses := start(t, trace.Query{PID: os.Getpid(), Clauses: []trace.Clause{{Pattern: "shop:*", Where: tt.where, Capture: tt.capture}}})
			s.fire()
			got := text(drain(t, ses))
			if tt.want == "*" {
				if strings.Count(got, "shop:sold f=") != 10 {
					t.Errorf("events\n%s", got)
				}
				return
			}
			if want := strings.ReplaceAll(tt.want, "?", "0x"); !like(got, want) {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

// like compares but for what follows "0x".
func like(got, want string) bool {
	before, after, ok := strings.Cut(want, "=0x ")
	if !ok {
		return got == want
	}
	return strings.HasPrefix(got, before+"=0x") && strings.HasSuffix(got, " "+after)
}

// testComm returns the name of this program's threads.
func testComm(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// drain ends a session and returns what it has gathered.
func drain(t *testing.T, s *trace.Session) []trace.Event {
	t.Helper()
	events, errs := drainAll(s)
	if errs != nil {
		t.Fatal(errs)
	}
	return events
}

// A condition costs a thousand probes no more than one if their arguments look alike
// where it looks.
func TestConditionOfAThousandProbes(t *testing.T) {
	testutils.NeedBPF(t)
	const n = 1000
	p := provider(t, "many1000", nil)
	probes := make([]*emit.Probe2[int64, string], n)
	for i := range probes {
		var err error
		if probes[i], err = emit.NewProbe2[int64, string](p, fmt.Sprintf("probe%d", i), &emit.ProbeOptions{Args: []string{"n", fmt.Sprintf("text%d", i)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	s := start(t, trace.Query{PID: os.Getpid(), Clauses: []trace.Clause{{Pattern: "many1000:*", Where: "n % 2 == 1"}}})
	t.Logf("started within %v", time.Since(begin))
	for i, h := range probes {
		h.Fire(int64(i), "x")
	}
	events := drain(t, s)
	if len(events) != n/2 || events[1].String() != `many1000:probe3 n=3 text3="x"` {
		t.Errorf("%d events, such as %v", len(events), events[1])
	}
}

// Values that are no integers have no histogram.
func TestHistogramOfNoInteger(t *testing.T) {
	testutils.NeedBPF(t)
	newShop(t, "numbers")
	for _, value := range []string{"f", "msg", "comm", "o->Rate", "o->Name", "o->Data"} {
		_, err := trace.Start(trace.Query{PID: os.Getpid(), Clauses: []trace.Clause{{Pattern: "numbers:sold", Aggregate: trace.Log2Hist, Value: value}}})
		var ee *trace.ExprError
		if !errors.As(err, &ee) || ee.Expr != value || ee.Msg != "no integer, which the value of a histogram has to be" {
			t.Errorf("%s: error %v", value, err)
		}
	}
}

// The arguments of an event that are used again are those of the next, the values in
// them are not.
func TestReuseArgs(t *testing.T) {
	testutils.NeedBPF(t)
	s := newShop(t, "again")
	ses := start(t, trace.Query{PID: os.Getpid(), Clauses: []trace.Clause{{Pattern: "again:sold", Capture: captures("msg"), Where: "n < 2"}}, Options: &trace.Options{ReuseArgs: true}})
	s.fire()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var values []any
	var events []trace.Event
	for ev, err := range ses.Events(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		values, events = append(values, ev.Args[0].Value), append(events, ev)
	}
	if diff := cmp.Diff([]any{"msg 0", "msg 1"}, values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if &events[0].Args[0] != &events[1].Args[0] {
		t.Error("the arguments are not used again")
	}
}

// Two clauses that select one probe each give their event, whether their programs are
// the same or not.
func TestTwoClausesOfOneProbe(t *testing.T) {
	testutils.NeedBPF(t)
	s := newShop(t, "twice")
	ses := start(t, trace.Query{PID: os.Getpid(), Clauses: []trace.Clause{
		{Pattern: "twice:sold", Where: "n < 2", Capture: captures("n")},
		{Pattern: "twice:*", Where: "n < 2", Capture: captures("n")},
		{Pattern: "*:sold", Capture: captures("msg"), Where: "n == 1"},
	}})
	if diff := cmp.Diff([]trace.SessionProbe{{0, "twice", "sold"}, {1, "twice", "sold"}, {2, "twice", "sold"}}, ses.Probes()); diff != "" {
		t.Errorf("probes (-want +got):\n%s", diff)
	}
	s.fire()
	got := make(map[string]int)
	for _, ev := range drain(t, ses) {
		got[fmt.Sprint(ev.Clause, " ", ev)]++
	}
	want := map[string]int{
		"0 twice:sold n=0": 1, "0 twice:sold n=1": 1,
		"1 twice:sold n=0": 1, "1 twice:sold n=1": 1,
		`2 twice:sold msg="msg 1"`: 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// An expression that is wrong for all probes is an error, for some a problem.
func TestExpressionsThatDoNotFit(t *testing.T) {
	testutils.NeedBPF(t)
	p := provider(t, "fits", nil)
	one, err := emit.NewProbe1[int](p, "one", &emit.ProbeOptions{Args: []string{"n"}})
	if err != nil {
		t.Fatal(err)
	}
	two, err := emit.NewProbe2[int, int](p, "two", &emit.ProbeOptions{Args: []string{"n", "m"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		pattern string
		later   bool
		clause  trace.Clause
		wrong   string // the expression that is wrong, "" if none is
		probe   string
		problem string // "" if none is
		events  int
	}{
		{name: "fits both", pattern: "fits:*", clause: trace.Clause{Where: "n == 1"}, events: 2},
		{name: "fits one", pattern: "fits:*", clause: trace.Clause{Where: "m == 2"}, events: 1, problem: "fits:one: expression m == 2: "},
		{name: "fits none", pattern: "fits:*", clause: trace.Clause{Where: "x == 2"}, wrong: "x == 2", probe: "fits:one"},
		{name: "captures what only one has", pattern: "fits:*", clause: trace.Clause{Capture: captures("arg1", "arg2")}, events: 1, problem: "fits:one: expression arg2: "},
		{name: "is no expression", pattern: "fits:*", clause: trace.Clause{Where: "n == "}, wrong: "n == "},
		{name: "is no expression, and no probe is there", pattern: "fits:later", later: true, clause: trace.Clause{Where: "n == "}, wrong: "n == "},
		{name: "no probe is there", pattern: "fits:later", later: true, clause: trace.Clause{Where: "n == x->y"}},
		{name: "a histogram of a string", pattern: "fits:*", clause: trace.Clause{Aggregate: trace.Log2Hist, Value: "comm"}, wrong: "comm", probe: "fits:one"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := tt.clause
			c.Pattern = tt.pattern
			s, err := trace.Start(trace.Query{PID: os.Getpid(), Later: tt.later, Clauses: []trace.Clause{c}})
			if tt.wrong != "" {
				var ee *trace.ExprError
				if !errors.As(err, &ee) || ee.Expr != tt.wrong || ee.Probe != tt.probe {
					t.Errorf("error %v (%+v), want one of %s", err, ee, tt.wrong)
				}
				if s != nil {
					t.Error("a session beside the error")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if p := s.Problems(); len(p) != 0 && tt.problem == "" || tt.problem != "" && (len(p) != 1 || !strings.HasPrefix(p[0].Error(), tt.problem)) {
				t.Errorf("problems %v, want %q", p, tt.problem)
			}
			one.Fire(1)
			two.Fire(1, 2)
			if got := drain(t, s); len(got) != tt.events {
				t.Errorf("%d events, want %d", len(got), tt.events)
			}
		})
	}
}

// A process without the probe is an error that says what there is, unless the probe
// may come.
func TestNoProbe(t *testing.T) {
	testutils.NeedBPF(t)
	newShop(t, "mall")
	missing := func(err error) bool {
		return errors.Is(err, usdt.ErrNoProbe) && strings.Contains(err.Error(), "mall:solt: no such probe") && strings.Contains(err.Error(), "did you mean mall:sold?")
	}
	q := trace.Query{PID: os.Getpid(), Clauses: clauses("mall:solt")}
	if _, err := trace.Start(q); !missing(err) {
		t.Errorf("error %v", err)
	}
	// Wildcards may mean what the process defines later.
	later := start(t, trace.Query{PID: os.Getpid(), Clauses: clauses("quarry:*")})
	quarry := newShop(t, "quarry")
	for deadline := time.Now().Add(10 * time.Second); !quarry.sold.Enabled(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a probe that was defined later is not traced")
		}
	}
	quarry.fire()
	if got := drain(t, later); len(got) != 10 {
		t.Errorf("%d events of a probe that was defined later, want 10", len(got))
	}
	// Beside one that is there it is a problem, as a file that is not.
	q.Clauses = append(clauses("mall:solt", "mall:sold"), trace.Clause{Path: "/no/such/file", Pattern: ":x"})
	s, err := trace.Start(q)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if p := s.Problems(); len(p) != 2 || !errors.Is(p[0], os.ErrNotExist) || !missing(p[1]) {
		t.Errorf("problems %v", p)
	}
	q.Clauses = clauses("mall:sold", "mall:solt")
	q.Later = true
	start(t, q)
	q.Clauses[0].Where = "n +"
	var ee *trace.ExprError
	for _, q := range []trace.Query{q, {PID: 1 << 30, Clauses: q.Clauses}, {Clauses: []trace.Clause{{Path: "/no/such/file", Where: "n +", Pattern: ":x"}}}} {
		if _, err := trace.Start(q); !errors.As(err, &ee) || ee.Expr != "n +" || errors.Is(err, os.ErrNotExist) {
			t.Errorf("error %v, want the one of the expression before all others", err)
		}
	}
	for _, pid := range []int{-1, 1 << 30} {
		q = trace.Query{PID: pid, Later: true, Clauses: clauses("mall:sold")}
		if _, err := trace.Start(q); !errors.Is(err, os.ErrNotExist) || err.Error() != fmt.Sprintf("trace: no process %d", pid) {
			t.Errorf("error %v", err)
		}
	}
	// One that has ended and that nobody has waited for is none either.
	ended := exec.Command("true")
	if err := ended.Start(); err != nil {
		t.Fatal(err)
	}
	stat := fmt.Sprintf("/proc/%d/stat", ended.Process.Pid)
	for b, _ := os.ReadFile(stat); !strings.Contains(string(b), ") Z "); b, _ = os.ReadFile(stat) {
		time.Sleep(time.Millisecond)
	}
	if _, err := trace.Start(trace.Query{PID: ended.Process.Pid, Clauses: clauses("mall:sold")}); !errors.Is(err, os.ErrNotExist) ||
		err.Error() != fmt.Sprintf("trace: no process %d", ended.Process.Pid) {
		t.Errorf("error %v", err)
	}
	ended.Wait()
	q = trace.Query{Clauses: []trace.Clause{{Path: "/no/such/file", Pattern: ":x"}}}
	if _, err := trace.Start(q); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}
