package main

import (
	"strings"
	"testing"
	"time"
)

func TestRateLimiter(t *testing.T) {
	start := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name  string
		limit rateLimit
		at    string // milliseconds at which there are events
		want  string // P passes, - does not
		say   string
	}{
		{"no limit", 0, "0 0 0 0 0", "PPPPP", ""},
		{"within", 3, "0 300 600 1000 1999", "PPPPP", ""},
		{"the first of each second", 2, "0 1 2 999 1000 1001 1002", "PP--PP-", "3 events not printed: more than 2/s"},
		{"seconds begin with an event", 1, "0 1700 2000 2699 2700", "PP--P", "2 events not printed: more than 1/s"},
		{"an older event", 1, "500 499 1499 1500 1400", "P--P-", "3 events not printed: more than 1/s"},
		{"one", 1, "0 0", "P-", "1 event not printed: more than 1/s"},
	} {
		l := rateLimiter{limit: tt.limit}
		var got strings.Builder
		for ms := range strings.FieldsSeq(tt.at) {
			d, err := time.ParseDuration(ms + "ms")
			if err != nil {
				t.Fatal(err)
			}
			if l.pass(start.Add(d)) {
				got.WriteByte('P')
			} else {
				got.WriteByte('-')
			}
		}
		if got.String() != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, &got, tt.want)
		}
		if say := l.take(); say != tt.say {
			t.Errorf("%s: %q, want %q", tt.name, say, tt.say)
		}
		if say := l.take(); say != "" {
			t.Errorf("%s: said twice: %q", tt.name, say)
		}
	}
}
