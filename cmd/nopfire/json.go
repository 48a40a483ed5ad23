package main

import (
	"encoding/hex"
	"math"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/nopfire/nopfire/bpfside/trace"
)

// The JSON of this command is written by hand, by appending: the lines of trace
// are its hot path, and the rules of docs/json.md (invalid UTF-8 made visible,
// NaN as a string) are not those of encoding/json.

// timeFormat is RFC 3339 with all nine digits, so that lines sort by time.
const timeFormat = "2006-01-02T15:04:05.000000000Z07:00"

// appendEvent appends the event as one JSON object, without a newline.
func appendEvent(b []byte, ev *trace.Event) []byte { return new(eventJSON).append(b, ev) }

// An eventJSON writes events, and looks at the calendar once a second: no zone changes
// its offset within one.
type eventJSON struct {
	second int64
	text   []byte // of the second, without the zone, nil at first
	zone   []byte
}

// time appends a time in timeFormat.
func (j *eventJSON) time(b []byte, t time.Time) []byte {
	if s := t.Unix(); j.text == nil || s != j.second {
		j.second = s
		j.text = t.AppendFormat(j.text[:0], "2006-01-02T15:04:05")
		j.zone = t.AppendFormat(j.zone[:0], "Z07:00")
	}
	b = append(append(b, j.text...), '.')
	ns := t.Nanosecond()
	for unit := 100_000_000; unit > 0; unit /= 10 {
		b = append(b, byte('0'+ns/unit%10))
	}
	return append(b, j.zone...)
}

// append appends the event as appendEvent does.
func (j *eventJSON) append(b []byte, ev *trace.Event) []byte {
	b = append(b, `{"time":"`...)
	b = j.time(b, ev.Time)
	b = append(b, `","pid":`...)
	b = strconv.AppendInt(b, int64(ev.PID), 10)
	b = append(b, `,"tid":`...)
	b = strconv.AppendInt(b, int64(ev.TID), 10)
	b = append(b, `,"cpu":`...)
	b = strconv.AppendInt(b, int64(ev.CPU), 10)
	b = append(b, `,"comm":`...)
	b = appendText(b, ev.Comm)
	b = append(b, `,"provider":`...)
	b = appendText(b, ev.Provider)
	b = append(b, `,"probe":`...)
	b = appendText(b, ev.Probe)
	b = append(b, `,"args":[`...)
	for i := range ev.Args {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendArg(b, &ev.Args[i])
	}
	return append(b, "]}"...)
}

// appendArg appends one argument as a JSON object.
func appendArg(b []byte, v *trace.Value) []byte {
	b = append(b, `{"name":`...)
	b = appendText(b, v.Name)
	b = append(b, `,"type":`...)
	b = appendText(b, v.Type)
	b = append(b, `,"value":`...)
	b, escaped := appendValue(b, v)
	if escaped {
		b = append(b, `,"escaped":true`...)
	}
	if v.Truncated {
		b = append(b, `,"truncated":true`...)
	}
	if v.Err != nil {
		b = append(b, `,"error":`...)
		b = appendText(b, v.Err.Error())
	}
	return append(b, '}')
}

// appendValue appends the value, and reports whether it is a string that had to
// be escaped.
func appendValue(b []byte, v *trace.Value) (_ []byte, escaped bool) {
	switch x := v.Value.(type) {
	case int64:
		return strconv.AppendInt(b, x, 10), false
	case uint64:
		return strconv.AppendUint(b, x, 10), false
	case bool:
		return strconv.AppendBool(b, x), false
	case float64:
		return appendFloat(b, x, v.Type), false
	case string:
		return appendString(b, x)
	case []byte:
		b = append(b, '"')
		b = hex.AppendEncode(b, x)
		return append(b, '"'), false
	case trace.Pointer:
		b = append(b, `"0x`...)
		b = strconv.AppendUint(b, uint64(x), 16)
		return append(b, '"'), false
	}
	return append(b, "null"...), false
}

// appendFloat appends a float: the shortest number that reads back as the same
// value, or the strings "NaN", "+Inf" and "-Inf", which JSON lacks.
func appendFloat(b []byte, x float64, typ string) []byte {
	switch {
	case math.IsNaN(x):
		return append(b, `"NaN"`...)
	case math.IsInf(x, 1):
		return append(b, `"+Inf"`...)
	case math.IsInf(x, -1):
		return append(b, `"-Inf"`...)
	}
	bits := 64
	if typ == "float32" {
		bits = 32
	}
	return strconv.AppendFloat(b, x, 'g', -1, bits)
}

// appendString appends a string of the traced program. If it is valid UTF-8 it
// stands as it is. Otherwise each invalid byte is written as \xNN and each
// backslash is doubled, so that nothing is lost, and escaped is true.
func appendString(b []byte, s string) (_ []byte, escaped bool) {
	if utf8.ValidString(s) {
		return appendText(b, s), false
	}
	var plain []byte
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			plain = append(plain, '\\', 'x', hexDigits[s[i]>>4], hexDigits[s[i]&15])
		case r == '\\':
			plain = append(plain, '\\', '\\')
		default:
			plain = append(plain, s[i:i+n]...)
		}
		i += n
	}
	return appendText(b, string(plain)), true
}

const hexDigits = "0123456789abcdef"

// appendText appends a JSON string (RFC 8259 section 7). Bytes that are not
// UTF-8 become \xNN; characters that do something rather than show something
// become \uNNNN: see acts.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	if isPlain(s) {
		return append(append(b, s...), '"')
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b = append(b, '\\', '\\', 'x', hexDigits[s[i]>>4], hexDigits[s[i]&15])
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, '\\', 'n')
		case r == '\t':
			b = append(b, '\\', 't')
		case acts(r):
			b = append(b, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
		default:
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
	return append(b, '"')
}

// acts reports whether a character must not reach a terminal, which the JSON may
// be printed on: the control characters, those of C1 included, whose U+009B
// begins an escape sequence like ESC [ (ECMA-48, 5.4); what reorders the text
// around it (Unicode annex 9); and the line separators that JavaScript minds. All
// of them are of 16 bits.
func acts(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}
