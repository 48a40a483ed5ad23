package run

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/bpfside/btfvalue"
)

func TestParsePrintk(t *testing.T) {
	for _, row := range []struct {
		line string
		want Event
		ok   bool
	}{
		{"             cat-1234    [001] d..31   812.345678: bpf_trace_printk: the text",
			Event{Comm: "cat", PID: 1234, CPU: 1, Time: "812.345678", Value: btfvalue.Text("the text")}, true},
		{"     a-b [x] c-77      [012] ..... 12057.306297: bpf_trace_printk: ",
			Event{Comm: "a-b [x] c", PID: 77, CPU: 12, Time: "12057.306297", Value: btfvalue.Text("")}, true},
		{"          <...>-1       [000] d..31 1.000001: bpf_trace_printk: a: bpf_trace_printk: b",
			Event{Comm: "<...>", PID: 1, CPU: 0, Time: "1.000001", Value: btfvalue.Text("a: bpf_trace_printk: b")}, true},
		{"CPU:1 [LOST 12 EVENTS]", Event{CPU: 1, Lost: 12}, true},
		{"", Event{}, false},
		{"              cat-1234    [001] d..31   812.345678: sched_switch: x", Event{}, false},
	} {
		got, ok := parsePrintk(row.line)
		if ok != row.ok || cmp.Diff(row.want, got) != "" {
			t.Errorf("%q: %v %s", row.line, ok, cmp.Diff(row.want, got))
		}
	}
}
