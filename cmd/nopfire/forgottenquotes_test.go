package main

import "testing"

func TestForgottenQuotes(t *testing.T) {
	for _, row := range []struct {
		specs []string
		want  string
	}{
		{nil, ""},
		{[]string{"request"}, ""}, // the probe itself: others say what is wrong
		{[]string{"myapp:a", "myapp:b (x > 1)", "u:c:setjmp"}, ""},
		{[]string{"myapp:a", "status", "path"}, `"status" is no probe: what stands behind a probe is in one argument with it: "myapp:a EXPRESSION, ..."`},
		{[]string{"myapp:a", "myapp:b", "/x > 1/"}, `"/x > 1/" is no probe: a condition stands in parentheses, in one argument with its probe: "myapp:b (x > 1)"`},
		{[]string{"myapp:a", "\x1b"}, `"\x1b" is no probe: what stands behind a probe is in one argument with it: "myapp:a EXPRESSION, ..."`},
	} {
		got := ""
		if err := forgottenQuotes(row.specs); err != nil {
			got = err.Error()
		}
		if got != row.want {
			t.Errorf("%q: %s\nwant %s", row.specs, got, row.want)
		}
	}
}
