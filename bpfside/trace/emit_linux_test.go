//go:build amd64 || arm64

package trace_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/emit"
	"github.com/nopfire/nopfire/internal/testutils"
)

type point struct{ X, Y int32 }

// These tests fire probes in their own process and trace it: what goes in must
// come out.
func provider(t *testing.T, name string, o *emit.Options) *emit.Provider {
	t.Helper()
	p, err := emit.NewProvider(name, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func TestEveryTypeOfEmit(t *testing.T) {
	testutils.NeedBPF(t)
	p := provider(t, "types", nil)
	pt := &point{3, 4}
	long := strings.Repeat("é", 200)
	var fire []func()
	var want []trace.Value
	row := func(define func(name string) (func(), error), typ string, value any, cut bool) {
		t.Helper()
		f, err := define(fmt.Sprintf("p%d", len(want)))
		if err != nil {
			t.Fatal(err)
		}
		fire = append(fire, f)
		want = append(want, trace.Value{Name: "v", Type: typ, Value: value, Truncated: cut})
	}

	row(one(p, int8(math.MinInt8)), "int8", int64(math.MinInt8), false)
	row(one(p, int16(math.MinInt16)), "int16", int64(math.MinInt16), false)
	row(one(p, int32(math.MinInt32)), "int32", int64(math.MinInt32), false)
	row(one(p, int64(math.MinInt64)), "int64", int64(math.MinInt64), false)
	row(one(p, int(-1)), "int64", int64(-1), false)
	row(one(p, uint8(math.MaxUint8)), "uint8", uint64(math.MaxUint8), false)
	row(one(p, uint16(math.MaxUint16)), "uint16", uint64(math.MaxUint16), false)
	row(one(p, uint32(math.MaxUint32)), "uint32", uint64(math.MaxUint32), false)
	row(one(p, uint64(math.MaxUint64)), "uint64", uint64(math.MaxUint64), false)
	row(one(p, time.Minute), "time.Duration", int64(time.Minute), false)
	row(one(p, true), "bool", true, false)
	row(one(p, false), "bool", false, false)
	row(one(p, float32(0.1)), "float32", float64(float32(0.1)), false)
	row(one(p, math.Inf(-1)), "float64", math.Inf(-1), false)
	row(one(p, "h\xc3\xa9"), "string", "hé", false)
	row(one(p, ""), "string", "", false)
	row(one(p, strings.Repeat("a", 256)), "string", strings.Repeat("a", 256), false)
	row(one(p, long), "string", long[:256], true)
	row(one(p, []byte{0, 1, 0xff}), "[]byte", []byte{0, 1, 0xff}, false)
	row(one(p, []byte(long)), "[]byte", []byte(long[:256]), true)
	row(one[error](p, errors.New("no space")), "error", "no space", false)
	row(one[error](p, nil), "error", nil, false)
	row(one(p, pt), "*trace_test.point", trace.Pointer(uintptr(unsafe.Pointer(pt))), false)
	row(one[*point](p, nil), "*trace_test.point", trace.Pointer(0), false)
	row(one(p, unsafe.Pointer(pt)), "unsafe.Pointer", trace.Pointer(uintptr(unsafe.Pointer(pt))), false)

	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	s := session(t, os.Getpid(), nil, "types:*")
	for _, f := range fire {
		f()
	}
	for i, ev := range next(t, s, len(want)) {
		if name := fmt.Sprintf("p%d", i); ev.Probe != name || ev.PID != os.Getpid() {
			t.Fatalf("event %d is %s of process %d", i, ev.Probe, ev.PID)
		}
		if diff := cmp.Diff([]trace.Value{want[i]}, ev.Args); diff != "" {
			t.Errorf("%s (-want +got):\n%s", want[i].Type, diff)
		}
	}
}

// one returns what defines a probe of one argument and returns its fire.
func one[T any](p *emit.Provider, v T) func(string) (func(), error) {
	return func(name string) (func(), error) {
		h, err := emit.NewProbe1[T](p, name, &emit.ProbeOptions{Args: []string{"v"}})
		return func() { h.Fire(v) }, err
	}
}

// Twelve arguments of different sizes arrive each in its place, with every nop
// form and with a semaphore.
func TestTwelveArguments(t *testing.T) {
	testutils.NeedBPF(t)
	for _, semaphore := range []bool{false, true} {
		t.Run(fmt.Sprintf("semaphore=%v", semaphore), func(t *testing.T) {
			p := provider(t, "dozen", nil)
			h, err := emit.NewProbe12[int8, uint8, int16, uint16, int32, uint32, int64, uint64, string, bool, float64, int8](p, "all",
				&emit.ProbeOptions{Semaphore: semaphore})
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Load(); err != nil {
				t.Fatal(err)
			}
			s := session(t, os.Getpid(), nil, "dozen:all")
			if !h.Enabled() {
				t.Error("not enabled while traced")
			}
			h.Fire(-1, 2, -3, 4, -5, 6, -7, 8, "nine", true, 11.5, -12)
			var got []any
			for _, a := range next(t, s, 1)[0].Args {
				got = append(got, a.Value)
			}
			want := []any{int64(-1), uint64(2), int64(-3), uint64(4), int64(-5), uint64(6), int64(-7), uint64(8), "nine", true, 11.5, int64(-12)}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			s.Close()
			if h.Enabled() {
				t.Error("enabled after the session")
			}
		})
	}
}

// Strings of several goroutines do not mix, and each hit comes once.
func TestManyGoroutines(t *testing.T) {
	testutils.NeedBPF(t)
	const goroutines, each = 16, 500
	p := provider(t, "many", nil)
	h, err := emit.NewProbe3[int, int, string](p, "hit", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	s := session(t, os.Getpid(), nil, "many:hit")
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range each {
				h.Fire(g, i, fmt.Sprintf("%d/%d", g, i))
			}
		})
	}
	wg.Wait()
	seen := make([]int64, goroutines)
	for _, ev := range next(t, s, goroutines*each) {
		g, i := ev.Args[0].Value.(int64), ev.Args[1].Value.(int64)
		if i != seen[g] {
			t.Fatalf("goroutine %d: event %d follows %d", g, i, seen[g]-1)
		}
		seen[g]++
		if want := fmt.Sprintf("%d/%d", g, i); ev.Args[2].Value != want {
			t.Fatalf("string %v, want %s", ev.Args[2].Value, want)
		}
	}
}

