package selftest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/emit"
)

// traceChecks are about sessions: events, conditions, counts, histograms.
var traceChecks = []Check{
	{Name: "a condition in C selects hits", Needs: traces, run: traceWhere},
	{Name: "strings are compared where they lie", Needs: traces, run: traceStrings},
	{Name: "expressions are captured under their names", Needs: traces, run: traceCapture},
	{Name: "two clauses see one hit twice", Needs: traces, run: traceClauses},
	{Name: "a pattern selects among probes", Needs: traces, run: tracePattern},
	{Name: "counts by key are exact", Needs: traces, run: traceCount},
	{Name: "a histogram by powers of two is exact", Needs: traces, run: traceLog2},
	{Name: "a linear histogram is exact", Needs: traces, run: traceLinear},
	{Name: "what was lost is counted", Needs: traces, run: traceLost},
	{Name: "a session ends with its process", Needs: traces, run: traceEnd},
	{Name: "an expression that is wrong is told with its place", Needs: traces, run: traceWrong},
}

// pairProbe defines selftest:pair(n int, s string) in this process.
func pairProbe(t *T) *emit.Probe2[int, string] {
	p := newProvider(t, nil)
	return define[*emit.Probe2[int, string]](t, p)(emit.NewProbe2[int, string](p, "pair", names("n", "s")))
}

// traceClause traces one clause in this process.
func traceClause(t *T, c trace.Clause) *tracer {
	return traceQuery(t, trace.Query{PID: os.Getpid(), Clauses: []trace.Clause{c}})
}

func traceWhere(t *T) {
	h := pairProbe(t)
	tr := traceClause(t, trace.Clause{Pattern: "selftest:pair", Where: "n % 3 == 0 && n > -4 || arg1 == 100"})
	for _, n := range []int{-6, -3, 0, 1, 3, 100, math.MaxInt} {
		h.Fire(n, "")
	}
	tr.expect(`selftest:pair n=-3 s=""`, `selftest:pair n=0 s=""`, `selftest:pair n=3 s=""`, `selftest:pair n=100 s=""`)
}

func traceStrings(t *T) {
	h := pairProbe(t)
	tr := traceClause(t, trace.Clause{Pattern: "selftest:pair", Where: `s == "yes" || strncmp(s, "ye", 2) == 0 && s != "yes!"`})
	for i, s := range []string{"yes", "no", "ye", "yes!", "", "yesterday"} {
		h.Fire(i, s)
	}
	tr.expect(`selftest:pair n=0 s="yes"`, `selftest:pair n=2 s="ye"`, `selftest:pair n=5 s="yesterday"`)
}

func traceCapture(t *T) {
	h := pairProbe(t)
	tr := traceClause(t, trace.Clause{Pattern: "selftest:pair", Capture: []trace.Capture{
		{Expr: "s"}, {Expr: "n * n - 1", Name: "square"}, {Expr: "(unsigned char)n"}, {Expr: "n < 0 ? -n : n", Name: "abs"}, {Expr: "pid"},
	}})
	h.Fire(-300, "captured")
	tr.expect(fmt.Sprintf(`selftest:pair s="captured" square=89999 (unsigned char)n=212 abs=300 pid=%d`, os.Getpid()))
}

func traceClauses(t *T) {
	h := pairProbe(t)
	tr := traceSelf(t, "selftest:pair", "selftest:p*")
	h.Fire(1, "x")
	seen := map[int]int{}
	for _, ev := range tr.gather() {
		seen[ev.Clause]++
	}
	equal(t, "events by clause", seen, map[int]int{0: 1, 1: 1})
}

func tracePattern(t *T) {
	p := newProvider(t, nil)
	var all []*emit.Probe0
	for _, name := range []string{"gc_start", "gc_end", "alloc"} {
		all = append(all, define[*emit.Probe0](t, p)(emit.NewProbe0(p, name, nil)))
	}
	tr := traceSelf(t, "self*:gc_*")
	for _, h := range all {
		h.Fire()
	}
	tr.expect("selftest:gc_start", "selftest:gc_end")
}

// rows returns what a session has counted, one line a row.
func (tr *tracer) rows() []string {
	rows, err := tr.Rows()
	tr.t.Must(err)
	var lines []string
	for _, r := range rows {
		line := fmt.Sprintf("%s:%s", r.Provider, r.Probe)
		for _, k := range r.Key {
			line += fmt.Sprintf(" %s=%v", k.Name, k)
		}
		line += fmt.Sprintf(": %d", r.Count)
		for _, b := range r.Buckets {
			line += fmt.Sprintf(" [%d..%d]=%d", b.Min, b.Max, b.Count)
		}
		lines = append(lines, line)
	}
	return lines
}

