package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/trace/probespec"
)

// second returns a time of the test.
func second(n int) time.Time { return time.Date(2026, 1, 31, 12, 0, n, 0, time.UTC) }

// countedAt is a snapshot of the rows at a second; counting has begun at 0.
func countedAt(n int, last bool, rows ...trace.Row) *counted {
	return &counted{rows: rows, from: second(max(n-1, 0)), to: second(n), last: last}
}

func number(name string, n int64) trace.Value {
	return trace.Value{Name: name, Type: "int64", Value: n}
}

func text(name, s string) trace.Value { return trace.Value{Name: name, Type: "string", Value: s} }

// order is a row of myapp:order.
func order(n uint64, key ...trace.Value) trace.Row {
	return trace.Row{Provider: "myapp", Probe: "order", Count: n, Key: key}
}

// dist returns the specification of a row of flags.
func dist(t *testing.T, spec string, kind trace.Aggregate) *probespec.Dist {
	t.Helper()
	d, err := probespec.ParseDist(spec, kind)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestRowDiffer(t *testing.T) {
	hist := func(n uint64, buckets ...trace.Bucket) trace.Row {
		r := order(n)
		r.Clause, r.Buckets = 1, buckets
		return r
	}
	var d rowDiffer
	for i, step := range []struct{ rows, want []trace.Row }{
		{nil, nil},
		{[]trace.Row{order(3, number("a", 1))}, []trace.Row{order(3, number("a", 1))}},
		{[]trace.Row{order(3, number("a", 1))}, nil},
		// The same text, but another value.
		{[]trace.Row{order(5, number("a", 1)), order(2, text("a", "1"))}, []trace.Row{order(2, number("a", 1)), order(2, text("a", "1"))}},
		{[]trace.Row{order(5, number("a", 1)), order(4, text("a", "1")), hist(2, trace.Bucket{Min: 1, Max: 1, Count: 2})},
			[]trace.Row{order(2, text("a", "1")), hist(2, trace.Bucket{Min: 1, Max: 1, Count: 2})}},
		{[]trace.Row{order(5, number("a", 1)), order(4, text("a", "1")), hist(5, trace.Bucket{Min: 0, Max: 0, Count: 3}, trace.Bucket{Min: 1, Max: 1, Count: 2})},
			[]trace.Row{hist(3, trace.Bucket{Min: 0, Max: 0, Count: 3})}},
	} {
		if diff := cmp.Diff(step.want, d.since(step.rows)); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestDistText(t *testing.T) {
	inProcess := func(r trace.Row, pid int, comm string) trace.Row {
		r.PID, r.Comm = pid, comm
		return r
	}
	probe := func(r trace.Row, name string) trace.Row {
		r.Probe = name
		return r
	}
	hist := func(buckets ...trace.Bucket) trace.Row {
		r := order(0)
		for _, b := range buckets {
			r.Count += b.Count
		}
		r.Buckets = buckets
		return r
	}
	duration := func(clause int) trace.Row {
		r := hist(trace.Bucket{Min: 4, Max: 7, Count: 4})
		r.Clause, r.ValueType = clause, "time.Duration"
		return r
	}
	for _, row := range []struct {
		name  string
		specs []string // those of histograms begin with -H, of linear ones with -L
		view  distText
		shown []*counted
		want  string
	}{
		{
			"total", []string{"myapp:order"}, distText{cumulative: true}, []*counted{countedAt(1, true, order(12))}, `
myapp:order
	COUNT      EVENT
	12         total calls
`,
		},
		{
			"nothing", []string{"myapp:order id", "-H myapp:order id"}, distText{cumulative: true}, []*counted{countedAt(1, true)}, `
myapp:order id
	COUNT      EVENT
myapp:order id
(no values)
`,
		},
		{
			"values, the largest last, as bcc has them", []string{"u:x:order():int,char*:arg1,arg2#orders"}, distText{cumulative: true},
			[]*counted{countedAt(1, true, order(5, number("arg1", 1), text("arg2", "a\x1b\"")), order(2, number("arg1", -2), text("arg2", "tea")), order(5, number("arg1", 3), trace.Value{Name: "arg2"}))}, `
orders
	COUNT      EVENT
	2          arg1 = -2, arg2 = "tea"
	5          arg1 = 1, arg2 = "a\x1b\""
	5          arg1 = 3, arg2 = <nil>
`,
		},
		{
			"the largest only", []string{"myapp:order id"}, distText{cumulative: true, top: 1},
			[]*counted{countedAt(1, true, order(5, number("id", 1)), order(2, number("id", 2)), order(1, number("id", 3)))}, `
myapp:order id
	COUNT      EVENT
	…          (2 smaller)
	5          id = 1
`,
		},
		{
			"several probes, several processes", []string{"myapp:*"}, distText{cumulative: true},
			[]*counted{countedAt(1, true, inProcess(probe(order(2), "a\n"), 7, ""), inProcess(order(3), 4711, "my\x1bapp"))}, `
myapp:*
	COUNT      PID     COMM            EVENT
	2          7       -               myapp:a\n
	3          4711    my\x1bapp       myapp:order
`,
		},
		{
			"intervals have what is new", []string{"myapp:order id"}, distText{intervals: true},
			[]*counted{countedAt(1, false, order(5, number("id", 1))), countedAt(2, false, order(5, number("id", 1)), order(1, number("id", 2))), countedAt(3, true, order(5, number("id", 1)), order(1, number("id", 2)))}, `
[12:00:01]
myapp:order id
	COUNT      EVENT
	5          id = 1
[12:00:02]
myapp:order id
	COUNT      EVENT
	1          id = 2
`,
		},
		{
			"intervals with everything", []string{"myapp:order id"}, distText{intervals: true, cumulative: true},
			[]*counted{countedAt(1, false, order(5, number("id", 1))), countedAt(2, true, order(6, number("id", 1)))}, `
[12:00:01]
myapp:order id
	COUNT      EVENT
	5          id = 1
[12:00:02]
myapp:order id
	COUNT      EVENT
	6          id = 1
`,
		},
		{
			"bars where there is room", []string{"myapp:order id"}, distText{cumulative: true, width: 80},
			[]*counted{countedAt(1, true, order(4, number("id", 1)), order(2, number("id", 2)), order(1, number("id", 3000)))}, `
myapp:order id
	COUNT      EVENT
	1          id = 3000  ************
	2          id = 2     ************************
	4          id = 1     *************************************************
`,
		},
		{
			"powers of two", []string{"-H myapp:order took"}, distText{cumulative: true},
			[]*counted{countedAt(1, true, hist(trace.Bucket{Min: math.MinInt64, Max: -1, Count: 1}, trace.Bucket{Min: 1, Max: 1, Count: 2}, trace.Bucket{Min: 4, Max: 7, Count: 4}))}, `
myapp:order took
    took : count    distribution
 … -> -1 : 1        |**********                              |
 0       : 0        |                                        |
 1       : 2        |********************                    |
 2 -> 3  : 0        |                                        |
 4 -> 7  : 4        |****************************************|
`,
		},
		{
			"a duration", []string{"-H myapp:order took", "-H myapp:order took#latency"}, distText{cumulative: true},
			[]*counted{countedAt(1, true, duration(0), duration(1))}, `
myapp:order took
took (ns) : count    distribution
   4 -> 7 : 4        |****************************************|
latency
latency (ns) : count    distribution
      4 -> 7 : 4        |****************************************|
`,
		},
		{
			"the largest number", []string{"-H myapp:order took#ns"}, distText{cumulative: true},
			[]*counted{countedAt(1, true, hist(trace.Bucket{Min: math.MinInt64, Max: -1, Unsigned: true, Count: 1}))}, `
ns
                                          ns : count    distribution
 9223372036854775808 -> 18446744073709551615 : 1        |****************************************|
`,
		},
		{
			"equal ranges, by key", []string{"-L myapp:order item, took"}, distText{cumulative: true},
			[]*counted{countedAt(1, true, func() trace.Row {
				r := hist(trace.Bucket{Min: math.MinInt64, Max: -11, Count: 1}, trace.Bucket{Min: -10, Max: -1, Count: 1}, trace.Bucket{Min: 10, Max: 19, Count: 3}, trace.Bucket{Min: 20, Max: math.MaxInt64, Count: 1})
				r.Key = []trace.Value{text("item", "tea")}
				return r
			}())}, `
myapp:order item, took
item = "tea"
      took : count    distribution
  … -> -11 : 1        |*************                           |
-10 -> -1  : 1        |*************                           |
  0 -> 9   : 0        |                                        |
 10 -> 19  : 3        |****************************************|
 20 -> …   : 1        |*************                           |
`,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			var out strings.Builder
			v := row.view
			v.w = &out
			for _, spec := range row.specs {
				kind := trace.Count
				if rest, ok := strings.CutPrefix(spec, "-H "); ok {
					spec, kind = rest, trace.Log2Hist
				}
				if rest, ok := strings.CutPrefix(spec, "-L "); ok {
					spec, kind = rest, trace.LinearHist
				}
				d := dist(t, spec, kind)
				d.Clause.Linear = trace.Linear{Min: -10, Max: 20, Step: 10}
				d.Clause.ByProcess = strings.Contains(row.want, "PID")
				v.dists = append(v.dists, d)
			}
			for _, c := range row.shown {
				if err := v.show(c); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(row.want[1:], out.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCountJSON(t *testing.T) {
	const head = `"from":"2026-01-31T12:00:00.000000000Z","time":"2026-01-31T12:00:01.000000000Z"`
	hist := order(3, number("id", 7))
	hist.Buckets = []trace.Bucket{{Min: math.MinInt64, Max: -1, Count: 1}, {Min: 2, Max: 3, Count: 2}}
	unsigned := order(1)
	unsigned.Buckets = []trace.Bucket{{Min: math.MinInt64, Max: -1, Unsigned: true, Count: 1}}
	typed := unsigned
	typed.ValueType = "time.Duration"
	inProcess := order(math.MaxUint64)
	inProcess.PID, inProcess.Comm = 4711, "a\"b"
	for _, row := range []struct {
		spec string
		kind trace.Aggregate
		row  trace.Row
		want string
	}{
		{"myapp:order", trace.Count, order(3), `{"kind":"count",` + head + `,"clause":0,"provider":"myapp","probe":"order","key":[],"count":3}`},
		{"myapp:order#new\torders", trace.Count, inProcess, `{"kind":"count",` + head + `,"clause":0,"label":"new\torders","provider":"myapp","probe":"order","pid":4711,"comm":"a\"b","key":[],"count":18446744073709551615}`},
		{"myapp:order id,x", trace.Count, order(3, number("id", 7), text("x", "\xff")), `{"kind":"count",` + head + `,"clause":0,"provider":"myapp","probe":"order","key":[{"name":"id","type":"int64","value":7},{"name":"x","type":"string","value":"\\xff","escaped":true}],"count":3}`},
		{"myapp:order id,took", trace.Log2Hist, hist, `{"kind":"histogram",` + head + `,"clause":0,"provider":"myapp","probe":"order","key":[{"name":"id","type":"int64","value":7}],"value":"took","count":3,"buckets":[{"min":null,"max":-1,"count":1},{"min":2,"max":3,"count":2}]}`},
		{"myapp:order took", trace.Log2Hist, unsigned, `{"kind":"histogram",` + head + `,"clause":0,"provider":"myapp","probe":"order","key":[],"value":"took","count":1,"buckets":[{"min":9223372036854775808,"max":18446744073709551615,"count":1}]}`},
		{"myapp:order took", trace.Log2Hist, typed, `{"kind":"histogram",` + head + `,"clause":0,"provider":"myapp","probe":"order","key":[],"value":"took","type":"time.Duration","count":1,"buckets":[{"min":9223372036854775808,"max":18446744073709551615,"count":1}]}`},
		{"myapp:order took", trace.LinearHist, unsigned, `{"kind":"histogram",` + head + `,"clause":0,"provider":"myapp","probe":"order","key":[],"value":"took","count":1,"buckets":[{"min":9223372036854775808,"max":null,"count":1}]}`},
	} {
		d := dist(t, row.spec, row.kind)
		d.Clause.ByProcess = row.row.PID != 0
		var out strings.Builder
		v := &countJSON{w: &out, dists: []*probespec.Dist{d}}
		if err := v.show(countedAt(1, false, row.row)); err != nil {
			t.Fatal(err)
		}
		if out.String() != row.want+"\n" || !json.Valid([]byte(out.String())) {
			t.Errorf("%s\nwant\n%s", &out, row.want)
		}
		out.Reset()
		if err := v.show(countedAt(2, true, row.row)); err != nil || out.Len() > 0 {
			t.Errorf("nothing new gives %q, error %v", &out, err)
		}
	}
}

func TestCountText(t *testing.T) {
	row := func(n uint64, pid int, comm, probe string) trace.Row {
		return trace.Row{Provider: "myapp", Probe: probe, PID: pid, Comm: comm, Count: n}
	}
	of := func(clause int, r trace.Row) trace.Row {
		r.Clause = clause
		return r
	}
	dists := func(specs ...string) (list []*probespec.Dist) {
		for _, spec := range specs {
			list = append(list, dist(t, spec, trace.Count))
		}
		return list
	}
	for _, tt := range []struct {
		name  string
		view  countText
		shown []*counted
		want  string
		notes string
	}{
		{
			"in the end", countText{}, []*counted{{rows: []trace.Row{row(3, 7, "app", "a"), row(4000, 8, "", "b")}, from: second(0), to: second(2), last: true}}, `
     COUNT       RATE PID     COMM            PROBE
      4000       2000 8       -               myapp:b
         3        1.5 7       app             myapp:a
      4003       2002                         total
`, "nopfire: note: not hit: myapp:c\n",
		},
		{
			"nothing", countText{}, []*counted{countedAt(1, true)}, `
     COUNT       RATE PID     COMM            PROBE
         0          0                         total
`, "nopfire: note: not hit: myapp:a, myapp:b, myapp:c\n",
		},
		{
			"intervals", countText{intervals: true}, []*counted{
				countedAt(1, false, row(3, 7, "app", "a")), countedAt(2, false, row(3, 7, "app", "a"), row(1, 7, "app", "b")),
				countedAt(3, true, row(3, 7, "app", "a"), row(1, 7, "app", "b"), row(1, 7, "app", "c\x1b")),
			}, `
[12:00:01]
     COUNT       RATE PID     COMM            PROBE
         3        3.0 7       app             myapp:a
[12:00:02]
     COUNT       RATE PID     COMM            PROBE
         1        1.0 7       app             myapp:b
[12:00:03]
     COUNT       RATE PID     COMM            PROBE
         1        1.0 7       app             myapp:c\x1b
`, "nopfire: note: not hit: myapp:c\n",
		},
		{
			"a screen", countText{screen: &screen{height: func() int { return 24 }}}, []*counted{
				countedAt(1, false, row(3, 7, "app", "a")), countedAt(2, false, row(4, 7, "app", "a")), countedAt(3, true, row(6, 7, "app", "a")),
			}, `
<nowrap>     COUNT       RATE PID     COMM            PROBE
         3        3.0 7       app             myapp:a<wrap>
<up 2><erase><nowrap>     COUNT       RATE PID     COMM            PROBE
         4        1.0 7       app             myapp:a<wrap>
<up 2><erase>     COUNT       RATE PID     COMM            PROBE
         6        2.0 7       app             myapp:a
`, "nopfire: note: not hit: myapp:b, myapp:c\n",
		},
		{
			"a condition", countText{dists: dists("myapp:a", "myapp:b (x == '\x1b')")}, []*counted{countedAt(1, true, row(3, 7, "app", "a"), of(1, row(1, 7, "app", "b")))}, `
     COUNT       RATE PID     COMM            PROBE
         3        3.0 7       app             myapp:a
         1        1.0 7       app             myapp:b (x == '\x1b')
         4        4.0                         total
`, "",
		},
		{
			// A sum would count hits twice.
			"specifications of the same probes", countText{dists: dists("myapp:*", "myapp:a (x > 1)", "myapp:a (x > 2)", "myapp:b (x > 1)#large")}, []*counted{
				countedAt(1, true, row(4, 7, "app", "a"), row(3, 7, "app", "b"), of(1, row(2, 7, "app", "a")), of(3, row(1, 7, "app", "b"))),
			}, `
     COUNT       RATE PID     COMM            PROBE
         4        4.0 7       app             myapp:a
         3        3.0 7       app             myapp:b
         2        2.0 7       app             myapp:a (x > 1)
         1        1.0 7       app             myapp:b #large
`, "nopfire: note: not hit: myapp:a (x > 2), myapp:c\n",
		},
		{
			"two files", countText{dists: dists("/x:myapp:a (x > 1)", "/y:myapp:a (x > 1)")}, []*counted{countedAt(1, true, row(3, 7, "app", "a"), of(1, row(1, 7, "app", "a")))}, `
     COUNT       RATE PID     COMM            PROBE
         3        3.0 7       app             myapp:a [/x:myapp:a (x > 1)]
         1        1.0 7       app             myapp:a [/y:myapp:a (x > 1)]
`, "",
		},
		{
			// The probe of a row need not be known yet.
			"a new probe", countText{dists: dists("myapp:a", "myapp:?")}, []*counted{countedAt(1, true, row(3, 7, "app", "a"), of(1, row(3, 7, "app", "a")))}, `
     COUNT       RATE PID     COMM            PROBE
         3        3.0 7       app             myapp:a [myapp:a]
         3        3.0 7       app             myapp:a [myapp:?]
`, "nopfire: note: not hit: myapp:?\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out, notes strings.Builder
			v := tt.view
			v.w, v.errw = &out, &notes
			if v.dists == nil {
				v.dists = dists("myapp:*")
			}
			v.probes = func() (p []trace.SessionProbe) {
				for i, d := range v.dists {
					_, name, _ := strings.Cut(d.Clause.Pattern, ":")
					names := []string{name}
					if name == "*" {
						names = []string{"a", "b", "c"}
					}
					for _, name := range names {
						p = append(p, trace.SessionProbe{Clause: i, Provider: "myapp", Name: name})
					}
				}
				return p
			}
			if v.screen != nil {
				v.screen.w = &out
			}
			for _, c := range tt.shown {
				if err := v.show(c); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(tt.want[1:], showControls(out.String())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if notes.String() != tt.notes {
				t.Errorf("notes %q, want %q", &notes, tt.notes)
			}
		})
	}
}

// showControls makes the control sequences of a screen readable.
func showControls(s string) string {
	return strings.NewReplacer(wrapOff, "<nowrap>", wrapOn, "<wrap>", eraseBelow, "<erase>", "\x1b[2A", "<up 2>", "\x1b[3A", "<up 3>", "\x1b[4A", "<up 4>").Replace(s)
}

// A table that is higher than the terminal is cut, but for its last line; what goes to
// standard error meanwhile stands above it.
func TestScreen(t *testing.T) {
	var out strings.Builder
	s := &screen{w: &out, height: func() int { return 6 }}
	above := &aboveScreen{s, &out}
	draw := func(text string) {
		t.Helper()
		if err := s.draw(text); err != nil {
			t.Fatal(err)
		}
	}
	draw("1\n2\n3\n4\n5\n")
	draw("1\n2\n3\n4\n5\n6\n")
	if _, err := above.Write([]byte("note\n")); err != nil {
		t.Fatal(err)
	}
	draw("1\n2\n")
	want := "<nowrap>1\n2\n3\n4\n5<wrap>\n" +
		"\x1b[5A<erase><nowrap>1\n2\n3\n… 2 more lines\n6<wrap>\n" +
		"\x1b[5A<erase>note\n" +
		"<nowrap>1\n2<wrap>\n"
	if got := showControls(out.String()); got != want {
		t.Errorf("%q\nwant\n%q", got, want)
	}
}