// A thousand probes in one object are few links: they come and go together.
func TestThousandProbes(t *testing.T) {
	testutils.NeedBPF(t)
	const n = 1000
	p := provider(t, "thousand", nil)
	probes := make([]*emit.Probe2[int64, string], n)
	for i := range probes {
		var err error
		if probes[i], err = emit.NewProbe2[int64, string](p, fmt.Sprintf("probe%d", i), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	s := session(t, os.Getpid(), nil, "thousand:*")
	attached := time.Since(begin)
	for i, h := range probes {
		h.Fire(int64(i), "x")
	}
	for i, ev := range next(t, s, n) {
		if want := fmt.Sprintf("probe%d", i); ev.Probe != want || ev.Args[0].Value != int64(i) {
			t.Fatalf("event %d is %v", i, ev)
		}
	}
	begin = time.Now()
	s.Close()
	t.Logf("attach %v, detach %v", attached, time.Since(begin))
}

// At the largest limit, too, a value that was longer says so, whether emit or the
// tracer has cut it.
func TestLongestStrings(t *testing.T) {
	testutils.NeedBPF(t)
	p := provider(t, "longest", nil)
	h, err := emit.NewProbe2[string, []byte](p, "text", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	const limit = trace.LimitMaxString
	s := session(t, os.Getpid(), &trace.Options{MaxString: limit}, "longest:*")
	lengths := []int{limit - 1, limit, limit + 1, limit + 2, 3 * limit}
	for _, n := range lengths {
		text := strings.Repeat("x", n)
		h.Fire(text, []byte(text))
	}
	for i, ev := range next(t, s, len(lengths)) {
		for _, v := range ev.Args {
			got := len(fmt.Sprintf("%s", v.Value))
			if want := min(lengths[i], limit); got != want || v.Truncated != (lengths[i] > limit) {
				t.Errorf("%s of %d bytes arrives as %d, truncated %v", v.Type, lengths[i], got, v.Truncated)
			}
		}
	}
}
