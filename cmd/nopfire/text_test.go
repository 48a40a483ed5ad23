package main

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/trace/probespec"
)

func TestEventColumns(t *testing.T) {
	ev := &trace.Event{
		Time: time.Date(2026, 1, 31, 12, 0, 0, 120000, time.Local),
		PID:  42, TID: 43, Comm: "evil\x1b[2J",
		Provider: "p", Probe: "new\nline",
		Args: []trace.Value{
			{Name: "s", Type: "string", Value: "\x1b[31m"},
			{Name: "n\x07", Type: "int32", Err: errors.New("bad address")},
			{Name: "t", Type: "T\x1b[2J", Err: errors.New("read T\x1b[2J at 0x1: bad address")},
		},
	}
	cols := newEventColumns(false, []string{"p:longname"})
	for _, tt := range []struct{ got, want string }{
		{cols.header(), "TIME            PID     TID     COMM            PROBE      ARGUMENTS\n"},
		{cols.line(ev), "12:00:00.000120 42      43      evil\\x1b[2J     p:new\\nline " +
			`s="\x1b[31m" n\a=!(bad address) t=!(read T\x1b[2J at 0x1: bad address)` + "\n"},
	} {
		if tt.got != tt.want {
			t.Errorf("\n got %q\nwant %q", tt.got, tt.want)
		}
	}
	// With colours the only escape sequences are our own, and the text is the same.
	colored := newEventColumns(true, []string{"p:longname"}).line(ev)
	plain := colored
	for _, code := range []string{"0", "2", "31", "36"} {
		plain = strings.ReplaceAll(plain, "\x1b["+code+"m", "")
	}
	if plain != cols.line(ev) || plain == colored {
		t.Errorf("coloured line is %q", colored)
	}
}

// A probe without arguments leaves no blanks at the end of its line.
func TestEventWithoutArguments(t *testing.T) {
	ev := &trace.Event{Time: time.Now(), PID: 42, TID: 43, Comm: "c", Provider: "p", Probe: "x"}
	specs := []*probespec.Probe{{Clause: trace.Clause{Pattern: "p:x"}}}
	for _, color := range []palette{false, true} {
		own := newEventColumns(color, []string{"p:longname"})
		for _, p := range []eventPrinter{own, &bccColumns{color: color, specs: specs}} {
			line := string(p.append(nil, ev))
			want := "p:x\n"
			if color {
				want = "p:x\x1b[0m\n"
			}
			if !strings.HasSuffix(line, want) {
				t.Errorf("%T, colours %v: %q, want %q at its end", p, color, line, want)
			}
		}
	}
}

// Values are written as trace.Value.String has them.
func TestAppendValueText(t *testing.T) {
	for _, v := range []trace.Value{
		{Type: "int64", Value: int64(math.MinInt64)},
		{Type: "uint64", Value: uint64(math.MaxUint64)},
		{Type: "time.Duration", Value: int64(1500)},
		{Type: "bool", Value: true},
		{Type: "float32", Value: float64(float32(0.1))},
		{Type: "string", Value: "a\x1b\"ü\xff"},
		{Type: "string", Value: "cut", Truncated: true},
		{Type: "string", Value: " plain ~"},
		{Type: "string", Value: `a\b`},
		{Type: "string", Value: "\x7f"},
		{Type: "string"},
		{Type: "[]byte", Value: []byte{0, 255}, Truncated: true},
		{Type: "*T", Value: trace.Pointer(16)},
		{Type: "int8", Err: errors.New("bad address")},
	} {
		if got := string(appendValueText(nil, &v, false)); got != v.String() {
			t.Errorf("%s, want %s", got, v)
		}
	}
}

func BenchmarkEventColumns(b *testing.B) {
	ev := &trace.Event{
		Time: time.Now(), PID: 4711, TID: 4712, Comm: "shop", Provider: "shop", Probe: "order",
		Args: []trace.Value{{Name: "id", Type: "int64", Value: int64(1000)}, {Name: "item", Type: "string", Value: "green tea"}},
	}
	cols := newEventColumns(false, []string{"shop:order"})
	var line []byte
	b.ReportAllocs()
	for b.Loop() {
		line = cols.append(line[:0], ev)
	}
}

func TestPaletteFor(t *testing.T) {
	terminal, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // a character device
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, tt := range []struct {
		name          string
		w             io.Writer
		noColor, term string
		want          palette
	}{
		{"terminal", terminal, "", "xterm", true},
		{"NO_COLOR", terminal, "1", "xterm", false},
		{"dumb terminal", terminal, "", "dumb", false},
		{"file", file, "", "xterm", false},
		{"no file", new(bytes.Buffer), "", "xterm", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("NO_COLOR", tt.noColor)
			t.Setenv("TERM", tt.term)
			if got := paletteFor(tt.w); got != tt.want {
				t.Errorf("colours %v, want %v", got, tt.want)
			}
		})
	}
}

func TestSplitArgs(t *testing.T) {
	files, patterns := splitArgs([]string{"a.so", "app:*", "./a:b", ":", "/x/y:z", "C"})
	if got, want := strings.Join(files, " "), "a.so ./a:b /x/y:z C"; got != want {
		t.Errorf("files %s, want %s", got, want)
	}
	if got, want := strings.Join(patterns, " "), "app:* :"; got != want {
		t.Errorf("patterns %s, want %s", got, want)
	}
}
