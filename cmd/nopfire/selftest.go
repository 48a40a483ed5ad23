package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nopfire/nopfire/internal/selftest"
)

// newSelftest returns the command that shows on the user's machine what is promised.
func newSelftest() *cobra.Command {
	var list, asJSON bool
	cmd := &cobra.Command{
		Use:   "selftest [GROUP[/CHECK]...]",
		Short: "Check on this machine that what is promised holds",
		Long: `Check on this machine what nopfire and its libraries promise: define probes, trace
them, and compare what comes with what was fired. Nothing but this program is
needed, and nothing is left behind. All checks take some ten seconds.

The groups:
  emit     probes that a Go program defines
  elfgen   the objects that hold them, and what the kernel says to them
  urdt     tracepoints of any name at any time
  usdt     finding probes, attaching, arguments, cookies, semaphores
  trace    sessions: conditions, events, counts, histograms
  bpfc     BPF programs in C, compiled, attached and run
  cli      the commands of this program

GROUP and CHECK select some; *, ? and [ ] stand for what they do in file names.

The output is TAP, version 13, with the last line of the kernel's kselftest. What
this machine or user cannot do is found out by trying, and skipped with the reason.
Below a check that fails stands what was expected and what came.

Exit status: 0 if no check has failed, also if some were skipped, as all that
trace are without the privilege; 1 if one has, or the run was interrupted.
The JSON is described in docs/json.md.`,
		Example: `  sudo nopfire selftest
  sudo nopfire selftest urdt usdt
  sudo nopfire selftest 'usdt/semaphore*'
  nopfire selftest --list
  nopfire selftest --json | jq -r 'select(.status == "skip") | .reason' | sort | uniq -c`,
		RunE: func(cmd *cobra.Command, args []string) error {
			checks, err := selftest.Select(args...)
			if err != nil {
				return usagef("%v", err)
			}
			out := cmd.OutOrStdout()
			if list {
				return selftestList(out, checks, asJSON)
			}
			exe, err := os.Executable()
			if err != nil {
				return err
			}
			return runSelftest(cmd.Context(), out, checks, exe, asJSON)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return selftest.Groups(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().BoolVarP(&list, "list", "l", false, "print the names of the checks, and run none")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a check, and one of the result")
	return cmd
}

// newSelftestChild returns the hidden command that is the traced half of some checks.
func newSelftestChild() *cobra.Command {
	return &cobra.Command{
		Use:    selftest.ChildCommand,
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return selftest.Child(cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}

// A selftestPrinter prints the results of a run.
type selftestPrinter interface {
	begin(checks int)
	result(n int, r *selftest.Result)
	end(t *selftestTotals)
}

// selftestTotals is what a run came to.
type selftestTotals struct {
	planned          int
	pass, fail, skip int
}

func (t *selftestTotals) add(s selftest.Status) {
	switch s {
	case selftest.Pass:
		t.pass++
	case selftest.Fail:
		t.fail++
	case selftest.Skip:
		t.skip++
	}
}

func (t *selftestTotals) done() int { return t.pass + t.fail + t.skip }

// err is the failure of a run.
func (t *selftestTotals) err() error {
	switch {
	case t.done() < t.planned:
		return fmt.Errorf("selftest: interrupted after %d of %d checks", t.done(), t.planned)
	case t.fail > 0:
		return fmt.Errorf("selftest: %d of %d checks failed", t.fail, t.planned)
	}
	return nil
}

// runSelftest runs checks of the program exe and prints each result as it comes.
func runSelftest(ctx context.Context, out io.Writer, checks []selftest.Check, exe string, asJSON bool) error {
	w := bufio.NewWriter(out)
	var p selftestPrinter = &tapPrinter{w}
	if asJSON {
		p = &selftestJSON{w}
	}
	totals := selftestTotals{planned: len(checks)}
	p.begin(len(checks))
	for r := range selftest.Run(ctx, checks, selftest.Options{Command: []string{exe}}) {
		totals.add(r.Status)
		p.result(totals.done(), &r)
		if err := w.Flush(); err != nil {
			return err
		}
	}
	p.end(&totals)
	if err := w.Flush(); err != nil {
		return err
	}
	return totals.err()
}

// tapPrinter prints the Test Anything Protocol, version 13 (testanything.org), in the
// way of the kernel's selftests (tools/testing/selftests/kselftest.h): the description
// without a dash, diagnostics behind "# ", and the totals.
type tapPrinter struct{ w *bufio.Writer }

func (p *tapPrinter) begin(checks int) {
	fmt.Fprintf(p.w, "TAP version 13\n1..%d\n", checks)
}

func (p *tapPrinter) result(n int, r *selftest.Result) {
	switch r.Status {
	case selftest.Pass:
		fmt.Fprintf(p.w, "ok %d %s\n", n, tapText(r.ID()))
	case selftest.Skip:
		fmt.Fprintf(p.w, "ok %d %s # SKIP %s\n", n, tapText(r.ID()), printable(r.Reason))
	case selftest.Fail:
		fmt.Fprintf(p.w, "not ok %d %s # %s\n", n, tapText(r.ID()), tapReason(r.Reason))
		for _, line := range r.Details {
			fmt.Fprintln(p.w, strings.TrimRight("# "+printable(strings.ReplaceAll(line, "\t", "    ")), " "))
		}
	}
}

func (p *tapPrinter) end(t *selftestTotals) {
	if t.done() < t.planned {
		fmt.Fprintf(p.w, "Bail out! interrupted after %d of %d checks\n", t.done(), t.planned)
	}
	// ksft_print_cnts has all of these fields.
	fmt.Fprintf(p.w, "# Totals: pass:%d fail:%d xfail:0 xpass:0 skip:%d error:0\n", t.pass, t.fail, t.skip)
}

// tapText returns a text without what begins a directive.
func tapText(s string) string { return strings.ReplaceAll(s, "#", `\#`) }

// tapReason returns the reason of a failure, so that it is not taken for a directive.
func tapReason(s string) string {
	if len(s) >= 4 && (strings.EqualFold(s[:4], "skip") || strings.EqualFold(s[:4], "todo")) {
		s = "failed: " + s
	}
	return tapText(printable(s))
}

// selftestJSON prints one object a check, and one for what they come to.
type selftestJSON struct{ w *bufio.Writer }

func (p *selftestJSON) begin(int) {}

func (p *selftestJSON) result(n int, r *selftest.Result) {
	b := appendCheckName(nil, &r.Check)
	b = append(b, `,"status":"`+r.Status.String()+`"`...)
	if r.Reason != "" {
		b = appendText(append(b, `,"reason":`...), r.Reason)
	}
	if len(r.Details) > 0 {
		b = appendText(append(b, `,"details":`...), strings.Join(r.Details, "\n"))
	}
	b = fmt.Appendf(b, `,"seconds":%.3f}`+"\n", r.Took.Seconds())
	p.w.Write(b)
}

func (p *selftestJSON) end(t *selftestTotals) {
	fmt.Fprintf(p.w, `{"kind":"result","planned":%d,"pass":%d,"fail":%d,"skip":%d}`+"\n", t.planned, t.pass, t.fail, t.skip)
}

// appendCheckName begins the object of a check.
func appendCheckName(b []byte, c *selftest.Check) []byte {
	b = appendText(append(b, `{"kind":"check","group":`...), c.Group)
	return appendText(append(b, `,"name":`...), c.Name)
}

// selftestList prints the names of checks.
func selftestList(out io.Writer, checks []selftest.Check, asJSON bool) error {
	w := bufio.NewWriter(out)
	for i := range checks {
		if asJSON {
			w.Write(append(appendCheckName(nil, &checks[i]), "}\n"...))
		} else {
			fmt.Fprintln(w, checks[i].ID())
		}
	}
	return w.Flush()
}
