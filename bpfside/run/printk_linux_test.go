package run

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/bpfside/btfvalue"
	"github.com/nopfire/nopfire/internal/testutils"
)

// The instance of a process that was killed goes with the next start, that of a
// living one does not, and nothing stays mounted.
func TestInstancesAreSwept(t *testing.T) {
	testutils.Root(t)
	testutils.NeedBPF(t)
	mounts := func() string {
		b, err := os.ReadFile("/proc/self/mounts")
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	before := mounts()
	first, err := newPrintkReader()
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(filepath.Dir(first.dir), fmt.Sprintf("%s%d-x", instancePrefix, dead.Process.Pid))
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	second, err := newPrintkReader()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("the instance of the dead is there: %v", err)
	}
	if _, err := os.Stat(first.dir); err != nil {
		t.Errorf("the instance of the living: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(second.dir); !os.IsNotExist(err) {
		t.Errorf("the closed instance is there: %v", err)
	}
	if after := mounts(); after != before {
		t.Errorf("mounts before:\n%s\nafter:\n%s", before, after)
	}
}

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
