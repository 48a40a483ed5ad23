package emit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/internal/call"
)

type point struct{ x, y int32 }

// cString reads what a tracer's string copy would read.
func cString(addr uint64) string {
	p := *(*unsafe.Pointer)(unsafe.Pointer(&addr))
	var b []byte
	for ; *(*byte)(p) != 0; p = unsafe.Add(p, 1) {
		b = append(b, *(*byte)(p))
	}
	return string(b)
}

type (
	named  int16
	text16 string
	raw    []byte
)

// panicky has an Error method that does not bear a nil receiver.
type panicky struct{ msg string }

func (p *panicky) Error() string { return p.msg }

// Every type arrives as documented: the kernel samples the registers.
func TestTypedValuesInRegisters(t *testing.T) {
	target := &point{3, 4}
	long := strings.Repeat("0123456789", 1000)

	type want []any // uint64: the register; string: what it points to
	var tests []struct {
		name string
		fire func(p *Provider, name string) (*probe, func())
		want want
	}
	row := func(name string, fire func(p *Provider, name string) (*probe, func()), w ...any) {
		tests = append(tests, struct {
			name string
			fire func(p *Provider, name string) (*probe, func())
			want want
		}{name, fire, w})
	}
	// word widens like the kernel's view of a register.
	word := func(v int64) uint64 { return uint64(v) }

	row("int8", one(int8(-5)), word(-5))
	row("int16", one(int16(math.MinInt16)), word(math.MinInt16))
	row("int32", one(int32(-1)), word(-1))
	row("int64", one(int64(math.MinInt64)), word(math.MinInt64))
	row("int", one(-7), word(-7))
	row("named", one(named(-2)), word(-2))
	row("duration", one(3*time.Second), word(3e9))
	row("uint8", one(uint8(255)), word(255))
	row("uint16", one(uint16(65535)), word(65535))
	row("uint32", one(uint32(math.MaxUint32)), word(math.MaxUint32))
	row("uint64", one(uint64(math.MaxUint64)), uint64(math.MaxUint64))
	row("uint", one(uint(1)<<63), uint64(1)<<63)
	row("uintptr", one(uintptr(0xdead)), word(0xdead))
	row("true", one(true), word(1))
	row("false", one(false), word(0))
	row("float32", one(float32(-1.5)), uint64(math.Float32bits(-1.5)))
	row("float64", one(math.Pi), math.Float64bits(math.Pi))
	row("string", one("hello"), "hello")
	row("empty string", one(""), "")
	row("named string", one(text16("x")), "x")
	row("string is cut at NUL by C", one("a\x00b"), "a")
	row("long string", one(long), long[:MaxString-1])
	row("bytes", one([]byte("abc")), "abc", word(3))
	row("nil bytes", one([]byte(nil)), "", word(0))
	row("named bytes", one(raw("\x01\x00\x02")), "\x01", word(3))
	row("long bytes", one([]byte(long)), long[:MaxString-1], word(MaxString-1))
	row("error", one(io.EOF), "EOF")
	row("wrapped error", one(fmt.Errorf("read: %w", io.EOF)), "read: EOF")
	row("nil error", one[error](nil), word(0))
	row("panicking error", one[error]((*panicky)(nil)), "(panic in Error method)")
	row("pointer", one(target), uint64(uintptr(unsafe.Pointer(target))))
	row("nil pointer", one((*point)(nil)), word(0))
	row("pointer to nothing", one(&struct{}{}), nil)
	row("unsafe.Pointer", one(unsafe.Pointer(target)), uint64(uintptr(unsafe.Pointer(target))))
	row("bad unsafe.Pointer", one(*(*unsafe.Pointer)(unsafe.Pointer(&[]uintptr{8}[0]))), word(8))
	row("places move behind bytes", func(p *Provider, name string) (*probe, func()) {
		h := Must(NewProbe4[int8, []byte, string, error](p, name, nil))
		return &h.probe, func() { h.Fire(-1, []byte("xy"), "str", errors.New("oops")) }
	}, word(-1), "xy", word(2), "str", "oops")
	row("twelve", func(p *Provider, name string) (*probe, func()) {
		h := Must(NewProbe12[int8, uint8, int16, uint16, int32, uint32, int64, uint64, bool, string, *point, float64](p, name, nil))
		return &h.probe, func() { h.Fire(-1, 2, -3, 4, -5, 6, -7, 8, true, "ten", target, 12) }
	}, word(-1), word(2), word(-3), word(4), word(-5), word(6), word(-7), word(8), word(1), "ten",
		uint64(uintptr(unsafe.Pointer(target))), math.Float64bits(12))
	row("twelve strings", func(p *Provider, name string) (*probe, func()) {
		h := Must(NewProbe12[string, string, string, string, string, string, string, string, string, string, string, string](p, name, nil))
		return &h.probe, func() { h.Fire("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", long) }
	}, "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", long[:MaxString-1])
	row("none", func(p *Provider, name string) (*probe, func()) {
		h := Must(NewProbe0(p, name, nil))
		return &h.probe, h.Fire
	})
	row("lazy", func(p *Provider, name string) (*probe, func()) {
		h := Must(NewProbe2[int, string](p, name, nil))
		return &h.probe, func() { h.FireFunc(func() (int, string) { return 7, "lazy" }) }
	}, word(7), "lazy")

	p := newProvider(t, "values", nil)
	fires := make([]func(), len(tests))
	probes := make([]*probe, len(tests))
	for i, tt := range tests {
		probes[i], fires[i] = tt.fire(p, fmt.Sprintf("p%d", i))
	}
	load(t, p)
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			u := attachUprobe(t, probes[i], false, true)
			if !probes[i].enabled() {
				t.Error("not enabled after the attach")
			}
			fires[i]()
			if !probes[i].enabled() {
				t.Error("not enabled after the fire")
			}
			checkHits(t, u, tt.want)
		})
	}
}

