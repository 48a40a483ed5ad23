package main

import (
	"fmt"
	"strconv"
	"time"
)

// A timeStyle is what the TIME column shows.
type timeStyle int

const (
	timeMicros  timeStyle = iota // time of day, to the microsecond
	timeSeconds                  // time of day, as bcc's -T
	timeOffset                   // seconds since the start of the trace, as bcc's -t
	timeUnix                     // seconds since 1970, as bcc's -t -u
)

// The widths are those of bcc's trace, which also cuts the text to them.
var timeWidths = [...]int{timeMicros: len(clockFormat), timeSeconds: 8, timeOffset: 8, timeUnix: 17}

// A timeColumn writes the TIME column. Of the time of day it looks at the calendar
// once a second: no zone changes its offset within one.
type timeColumn struct {
	style  timeStyle
	start  time.Time // of timeOffset
	second int64
	text   []byte // of the second, nil at first
}

// header returns the head of the column with the blank behind it.
func (c *timeColumn) header() string {
	return fmt.Sprintf("%-*s ", timeWidths[c.style], "TIME")
}

// append appends the time without a blank behind it.
func (c *timeColumn) append(b []byte, t time.Time) []byte {
	from := len(b)
	switch c.style {
	case timeMicros:
		return appendMicros(append(b, c.clock(t)...), '.', t.Nanosecond()/1000)
	case timeSeconds:
		return append(b, c.clock(t)...)
	case timeOffset:
		us := t.Sub(c.start).Microseconds()
		if us < 0 { // the two clocks are compared once, with what precision they have
			us = 0
		}
		b = appendMicros(strconv.AppendInt(b, us/1e6, 10), '.', int(us%1e6))
	case timeUnix:
		b = appendMicros(strconv.AppendInt(b, t.Unix(), 10), '.', t.Nanosecond()/1000)
	}
	return b[:min(len(b), from+timeWidths[c.style])]
}

// clock returns the time of day in local time, to the second.
func (c *timeColumn) clock(t time.Time) []byte {
	if s := t.Unix(); c.text == nil || s != c.second {
		c.second = s
		c.text = t.AppendFormat(c.text[:0], time.TimeOnly)
	}
	return c.text
}

// appendMicros appends a point and six digits.
func appendMicros(b []byte, point byte, us int) []byte {
	b = append(b, point)
	for unit := 100000; unit > 0; unit /= 10 {
		b = append(b, byte('0'+us/unit%10))
	}
	return b
}
