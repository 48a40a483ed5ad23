package main

import (
	"fmt"
	"time"
)

// A rateLimiter lets so many events of each second pass, and counts the others. The
// seconds are those of the events: the first begins with the first event, another
// with the first event after the end of the last one. An event that is a little
// older than its predecessor, as those of two processors may be, belongs to the
// second that has begun.
type rateLimiter struct {
	limit   rateLimit
	begin   time.Time // of the second
	passed  int       // in it
	skipped uint64    // since take
}

// pass reports whether an event is to be printed.
func (l *rateLimiter) pass(at time.Time) bool {
	if l.limit == 0 {
		return true
	}
	if l.begin.IsZero() || at.Sub(l.begin) >= time.Second {
		l.begin, l.passed = at, 0
	}
	if l.passed >= int(l.limit) {
		l.skipped++
		return false
	}
	l.passed++
	return true
}

// take returns what is to be said of the events that were skipped since the last
// call, "" if there were none.
func (l *rateLimiter) take() string {
	n := l.skipped
	l.skipped = 0
	switch n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("1 event not printed: more than %s", l.limit.String())
	}
	return fmt.Sprintf("%d events not printed: more than %s", n, l.limit.String())
}
