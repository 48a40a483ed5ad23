package main

import (
	"testing"
	"time"
)

func TestTimeColumn(t *testing.T) {
	start := time.Date(2026, 1, 31, 12, 0, 0, 900_000_000, time.UTC)
	for _, tt := range []struct {
		style  timeStyle
		after  time.Duration
		header string
		want   string
	}{
		{timeMicros, 123_456_789, "TIME            ", "12:00:01.023456"},
		{timeSeconds, time.Minute, "TIME     ", "12:01:00"},
		{timeOffset, 0, "TIME     ", "0.000000"},
		{timeOffset, 1234567 * time.Microsecond, "TIME     ", "1.234567"},
		{timeOffset, -time.Second, "TIME     ", "0.000000"},
		{timeOffset, 12345678 * time.Microsecond, "TIME     ", "12.34567"}, // bcc cuts
		{timeOffset, 123456789 * time.Second, "TIME     ", "12345678"},     // even so
		{timeUnix, 100 * time.Millisecond, "TIME              ", "1769860801.000000"},
	} {
		c := timeColumn{style: tt.style, start: start}
		if got := c.header(); got != tt.header {
			t.Errorf("header %q, want %q", got, tt.header)
		}
		if got := string(c.append(nil, start.Add(tt.after))); got != tt.want {
			t.Errorf("%d after %s: %q, want %q", tt.style, tt.after, got, tt.want)
		}
	}
}

// The text of a second that is over is not shown again.
func TestTimeColumnCache(t *testing.T) {
	var c timeColumn
	at := time.Date(2026, 1, 31, 23, 59, 59, 999_999_999, time.Local)
	for _, d := range []time.Duration{0, 1, -time.Hour, -time.Hour + 1, 24 * time.Hour, -time.Second} {
		if got, want := string(c.append(nil, at.Add(d))), clock(at.Add(d)); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
}
