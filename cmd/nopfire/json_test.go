package main

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/nopfire/nopfire/bpfside/trace"
)

// The rows are the tables of docs/json.md.
func TestAppendArg(t *testing.T) {
	for _, tt := range []struct {
		typ   string
		value any
		want  string // from "value" on
	}{
		{"int64", int64(math.MinInt64), `-9223372036854775808`},
		{"uint64", uint64(math.MaxUint64), `18446744073709551615`},
		{"time.Duration", int64(1500000), `1500000`},
		{"bool", true, `true`},
		{"float64", 0.1, `0.1`},
		{"float32", float64(float32(0.1)), `0.1`},
		{"float64", math.MaxFloat64, `1.7976931348623157e+308`},
		{"float64", math.NaN(), `"NaN"`},
		{"float64", math.Inf(1), `"+Inf"`},
		{"float64", math.Inf(-1), `"-Inf"`},
		{"float64", math.Copysign(0, -1), `-0`},
		{"string", "", `""`},
		{"string", "grüß \"dich\" \\ 寿司", `"grüß \"dich\" \\ 寿司"`},
		{"string", "a\nb\tc\x00\x1b\x7f\u2028", `"a\nb\tc\u0000\u001b\u007f\u2028"`},
		{"string", "\u0085\u009b31m\u202etxt.\u2066\u200b", `"\u0085\u009b31m\u202etxt.\u2066` + "\u200b" + `"`}, // C1, bidi; a mere space without width
		{"string", "caf\xe9", `"caf\\xe9","escaped":true`},
		{"string", "\\x\xff", `"\\\\x\\xff","escaped":true`},
		{"string", "\ufffd", `"` + "\ufffd" + `"`}, // a replacement character that is really there
		{"[]byte", []byte{0, 255}, `"00ff"`},
		{"[]byte", []byte{}, `""`},
		{"*main.order", trace.Pointer(0xc000012080), `"0xc000012080"`},
		{"unsafe.Pointer", trace.Pointer(0), `"0x0"`},
		{"error", nil, `null`},
	} {
		v := trace.Value{Name: "a", Type: tt.typ, Value: tt.value}
		got := string(appendArg(nil, &v))
		if want := `{"name":"a","type":"` + tt.typ + `","value":` + tt.want + `}`; got != want {
			t.Errorf("%s %#v:\n got %s\nwant %s", tt.typ, tt.value, got, want)
		}
		if !json.Valid([]byte(got)) || !utf8.ValidString(got) {
			t.Errorf("%s is no JSON", got)
		}
	}
}

func TestAppendEvent(t *testing.T) {
	ev := trace.Event{
		Time: time.Date(2026, 1, 31, 12, 0, 0, 120, time.UTC),
		PID:  1, TID: 2, CPU: 3, Comm: "a\"b\xff",
		Provider: "p", Probe: "n",
		Args: []trace.Value{
			{Name: "s", Type: "string", Value: "abc", Truncated: true},
			{Name: "n", Type: "int32", Err: errors.New("bad address")},
		},
	}
	const want = `{"time":"2026-01-31T12:00:00.000000120Z","pid":1,"tid":2,"cpu":3,"comm":"a\"b\\xff","provider":"p","probe":"n","args":[` +
		`{"name":"s","type":"string","value":"abc","truncated":true},{"name":"n","type":"int32","value":null,"error":"bad address"}]}`
	got := string(appendEvent(nil, &ev))
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !json.Valid([]byte(got)) {
		t.Error("no JSON")
	}
	ev.Args = nil
	if got := string(appendEvent(nil, &ev)); !strings.HasSuffix(got, `"args":[]}`) {
		t.Errorf("no arguments: %s", got)
	}
}

func BenchmarkAppendEvent(b *testing.B) {
	ev := sampleEvent("shop", 0,
		trace.Value{Name: "id", Type: "int64", Value: int64(1000)}, trace.Value{Name: "item", Type: "string", Value: "green tea"})
	var line []byte
	var j eventJSON
	b.ReportAllocs()
	for b.Loop() {
		line = j.append(line[:0], &ev)
	}
}

// Times are in timeFormat, whatever was written before.
func TestEventJSONTime(t *testing.T) {
	var j eventJSON
	at := time.Date(2026, 1, 31, 23, 59, 59, 999_999_999, time.FixedZone("", 5400))
	for _, tt := range []time.Time{at, at.Add(1), at.Add(-time.Hour), at.Add(2).UTC(), at.Add(24 * time.Hour)} {
		if got, want := string(j.time(nil, tt)), tt.Format(timeFormat); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Whatever a traced program calls a string, the JSON is valid and gives the very
// bytes back.
func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "abc", "\\", "\\x41", "\xff", "a\\\xc3", "\u2028\x00", "寿司\xe5\xaf"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b, escaped := appendString(nil, s)
		var got string
		if err := json.Unmarshal(b, &got); err != nil || !utf8.Valid(b) {
			t.Fatalf("%q: %q: %v", s, b, err)
		}
		if escaped == utf8.ValidString(s) {
			t.Fatalf("%q: escaped is %v", s, escaped)
		}
		if escaped {
			got = unescape(t, got)
		}
		if got != s {
			t.Fatalf("%q comes back as %q", s, got)
		}
	})
}

// unescape undoes the escapes of docs/json.md, as a reader would.
func unescape(t *testing.T, s string) string {
	var out []byte
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != '\\':
			out = append(out, s[i])
		case strings.HasPrefix(s[i:], `\\`):
			out = append(out, '\\')
			i++
		case strings.HasPrefix(s[i:], `\x`) && len(s) >= i+4:
			hi, lo := strings.IndexByte(hexDigits, s[i+2]), strings.IndexByte(hexDigits, s[i+3])
			out = append(out, byte(hi<<4|lo))
			i += 3
		default:
			t.Fatalf("lone backslash in %q", s)
		}
	}
	return string(out)
}

func TestSameJSON(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{`1`, `1`, true},
		{`9007199254740993`, `9007199254740992`, false}, // equal as doubles
		{`1e-09`, `1e-9`, true},
		{`7`, `7.0`, true},
		{`0.1`, `0.2`, false},
		{`"a"`, `"\u0061"`, true},
		{`"1"`, `1`, false},
		{`null`, `null`, true},
		{`null`, `""`, false},
		{`true`, `false`, false},
		{``, ``, false},
	} {
		if got := sameJSON([]byte(tt.a), []byte(tt.b)); got != tt.want {
			t.Errorf("sameJSON(%s, %s) = %v", tt.a, tt.b, got)
		}
	}
}