func traceCount(t *T) {
	h := pairProbe(t)
	tr := traceClause(t, trace.Clause{Pattern: "selftest:pair", Aggregate: trace.Count, Where: "n != 7", Capture: []trace.Capture{{Expr: "s"}, {Expr: "n & 1", Name: "odd"}}})
	for n := range 1000 {
		h.Fire(n, []string{"tea", "coffee"}[n/500])
	}
	equalLines(t, "rows", tr.rows(), []string{
		`selftest:pair s="coffee" odd=0: 250`,
		`selftest:pair s="coffee" odd=1: 250`,
		`selftest:pair s="tea" odd=0: 250`,
		`selftest:pair s="tea" odd=1: 249`,
	})
}

func traceLog2(t *T) {
	h := pairProbe(t)
	tr := traceClause(t, trace.Clause{Pattern: "selftest:pair", Aggregate: trace.Log2Hist, Value: "n"})
	for _, n := range []int{-1, math.MinInt, 0, 1, 2, 3, 4, 7, 8, 1023, math.MaxInt} {
		h.Fire(n, "")
	}
	equalLines(t, "rows", tr.rows(), []string{fmt.Sprintf(
		"selftest:pair: 11 [%d..-1]=2 [0..0]=1 [1..1]=1 [2..3]=2 [4..7]=2 [8..15]=1 [512..1023]=1 [%d..%d]=1",
		math.MinInt, int64(1)<<62, math.MaxInt)})
}

func traceLinear(t *T) {
	h := pairProbe(t)
	tr := traceClause(t, trace.Clause{Pattern: "selftest:pair", Aggregate: trace.LinearHist, Value: "n", Linear: trace.Linear{Min: -10, Max: 30, Step: 10}})
	for _, n := range []int{-11, -10, -1, 0, 9, 10, 29, 30, 5000} {
		h.Fire(n, "")
	}
	equalLines(t, "rows", tr.rows(), []string{fmt.Sprintf(
		"selftest:pair: 9 [%d..-11]=1 [-10..-1]=2 [0..9]=2 [10..19]=1 [20..29]=1 [30..%d]=2", math.MinInt, math.MaxInt)})
}

func traceLost(t *T) {
	h := pairProbe(t)
	tr := traceQuery(t, trace.Query{
		PID:     os.Getpid(),
		Clauses: []trace.Clause{{Pattern: "selftest:pair"}},
		Options: &trace.Options{BufferSize: 64 << 10},
	})
	const fired = 20000 // far more than there is room for
	for n := range fired {
		h.Fire(n, "")
	}
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	var got, lost uint64
	last := int64(-1)
	for ev, err := range tr.Events(ctx) {
		var l *trace.LostError
		switch {
		case errors.As(err, &l):
			lost += l.Count
		case err != nil:
			t.Errorf("%v", err)
		default:
			got++
			if n := ev.Args[0].Value.(int64); n > last {
				last = n
			} else {
				t.Fatalf("event %d comes after %d", n, last)
			}
		}
	}
	if got == 0 || lost == 0 {
		t.Errorf("%d events, %d lost: the buffer was to be too small", got, lost)
	}
	equal(t, "events and lost ones", got+lost, uint64(fired))
	equal(t, "Lost", tr.Lost(), lost)
}

func traceEnd(t *T) {
	p := startPeer(t, "")
	p.tell("define ending")
	tr := traceQuery(t, trace.Query{PID: p.pid(), Clauses: []trace.Clause{{Pattern: "selftest:ending"}}})
	p.tell("fire 2")
	p.stop()
	var got []string
	for ev, err := range tr.Events(t.ctx) { // ends by itself
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		got = append(got, ev.String())
	}
	equalLines(t, "events", got, []string{`selftest:ending i=0 msg="message 0"`, `selftest:ending i=1 msg="message 1"`})
	equal(t, "the time was over", t.ctx.Err() != nil, false)
}

func traceWrong(t *T) {
	pairProbe(t)
	for _, row := range []struct {
		where string
		off   int
	}{
		{"n ==", 4},
		{"1 + nobody", 4},
	} {
		s, err := trace.Start(trace.Query{PID: os.Getpid(), Clauses: []trace.Clause{{Pattern: "selftest:pair", Where: row.where}}})
		if err == nil {
			s.Close()
		}
		var e *trace.ExprError
		if !errors.As(err, &e) {
			t.Errorf("%q: got error %v, want a %T", row.where, err, e)
			continue
		}
		equal(t, fmt.Sprintf("place in %q", row.where), e.Off, row.off)
	}
	_, err := trace.Start(trace.Query{PID: os.Getpid(), Clauses: []trace.Clause{{Pattern: "selftest:nothing"}}})
	wantError(t, "a probe that is not there", err, usdt.ErrNoProbe)
}
