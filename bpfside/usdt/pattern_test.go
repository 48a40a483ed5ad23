package usdt

import (
	"strings"
	"testing"
)

func TestPatternMatch(t *testing.T) {
	for _, tc := range []struct {
		pattern, provider, probe string
		want                     bool
	}{
		{"app:request", "app", "request", true},
		{"app:request", "app", "requests", false},
		{"app:request", "ap", "prequest", false},
		{"app:*", "app", "anything", true},
		{"app:", "app", "anything", true},
		{":request", "app", "request", true},
		{"*:request", "app", "request", true},
		{":", "app", "request", true},
		{"a?p:r*t", "app", "request", true},
		{"a?p:r*t", "ap", "request", false},
		{"app:*e*e*", "app", "request", true},
		{"app:*e*e*e", "app", "request", false},
		{"app:r**t", "app", "request", true},
		{"app:request*", "app", "request", true},
		{"app:?", "app", "", false},
		{"app:[a-z]", "app", "a", false}, // no classes: a bracket is a bracket
		{"app:[a-z]", "app", "[a-z]", true},
		{"app:a/*", "app", "a/b/c", true}, // a slash is a byte like others
		{"app:a:b", "app", "a:b", true},   // all after the first colon is the probe
		{"mem*:g\xff", "memory", "g\xff", true},
	} {
		p, err := ParsePattern(tc.pattern)
		if err != nil {
			t.Errorf("ParsePattern(%q): %v", tc.pattern, err)
			continue
		}
		if got := p.Match(tc.provider, tc.probe); got != tc.want {
			t.Errorf("%q matches %q:%q: %t, want %t", tc.pattern, tc.provider, tc.probe, got, tc.want)
		}
		if p.String() != tc.pattern {
			t.Errorf("%q prints as %q", tc.pattern, p)
		}
	}
}

func TestParsePatternWithoutColon(t *testing.T) {
	_, err := ParsePattern("app")
	if err == nil || err.Error() != `pattern "app": want PROVIDER:PROBE, such as "app:*"` {
		t.Errorf("error %v", err)
	}
}

// A pattern of many stars must not take exponential time: the test would not end.
func TestGlobTime(t *testing.T) {
	if glob(strings.Repeat("*a", 1000)+"b", strings.Repeat("a", 20000)) {
		t.Error("matched")
	}
}

func FuzzGlob(f *testing.F) {
	f.Add("a*b?", "axxbc")
	f.Fuzz(func(t *testing.T, pattern, s string) {
		if len(pattern) > 12 || len(s) > 12 {
			return
		}
		if got, want := glob(pattern, s), globByDefinition(pattern, s); got != want {
			t.Errorf("glob(%q, %q) = %t, want %t", pattern, s, got, want)
		}
	})
}

// globByDefinition says the same as glob in a way that is easy to believe.
func globByDefinition(p, s string) bool {
	switch {
	case p == "":
		return s == ""
	case p[0] == '*':
		return globByDefinition(p[1:], s) || s != "" && globByDefinition(p, s[1:])
	case s == "":
		return false
	}
	return (p[0] == '?' || p[0] == s[0]) && globByDefinition(p[1:], s[1:])
}