// one makes a probe with one argument.
func one[A any](v A) func(p *Provider, name string) (*probe, func()) {
	return func(p *Provider, name string) (*probe, func()) {
		h := Must(NewProbe1[A](p, name, nil))
		return &h.probe, func() { h.Fire(v) }
	}
}

// checkHits compares the one hit of u: a uint64 with the register, a string with
// what the register points to, nil with nothing.
func checkHits(t *testing.T, u *uprobe, want []any) {
	t.Helper()
	hits := u.samples()
	if len(hits) != 1 {
		t.Fatalf("%d hits, want 1", len(hits))
	}
	for i, w := range want {
		switch w := w.(type) {
		case uint64:
			if got := hits[0].args[i]; got != w {
				t.Errorf("argument %d is %#x, want %#x", i, got, w)
			}
		case string:
			if got := hits[0].text(i); got != w {
				t.Errorf("argument %d points to %q, want %q", i, got, w)
			}
		}
	}
}

func TestDynamicValuesInRegisters(t *testing.T) {
	target := &point{3, 4}
	addr := uint64(uintptr(unsafe.Pointer(target)))
	type durations []byte
	for i, tt := range []struct {
		name  string
		types []Type
		fire  []any
		want  []any
	}{
		{"none", nil, nil, nil},
		{"int64 from any integer", []Type{Int64, Int64, Int64, Int64}, []any{-1, uint8(2), time.Second, int16(-3)},
			[]any{^uint64(0), uint64(2), uint64(1e9), ^uint64(2)}},
		{"small ones", []Type{Int8, Int16, Int32, Uint8, Uint16, Uint32}, []any{-128, -32768, math.MinInt32, 255, 65535, int64(math.MaxUint32)},
			[]any{^uint64(127), ^uint64(32767), ^uint64(math.MaxInt32), uint64(255), uint64(65535), uint64(math.MaxUint32)}},
		{"uint64", []Type{Uint64, Uint64}, []any{uint64(math.MaxUint64), uintptr(5)}, []any{uint64(math.MaxUint64), uint64(5)}},
		{"bools", []Type{Bool, Bool}, []any{true, false}, []any{uint64(1), uint64(0)}},
		{"floats", []Type{Float32, Float64, Float64}, []any{float32(1.5), -2.5, float32(0.5)},
			[]any{uint64(math.Float32bits(1.5)), math.Float64bits(-2.5), math.Float64bits(0.5)}},
		{"texts", []Type{String, String, Bytes, Bytes, Error, Error}, []any{"a", text16("b"), []byte("cd"), durations("e"), io.EOF, nil},
			[]any{"a", "b", "cd", uint64(2), "e", uint64(1), "EOF", uint64(0)}},
		{"pointers", []Type{Pointer, Pointer, Pointer, Pointer}, []any{target, unsafe.Pointer(target), uintptr(9), nil},
			[]any{addr, addr, uint64(9), uint64(0)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newProvider(t, "dynamic", nil)
			var args []Arg
			for j, typ := range tt.types {
				args = append(args, Arg{Name: fmt.Sprintf("a%d", j), Type: typ})
			}
			h, err := NewProbe(p, fmt.Sprintf("p%d", i), args, nil)
			if err != nil {
				t.Fatal(err)
			}
			load(t, p)
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			u := attachUprobe(t, &h.probe, false, true)
			if err := h.Fire(tt.fire...); err != nil {
				t.Fatal(err)
			}
			checkHits(t, u, tt.want)
			if err := h.FireFunc(func() []any { return tt.fire }); err != nil {
				t.Fatal(err)
			}
			checkHits(t, u, tt.want)
		})
	}
}

