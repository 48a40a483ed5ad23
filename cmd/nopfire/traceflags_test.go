package main

import "testing"

func TestRateLimitSet(t *testing.T) {
	for _, tt := range []struct {
		text string
		want rateLimit // 0: refused
	}{
		{"1", 1}, {"100/s", 100}, {"2147483647", 2147483647},
		{"", 0}, {"0", 0}, {"-1", 0}, {"/s", 0}, {"10/m", 0}, {"1.5", 0}, {"10 /s", 0}, {"99999999999999999999", 0},
	} {
		var r rateLimit
		if err := r.Set(tt.text); r != tt.want || (err == nil) != (tt.want != 0) {
			t.Errorf("%q: %d, %v, want %d", tt.text, r, err, tt.want)
		}
	}
}

func TestByteSizeSet(t *testing.T) {
	for _, tt := range []struct {
		text string
		want byteSize // 0: refused
	}{
		{"1", 1}, {"65536", 65536}, {"64K", 64 << 10}, {"8M", 8 << 20}, {"1G", 1 << 30},
		{"", 0}, {"0", 0}, {"-1", 0}, {"M", 0}, {"8MB", 0}, {"8m", 0}, {"8 M", 0}, {"1.5M", 0}, {"KK", 0}, {"1KM", 0},
		{"9223372036854775807K", 0}, {"99999999999999999999", 0},
	} {
		var b byteSize
		if err := b.Set(tt.text); b != tt.want || (err == nil) != (tt.want != 0) {
			t.Errorf("%q: %d, %v, want %d", tt.text, b, err, tt.want)
		}
	}
}

func TestEventCountSet(t *testing.T) {
	for _, tt := range []struct {
		text string
		want eventCount
		ok   bool
	}{{"7", 7, true}, {"-1", -1, true}, {"main", 0, false}, {"", 0, false}, {"7.5", 0, false}} {
		var n eventCount
		if err := n.Set(tt.text); n != tt.want || (err == nil) != tt.ok {
			t.Errorf("%q: %d, %v", tt.text, n, err)
		}
	}
}
