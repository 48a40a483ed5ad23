//go:build amd64 || arm64

package trace_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/internal/testutils"
	"github.com/nopfire/nopfire/urdt"
)

// What package urdt opens at its first use stays open, and is no leak.
func init() { _, _ = urdt.New0("expr", "first") }

// A name of URDT goes through the same plan as a probe: conditions, captures, counts,
// and several clauses that trace it.
func TestNamesWithExpressions(t *testing.T) {
	testutils.NeedBPF(t)
	step, err := urdt.New2[int32, string]("expr", "step")
	if err != nil {
		t.Fatal(err)
	}
	other, err := urdt.New1[int64]("expr", "step")
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, trace.Query{PID: os.Getpid(), Clauses: []trace.Clause{
		{Pattern: "urdt:expr:step", Where: "arg1 > 7"},
		{Pattern: "urdt:expr:step/2", Where: `arg2 == "text 3"`, Capture: captures("arg1 * 2", "arg2")},
		{Pattern: "urdt:expr:step", Capture: captures("arg2")}, // fits two arguments only
		{Pattern: "urdt:expr:step", Aggregate: trace.Count},
		{Pattern: "urdt:expr:step/2", Aggregate: trace.Log2Hist, Value: "arg1"},
		{Pattern: "urdt:expr:step", Where: "arg1 > 7"}, // once more
	}})
	for n := range int32(10) {
		step.Fire(n, fmt.Sprint("text ", n))
		other.Fire(int64(n))
	}
	got := make(map[int]string)
	for _, ev := range drain(t, s) {
		got[ev.Clause] += ev.String() + "\n"
	}
	above7 := `expr:step arg1=8 arg2="text 8"
expr:step arg1=8
expr:step arg1=9 arg2="text 9"
expr:step arg1=9
`
	var texts strings.Builder
	for n := range 10 {
		fmt.Fprintf(&texts, "expr:step arg2=\"text %d\"\n", n)
	}
	for i, want := range map[int]string{0: above7, 1: `expr:step arg1 * 2=6 arg2="text 3"` + "\n", 2: texts.String(), 5: above7} {
		if got[i] != want {
			t.Errorf("clause %d: got\n%swant\n%s", i, got[i], want)
		}
	}
	if got, want := lines(rows(t, s)), "expr:step 20\nexpr:step 10 [0,0]=1 [1,1]=1 [2,3]=2 [4,7]=4 [8,15]=2\n"; got != want {
		t.Errorf("rows\n%swant\n%s", got, want)
	}
	if n := len(s.Probes()); n != 6 {
		t.Errorf("probes %+v", s.Probes())
	}
}

// Types that are registered later are those of expressions, too.
func TestNamesThatAreTypedLater(t *testing.T) {
	testutils.NeedBPF(t)
	if _, err := urdt.New1[int]("expr", "before"); err != nil { // maps the object
		t.Fatal(err)
	}
	s := start(t, trace.Query{PID: os.Getpid(), Clauses: []trace.Clause{{Pattern: "urdt:expr:late/1", Capture: captures("arg1 - 1")}}})
	late, err := urdt.New1[uint8]("expr", "late")
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		late.Fire(1)
		if ev := next(t, s, 1)[0]; ev.Args[0].Type == "int32" { // C's type of it: until then int64
			return
		}
	}
	t.Error("the type is never known")
}

// An expression that is wrong whatever the number of arguments is an error; one that
// no number has is a problem: their types may tell more later.
func TestNamesWithWrongExpressions(t *testing.T) {
	testutils.NeedBPF(t)
	for _, tt := range []struct {
		name, where    string
		wrong, problem bool
	}{
		{"urdt:expr:wrong/1", "arg1 >", true, false},
		{"urdt:expr:wrong/1", "arg2 > 1", false, true},
		{"urdt:expr:wrong", "arg2 > 1", false, false},
		{"urdt:expr:wrong", "status > 1", false, true},
		{"urdt:expr:wrong", "arg12 > 1", false, true},
	} {
		s, err := trace.Start(trace.Query{PID: os.Getpid(), Clauses: []trace.Clause{{Pattern: tt.name, Where: tt.where}}})
		var ee *trace.ExprError
		if errors.As(err, &ee) != tt.wrong {
			t.Errorf("%s: error %v", tt.where, err)
		}
		if s != nil {
			if p := s.Problems(); len(p) > 1 || (len(p) == 1 && errors.As(p[0], &ee)) != tt.problem {
				t.Errorf("%s of %s: problems %v", tt.where, tt.name, p)
			}
			s.Close()
		}
	}
}