// A tracer comes and goes, for every form of site, with and without semaphore,
// on every backing: Enabled follows, and what is fired meanwhile is counted.
func TestEnabledFollowsTracers(t *testing.T) {
	for _, tt := range []struct {
		name         string
		opts         Options
		sem, withSem bool
	}{
		{name: "chosen form"},
		{name: "nop1", opts: Options{NopForm: elfgen.FormNop1}},
		{name: "nop5", opts: Options{NopForm: elfgen.FormNop5}},
		{name: "nop10", opts: Options{NopForm: elfgen.FormNop10}},
		{name: "semaphore that the tracer uses", sem: true, withSem: true},
		{name: "semaphore that the tracer ignores", sem: true},
		{name: "file", opts: Options{Backing: BackingFile}},
		{name: "shared", opts: Options{Backing: BackingShared}, sem: true, withSem: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.opts.Dir = t.TempDir()
			p := newProvider(t, "enabled", &tt.opts)
			h := Must(NewProbe1[int](p, "p", &ProbeOptions{Semaphore: tt.sem}))
			other := Must(NewProbe1[int](p, "other", nil))
			load(t, p)
			if in := p.Backing(); in.Backing != tt.opts.Backing || in.Reason != nil {
				t.Fatalf("backing is %v: %v", in.Backing, in.Reason)
			}
			for round := range 3 {
				if h.Enabled() {
					t.Fatalf("round %d: enabled before the tracer came", round)
				}
				h.Fire(0)
				u := attachUprobe(t, &h.probe, tt.withSem, false)
				if !h.Enabled() || other.Enabled() {
					t.Errorf("round %d: enabled %v, other %v; want true, false", round, h.Enabled(), other.Enabled())
				}
				const fires = 100
				for range fires {
					h.Fire(1)
					other.Fire(1)
				}
				if n := u.count(); n != fires {
					t.Errorf("round %d: %d hits for %d fires", round, n, fires)
				}
				if !h.Enabled() {
					t.Errorf("round %d: not enabled any more while traced", round)
				}
				u.detach()
				if h.Enabled() {
					t.Errorf("round %d: enabled after the tracer went", round)
				}
			}
		})
	}
}

// A tracer on one generation stays when another is loaded, and when another
// provider closes.
func TestExtendWhileTraced(t *testing.T) {
	p := newProvider(t, "extend", nil)
	a := Must(NewProbe0(p, "a", nil))
	load(t, p)
	entry := a.probe.site.Load().entry
	u := attachUprobe(t, &a.probe, false, false)
	for i := range 10 {
		b := Must(NewProbe0(p, fmt.Sprintf("b%d", i), nil))
		load(t, p)
		if b.Enabled() {
			t.Error("the new probe is enabled")
		}
		a.Fire()
	}
	if n := u.count(); n != 10 {
		t.Errorf("%d hits, want 10", n)
	}
	if a.probe.site.Load().entry != entry {
		t.Error("the site moved")
	}
}

// Close while traced: the handle is inert at once, the bytes under a late caller
// are pristine, and the tracer's counter stays where it was.
func TestCloseWhileTraced(t *testing.T) {
	for _, sem := range []bool{false, true} {
		t.Run(fmt.Sprintf("semaphore %v", sem), func(t *testing.T) {
			p := newProvider(t, "close", nil)
			h := Must(NewProbe0(p, "p", &ProbeOptions{Semaphore: sem}))
			load(t, p)
			u := attachUprobe(t, &h.probe, sem, false)
			late := h.probe.site.Load() // a goroutine on its way
			h.Fire()
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			if h.Enabled() {
				t.Error("enabled after Close")
			}
			if late.traced() {
				t.Error("a late caller sees a traced site")
			}
			h.Fire()
			late.fire(nil)
			call.Site(late.entry, new(call.Frame))
			if n := u.count(); n != 1 {
				t.Errorf("%d hits, want 1", n)
			}
			runtime.KeepAlive(late)
		})
	}
}

// The bytes that a stranger can read are the object's.
func TestTracerCanOpenBacking(t *testing.T) {
	p := newProvider(t, "open", nil)
	Must(NewProbe0(p, "p", nil))
	load(t, p)
	b, err := os.ReadFile(p.Backing().Path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(b, []byte("\x7fELF")) || !bytes.Contains(b, []byte("stapsdt\x00")) {
		t.Errorf("%s is no object: %q …", p.Backing().Path, b[:min(len(b), 16)])
	}
}
