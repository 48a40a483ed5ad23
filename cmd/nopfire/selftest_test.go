package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nopfire/nopfire/internal/selftest"
	"github.com/nopfire/nopfire/internal/testutils"
)

// selftestResults are some of every kind.
var selftestResults = []selftest.Result{
	{Check: selftest.Check{Group: "urdt", Name: "shared"}, Took: 1500 * time.Millisecond},
	{Check: selftest.Check{Group: "usdt", Name: "semaphore"}, Status: selftest.Skip, Reason: "needs CAP_BPF"},
	{
		Check: selftest.Check{Group: "cli", Name: "trace #1"}, Status: selftest.Fail,
		Reason: "hits: got \x1b[1m, want #2", Details: []string{"  got\tx", "", "# y"},
	},
}

// printSelftest prints results, the first n of those that are planned.
func printSelftest(n int, p func(*bufio.Writer) selftestPrinter) string {
	var b strings.Builder
	w := bufio.NewWriter(&b)
	printer := p(w)
	totals := selftestTotals{planned: len(selftestResults)}
	printer.begin(totals.planned)
	for _, r := range selftestResults[:n] {
		totals.add(r.Status)
		printer.result(totals.done(), &r)
	}
	printer.end(&totals)
	w.Flush()
	return b.String()
}

func tap(w *bufio.Writer) selftestPrinter { return &tapPrinter{w} }

func TestSelftestTAP(t *testing.T) {
	const want = `TAP version 13
1..3
ok 1 urdt/shared
ok 2 usdt/semaphore # SKIP needs CAP_BPF
not ok 3 cli/trace \#1 # hits: got \x1b[1m, want \#2
#   got    x
#
# # y
# Totals: pass:1 fail:1 xfail:0 xpass:0 skip:1 error:0
`
	if got := printSelftest(3, tap); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	const interrupted = `TAP version 13
1..3
ok 1 urdt/shared
Bail out! interrupted after 1 of 3 checks
# Totals: pass:1 fail:0 xfail:0 xpass:0 skip:0 error:0
`
	if got := printSelftest(1, tap); got != interrupted {
		t.Errorf("got\n%s\nwant\n%s", got, interrupted)
	}
}

func TestSelftestJSON(t *testing.T) {
	const want = `{"kind":"check","group":"urdt","name":"shared","status":"pass","seconds":1.500}
{"kind":"check","group":"usdt","name":"semaphore","status":"skip","reason":"needs CAP_BPF","seconds":0.000}
{"kind":"check","group":"cli","name":"trace #1","status":"fail","reason":"hits: got \u001b[1m, want #2","details":"  got\tx\n\n# y","seconds":0.000}
{"kind":"result","planned":3,"pass":1,"fail":1,"skip":1}
`
	got := printSelftest(3, func(w *bufio.Writer) selftestPrinter { return &selftestJSON{w} })
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestSelftestTotals(t *testing.T) {
	for _, row := range []struct {
		totals selftestTotals
		err    string
	}{
		{selftestTotals{planned: 3, pass: 3}, ""},
		{selftestTotals{planned: 3, skip: 3}, ""},
		{selftestTotals{planned: 3, pass: 2, fail: 1}, "selftest: 1 of 3 checks failed"},
		{selftestTotals{planned: 3, pass: 1, fail: 1}, "selftest: interrupted after 2 of 3 checks"},
	} {
		got := ""
		if err := row.totals.err(); err != nil {
			got = err.Error()
		}
		if got != row.err {
			t.Errorf("%+v: %q, want %q", row.totals, got, row.err)
		}
	}
}

func TestTAPReason(t *testing.T) {
	for in, want := range map[string]string{
		"got 1, want 2": "got 1, want 2",
		"Skip of 2":     "failed: Skip of 2",
		"todo":          "failed: todo",
		"tod":           "tod",
		"a # b\x1b":     `a \# b\x1b`,
	} {
		if got := tapReason(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// A stranger, Perl's prove, counts as we do.
func TestSelftestProve(t *testing.T) {
	prove := testutils.Oracle(t, "prove")
	file := filepath.Join(t.TempDir(), "out.tap")
	if err := os.WriteFile(file, []byte(printSelftest(3, tap)), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(prove, "--norc", "-e", "cat", file).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "Failed test:  3\n") || !strings.Contains(string(out), "Failed 1/3 subtests") || !strings.Contains(string(out), "(less 1 skipped subtest: 1 okay)") {
		t.Errorf("prove: %v\n%s", err, out)
	}
}
