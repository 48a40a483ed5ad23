package probespec

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/bpfside/trace"
)

func TestParseDist(t *testing.T) {
	type capture = trace.Capture
	for _, row := range []struct {
		text string
		hist bool
		want Dist // without Text and Aggregate
	}{
		// Our way.
		{text: `myapp:request`, want: Dist{Clause: trace.Clause{Pattern: "myapp:request"}}},
		{text: `myapp:request status, path`, want: Dist{Clause: trace.Clause{Pattern: "myapp:request", Capture: captures("status", "path")}}},
		{text: ` myapp:request (status >= 500) , path # slow ones `, want: Dist{Label: "slow ones", Clause: trace.Clause{Pattern: "myapp:request", Where: "status >= 500", Capture: captures("path")}}},
		{text: `myapp:request#all`, want: Dist{Label: "all", Clause: trace.Clause{Pattern: "myapp:request"}}},
		{text: `/opt/my\#app:myapp:request`, want: Dist{Clause: trace.Clause{Path: "/opt/my#app", Pattern: "myapp:request"}}},
		{text: `urdt:job:step/2 arg1 ? 1 : 2`, want: Dist{Clause: trace.Clause{Pattern: "urdt:job:step/2", Capture: captures("arg1 ? 1 : 2")}}},
		{text: `myapp:request (strcmp(path, "#") == 0) path`, want: Dist{Clause: trace.Clause{Pattern: "myapp:request", Where: `strcmp(path, "#") == 0`, Capture: captures("path")}}},
		{text: `myapp:request took`, hist: true, want: Dist{ValueName: "took", Clause: trace.Clause{Pattern: "myapp:request", Value: "took"}}},
		{text: `myapp:request path, status, took / 1000`, hist: true, want: Dist{ValueName: "took / 1000", Clause: trace.Clause{Pattern: "myapp:request", Capture: captures("path", "status"), Value: "took / 1000"}}},

		// bcc's, from the manual page and the help of argdist as far as they are for USDT.
		{text: `u:pthread:pthread_start():u64:arg2`, want: Dist{BCC: true, Clause: trace.Clause{Path: "pthread", Pattern: ":pthread_start", Capture: []capture{{Expr: "(u64)arg2", Name: "arg2"}}}}},
		{text: `u:pthread:pthread_start():u64:arg2`, hist: true, want: Dist{BCC: true, ValueName: "arg2", Clause: trace.Clause{Path: "pthread", Pattern: ":pthread_start", Value: "(u64)arg2"}}},
		{text: `u:/usr/lib/libfoo.so:probe():int:arg1:arg2 > 3#label`, want: Dist{BCC: true, Label: "label", Clause: trace.Clause{Path: "/usr/lib/libfoo.so", Pattern: ":probe", Where: "arg2 > 3", Capture: []capture{{Expr: "(int)arg1", Name: "arg1"}}}}},
		{text: `u:c:setjmp()`, want: Dist{BCC: true, Clause: trace.Clause{Path: "c", Pattern: ":setjmp"}}},
		{text: `u:c:setjmp`, want: Dist{BCC: true, Clause: trace.Clause{Path: "c", Pattern: ":setjmp"}}},
		{text: `u:c:setjmp()#jumps`, want: Dist{BCC: true, Label: "jumps", Clause: trace.Clause{Path: "c", Pattern: ":setjmp"}}},

		// Types.
		{text: `u:x:y():char*,u32:arg1,$PID`, want: Dist{BCC: true, Clause: trace.Clause{Path: "x", Pattern: ":y", Capture: []capture{{Expr: "arg1", Name: "arg1", String: true}, {Expr: "(u32)pid", Name: "$PID"}}}}},
		{text: `u:x:y():const char *:(char*)arg1`, want: Dist{BCC: true, Clause: trace.Clause{Path: "x", Pattern: ":y", Capture: []capture{{Expr: "(char*)arg1", Name: "(char*)arg1", String: true}}}}},
		{text: `u:x:y():char*,u64:arg1,arg2`, hist: true, want: Dist{BCC: true, ValueName: "arg2", Clause: trace.Clause{Path: "x", Pattern: ":y", Capture: []capture{{Expr: "arg1", Name: "arg1", String: true}}, Value: "(u64)arg2"}}},
		{text: `u:x:y():unsigned long : arg1 + f(1, 2) : arg2`, want: Dist{BCC: true, Clause: trace.Clause{Path: "x", Pattern: ":y", Where: "arg2", Capture: []capture{{Expr: "(unsigned long)(arg1 + f(1, 2))", Name: "arg1 + f(1, 2)"}}}}},

		// Colons and labels that are none.
		{text: `u:x:y():int:arg1 ? arg2 : (arg3 ? 1 : 2):arg4 == ':' ? 1 : 0`, want: Dist{BCC: true, Clause: trace.Clause{Path: "x", Pattern: ":y", Where: "arg4 == ':' ? 1 : 0", Capture: []capture{{Expr: "(int)(arg1 ? arg2 : (arg3 ? 1 : 2))", Name: "arg1 ? arg2 : (arg3 ? 1 : 2)"}}}}},
		{text: `u:x:y():int:arg1:!strcmp(arg2, ":#")#l#m`, want: Dist{BCC: true, Label: "l#m", Clause: trace.Clause{Path: "x", Pattern: ":y", Where: `!strcmp(arg2, ":#")`, Capture: []capture{{Expr: "(int)arg1", Name: "arg1"}}}}},

		// Theirs and ours mixed.
		{text: `u:x:prov:y():int:arg1`, want: Dist{BCC: true, Clause: trace.Clause{Path: "x", Pattern: "prov:y", Capture: []capture{{Expr: "(int)arg1", Name: "arg1"}}}}},
		{text: `u:x:y (arg1 > 3) arg2`, want: Dist{BCC: true, Clause: trace.Clause{Path: "x", Pattern: ":y", Where: "arg1 > 3", Capture: captures("arg2")}}},
		{text: `myapp:request():int:arg1`, want: Dist{BCC: true, Clause: trace.Clause{Pattern: "myapp:request", Capture: []capture{{Expr: "(int)arg1", Name: "arg1"}}}}},
	} {
		t.Run(row.text, func(t *testing.T) {
			kind := trace.Count
			if row.hist {
				kind = trace.Log2Hist
			}
			d, err := ParseDist(row.text, kind)
			if err != nil {
				t.Fatal(err)
			}
			row.want.Clause.Aggregate = kind
			row.want.Text = d.Text
			if diff := cmp.Diff(&row.want, d); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The text of a distribution is its title, unless it has a label.
func TestDistText(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"myapp:request status", "myapp:request status"},
		{"  u:x:y():int:arg1 #label", "u:x:y():int:arg1"},
		{"a:b # label", "a:b"},
	} {
		d, err := ParseDist(row.text, trace.Count)
		if err != nil || d.Text != row.want {
			t.Errorf("%q: %q, error %v, want %q", row.text, d.Text, err, row.want)
		}
	}
}

func TestParseDistErrors(t *testing.T) {
	for _, row := range []struct {
		text string
		hist bool
		mark string
		want string
	}{
		{`p:c:malloc(size_t size):size_t:size`, false, `^`, `p: is no USDT probe but a function's entry: want PROVIDER:PROBE, or u:PATH:PROBE`},
		{`r:c:gets():char*:(char*)$retval#snooped strings`, false, `^`, `r: is no USDT probe but a function's return: want PROVIDER:PROBE, or u:PATH:PROBE`},
		{`t:block:block_rq_complete():u32:args->nr_sector`, true, `^`, `t: is no USDT probe but a tracepoint of the kernel: want PROVIDER:PROBE, or u:PATH:PROBE`},
		{`u:x:y():int:$retval`, false, `            ^`, `$retval: a USDT probe returns nothing: want arg1, arg2, … or names`},
		{`u:x:y():u64:arg1:$latency > 1`, false, `                 ^`, `$latency: a USDT probe has no duration: want an argument that tells it`},
		{`u:x:y(int a):int:a`, false, `     ^`, `a USDT probe has no signature: want (), and arg1, arg2, … in the expressions`},
		{`u:x:p:y:int:arg1`, false, `                ^`, `no () behind the probe: want u:PATH:PROBE():TYPE:EXPR`},
		{`u:x:y():int`, false, `           ^`, `types without expressions: want :EXPR`},
		{`u:x:y():`, false, `        ^`, `an expression is missing`},
		{`u:x:y():int:`, false, `            ^`, `an expression is missing`},
		{`u:x:y():int,int:a`, false, `                 ^`, `2 types for 1 expression`},
		{`u:x:y():int:a,b`, false, `              ^`, `1 type for 2 expressions`},
		{`u:x:y():int:a:`, false, `              ^`, `the condition is missing`},
		{`u:x:y():int:a:(b`, false, `              ^`, `"(" is not closed`},
		{`u:x:y()`, true, `       ^`, `a histogram of nothing: want an expression`},
		{`a:b`, true, `   ^`, `a histogram of nothing: want an expression`},
		{`u:x:y():char*:arg1`, true, `        ^`, `a histogram of strings: want a number`},
		{`a:b "%d", x`, false, `    ^`, `a distribution has no format: want expressions`},
		{`a:b x y) #`, false, `       ^`, `")" closes nothing`},
	} {
		t.Run(row.text, func(t *testing.T) {
			kind := trace.Count
			if row.hist {
				kind = trace.Log2Hist
			}
			_, err := ParseDist(row.text, kind)
			checkSyntaxError(t, err, row.text, row.mark, row.want)
		})
	}
}

func TestParseCondition(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"status >= 500", "status >= 500"},
		{" $tgid == 7 && f(a, b) ", "pid == 7 && f(a, b)"},
		{`path == ";,"`, `path == ";,"`},
	} {
		if got, err := ParseCondition(row.text); err != nil || got != row.want {
			t.Errorf("%q: %q, error %v, want %q", row.text, got, err, row.want)
		}
	}
	for _, row := range []struct{ text, mark, want string }{
		{"", "^", "the condition is missing"},
		{"  ", "  ^", "the condition is missing"},
		{"1) || (1", " ^", `")" closes nothing`},
		{"a, b", " ^", `"," in a condition: want one expression`},
		{"a; b", " ^", `";" in a condition: want one expression`},
		{"f(a", " ^", `"(" is not closed`},
		{"$retval", "^", "$retval: a USDT probe returns nothing: want arg1, arg2, … or names"},
	} {
		_, err := ParseCondition(row.text)
		checkSyntaxError(t, err, row.text, row.mark, row.want)
	}
}
