package trace

import (
	"strings"
	"testing"
)

func TestParseStringRule(t *testing.T) {
	for _, row := range []struct {
		text string
		want stringRule
	}{
		{"arg1", stringRule{arg: "arg1"}},
		{"msg", stringRule{arg: "msg"}},
		{"arg1/arg2", stringRule{arg: "arg1", len: "arg2"}},
		{"query__start.arg1", stringRule{probe: "query__start", arg: "arg1"}},
		{"method__*.arg2/arg3", stringRule{probe: "method__*", arg: "arg2", len: "arg3"}},
		{"a.b.arg1", stringRule{probe: "a.b", arg: "arg1"}}, // nothing forbids a dot in a name
	} {
		if got, err := parseStringRule(row.text); err != nil || got != row.want {
			t.Errorf("%q: %+v, %v; want %+v", row.text, got, err, row.want)
		}
	}
	for _, text := range []string{"", ".", ".arg1", "probe.", "arg1/", "/arg2", "probe./arg2", "a/b/c"} {
		if got, err := parseStringRule(text); err == nil {
			t.Errorf("%q: %+v, want an error", text, got)
		} else if !strings.Contains(err.Error(), "[PROBE.]ARG[/LENGTH]") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
