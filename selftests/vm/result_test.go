package main

import (
	"slices"
	"strings"
	"testing"
)

// console is what a machine prints when all goes well, but for one skip.
const console = `[    0.000000] Linux version 6.1
# kernel 6.1.0-57-cloud-amd64 x86_64
# begin emit
| === RUN   TestA
| # begin usdt
# end emit 0 1.5
# begin usdt
# end usdt 0 2.5
# done
[    9.000000] reboot: Power down
`

func read(t *testing.T, s string) *result {
	t.Helper()
	r := new(result)
	if err := readLines(strings.NewReader(s), r.line); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestResultLines(t *testing.T) {
	r := read(t, strings.ReplaceAll(console, "\n", "\r\n"))
	if r.release != "6.1.0-57-cloud-amd64" || !r.done || len(r.faults) > 0 || len(r.stray) != 2 {
		t.Errorf("%+v", r)
	}
	if len(r.groups) != 2 {
		t.Fatalf("%d groups", len(r.groups))
	}
	g := r.groups[0]
	if g.name != "emit" || g.status != "0" || g.seconds != "1.5" || string(g.output) != "=== RUN   TestA\n# begin usdt\n" {
		t.Errorf("%+v", g)
	}
}

// A machine is well only if it says so to the end.
func TestResultOK(t *testing.T) {
	for _, tt := range []struct {
		name    string
		console string
		want    bool
	}{
		{"all well", console, true},
		{"nothing", "", false},
		{"dies in a group", console[:strings.Index(console, "# end usdt")], false},
		{"dies behind its groups", console[:strings.Index(console, "# done")], false},
		{"a group fails", strings.Replace(console, "# end usdt 0", "# end usdt 1", 1), false},
		{"a group hangs", strings.Replace(console, "# end usdt 0", "# end usdt timeout", 1), false},
		{"a group is missing", strings.Replace(strings.Replace(console, "# begin usdt\n# end", "", 1), "# end usdt 0 2.5\n", "", 1), false},
		{"the kernel complains", strings.Replace(console, "# done", "# fault WARNING: CPU: 0\n# done", 1), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := read(t, tt.console)
			for _, g := range r.groups {
				g.tests = []test{{name: "TestA", action: "pass"}}
			}
			if got := r.ok(2); got != tt.want {
				t.Errorf("ok is %v", got)
			}
		})
	}
	r := read(t, console)
	if r.ok(2) {
		t.Error("groups without tests are well")
	}
}

// events are lines of test2json.
const events = `{"Action":"start"}
{"Action":"run","Test":"TestA"}
{"Action":"output","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"run","Test":"TestA/good"}
{"Action":"pass","Test":"TestA/good","Elapsed":1}
{"Action":"run","Test":"TestA/bad"}
{"Action":"output","Test":"TestA/bad","Output":"    a_test.go:7: got 1\n"}
{"Action":"fail","Test":"TestA/bad"}
{"Action":"fail","Test":"TestA"}
{"Action":"run","Test":"TestB"}
{"Action":"run","Test":"TestB/good"}
{"Action":"pass","Test":"TestB/good"}
{"Action":"fail","Test":"TestB"}
{"Action":"run","Test":"TestC"}
{"Action":"output","Test":"TestC","Output":"    c_test.go:7: something else\n"}
{"Action":"output","Test":"TestC","Output":"    c_test.go:9: skipped: no gcc in PATH\n"}
{"Action":"output","Test":"TestC","Output":"--- SKIP: TestC (0.00s)\n"}
{"Action":"skip","Test":"TestC"}
{"Action":"run","Test":"TestD"}
{"Action":"output","Output":"panic: no\n"}
`

func TestParseEvents(t *testing.T) {
	g := &groupResult{status: "2"}
	if err := g.parseEvents(strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range g.tests {
		got = append(got, x.action+" "+x.name)
	}
	want := []string{
		"pass TestA/good", "fail TestA/bad", // TestA is its parts
		"fail TestB", "pass TestB/good", // but TestB fails by itself
		"skip TestC", "unfinished TestD",
	}
	if !slices.Equal(got, want) {
		t.Errorf("tests %q, want %q", got, want)
	}
	if r := g.tests[4].reason(); r != "no gcc in PATH" {
		t.Errorf("reason %q", r)
	}
	if n := g.count("fail"); n != 2 || !g.bad() {
		t.Errorf("%d failed, bad %v", n, g.bad())
	}
}

func TestParseChecks(t *testing.T) {
	g := &groupResult{status: "0", output: []byte(`{"kind":"check","group":"emit","name":"a","status":"pass"}
{"kind":"check","group":"emit","name":"b","status":"skip","reason":"needs CAP_BPF"}
{"kind":"check","group":"urdt","name":"c","status":"fail","reason":"saw 1"}
no JSON
{"kind":"result","pass":1,"fail":1}
`)}
	g.parseChecks()
	if len(g.tests) != 3 || g.count("pass") != 1 || g.count("skip") != 1 || g.count("fail") != 1 || !g.bad() {
		t.Errorf("%+v", g.tests)
	}
	if r := g.tests[1].reason(); r != "needs CAP_BPF" {
		t.Errorf("reason %q", r)
	}
}
