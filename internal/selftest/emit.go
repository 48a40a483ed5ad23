package selftest

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/emit"
)

// emitChecks are about probes that a Go program defines.
var emitChecks = []Check{
	{Name: "arguments of a typed handle travel with their names", Needs: traces, run: emitTyped},
	{Name: "integers of every width keep their extremes", Needs: traces, run: emitIntegers},
	{Name: "bool and floats travel exactly", Needs: traces, run: emitFloats},
	{Name: "strings end at a NUL and keep every other byte", Needs: traces, run: emitStrings},
	{Name: "a string of 4096 bytes is cut and says so", Needs: traces, run: emitLongString},
	{Name: "bytes travel with their length", Needs: traces, run: emitBytes},
	{Name: "an error travels as its text and nil as NULL", Needs: traces, run: emitErrors},
	{Name: "a pointer travels as its address and is followed by type", Needs: traces, run: emitPointer},
	{Name: "twelve arguments keep their places", Needs: traces, run: emitTwelve},
	{Name: "a dynamic handle fires what its arguments allow", Needs: traces, run: emitDynamic},
	{Name: "enabled follows the tracer", Needs: traces, run: emitEnabled},
	{Name: "FireFunc computes nothing for nobody", Needs: traces, run: emitFireFunc},
	{Name: "closed provider fires nothing", Needs: traces, run: emitClosed},
	{Name: "removed probe fires nothing, its neighbour does", Needs: traces, run: emitRemoved},
	{Name: "a probe defined later is traced by who waits for it", Needs: traces, run: emitLater},
	{Name: "every form of nop is traced", Needs: traces, run: emitForms},
	{Name: "a provider in a file is traced by its path and removed", Needs: traces | MapsFiles, run: emitFile},
	{Name: "two providers of one name are both traced", Needs: traces, run: emitTwins},
	{Name: "four threads lose no hit", Needs: traces, run: emitThreads},
	{Name: "a memfd leaves nothing behind", Needs: Fires, run: emitMemfd},
	{Name: "a handle that was never loaded is inert", run: emitInert},
}

// define is the error check of a constructor, and loads the probe.
func define[H any](t *T, p *emit.Provider) func(H, error) H {
	return func(h H, err error) H {
		t.Must(err)
		t.Must(p.Load())
		return h
	}
}

func names(names ...string) *emit.ProbeOptions { return &emit.ProbeOptions{Args: names} }

func emitTyped(t *T) {
	p := newProvider(t, nil)
	h := define[*emit.Probe3[int, string, time.Duration]](t, p)(emit.NewProbe3[int, string, time.Duration](p, "request", names("status", "path", "took")))
	tr := traceSelf(t, "selftest:request")
	h.Fire(200, "/index.html", 1500*time.Microsecond)
	h.Fire(-1, "", 0)
	tr.expect(
		`selftest:request status=200 path="/index.html" took=1.5ms`,
		`selftest:request status=-1 path="" took=0s`)
}

func emitIntegers(t *T) {
	p := newProvider(t, nil)
	h := define[*emit.Probe8[int8, int16, int32, int64, uint8, uint16, uint32, uint64]](t, p)(
		emit.NewProbe8[int8, int16, int32, int64, uint8, uint16, uint32, uint64](p, "integers", nil))
	tr := traceSelf(t, "selftest:integers")
	h.Fire(math.MinInt8, math.MinInt16, math.MinInt32, math.MinInt64, 0, 0, 0, 0)
	h.Fire(math.MaxInt8, math.MaxInt16, math.MaxInt32, math.MaxInt64, math.MaxUint8, math.MaxUint16, math.MaxUint32, math.MaxUint64)
	h.Fire(-1, -1, -1, -1, 1, 1, 1, 1)
	tr.expect(
		"selftest:integers arg1=-128 arg2=-32768 arg3=-2147483648 arg4=-9223372036854775808 arg5=0 arg6=0 arg7=0 arg8=0",
		"selftest:integers arg1=127 arg2=32767 arg3=2147483647 arg4=9223372036854775807 arg5=255 arg6=65535 arg7=4294967295 arg8=18446744073709551615",
		"selftest:integers arg1=-1 arg2=-1 arg3=-1 arg4=-1 arg5=1 arg6=1 arg7=1 arg8=1")
}

func emitFloats(t *T) {
	p := newProvider(t, nil)
	h := define[*emit.Probe3[bool, float32, float64]](t, p)(emit.NewProbe3[bool, float32, float64](p, "floats", nil))
	tr := traceSelf(t, "selftest:floats")
	values := []struct {
		b bool
		f float32
		d float64
	}{
		{true, 0.5, 0.1},
		{false, float32(math.Inf(-1)), math.MaxFloat64},
		{true, math.SmallestNonzeroFloat32, math.Copysign(0, -1)},
	}
	for _, v := range values {
		h.Fire(v.b, v.f, v.d)
	}
	events := tr.gather()
	equal(t, "number of events", len(events), len(values))
	for i := range min(len(events), len(values)) {
		v := values[i]
		var got []any
		for _, a := range events[i].Args {
			got = append(got, a.Value)
		}
		equal(t, fmt.Sprintf("hit %d", i+1), got, []any{v.b, float64(v.f), v.d})
		if d, ok := events[i].Args[2].Value.(float64); ok {
			equal(t, fmt.Sprintf("bits of the float64 of hit %d", i+1), math.Float64bits(d), math.Float64bits(v.d))
		}
	}
}

func emitStrings(t *T) {
	p := newProvider(t, nil)
	h := define[*emit.Probe1[string]](t, p)(emit.NewProbe1[string](p, "text", nil))
	tr := traceSelf(t, "selftest:text")
	fired := []string{"", "plain", "naïve 寿司 🍣", "a\x01b\xff\n", "before\x00behind"}
	for _, s := range fired {
		h.Fire(s)
	}
	var got []string
	for _, ev := range tr.gather() {
		got = append(got, fmt.Sprintf("%q", ev.Args[0].Value))
	}
	want := []string{`""`, `"plain"`, fmt.Sprintf("%q", fired[2]), fmt.Sprintf("%q", fired[3]), `"before"`}
	equalLines(t, "texts", got, want)
}

func emitLongString(t *T) {
	p := newProvider(t, nil)
	h := define[*emit.Probe1[string]](t, p)(emit.NewProbe1[string](p, "long", nil))
	tr := traceQuery(t, trace.Query{
		PID:     os.Getpid(),
		Clauses: []trace.Clause{{Pattern: "selftest:long"}},
		Options: &trace.Options{MaxString: trace.LimitMaxString},
	})
	for _, n := range []int{trace.LimitMaxString - 1, trace.LimitMaxString + 1, 10 * trace.LimitMaxString} {
		h.Fire(strings.Repeat("x", n))
	}
	var got []string
	for _, ev := range tr.gather() {
		s, _ := ev.Args[0].Value.(string)
		got = append(got, fmt.Sprintf("%d bytes, cut: %t", len(s), ev.Args[0].Truncated))
	}
	equalLines(t, "strings", got, []string{"4095 bytes, cut: false", "4096 bytes, cut: true", "4096 bytes, cut: true"})
}

func emitBytes(t *T) {
	p := newProvider(t, nil)
	h := define[*emit.Probe2[[]byte, int]](t, p)(emit.NewProbe2[[]byte, int](p, "bytes", names("raw", "n")))
	tr := traceSelf(t, "selftest:bytes")
	fired := [][]byte{{0, 1, 0, 0xff}, {}, []byte("text\x00")}
	for i, b := range fired {
		h.Fire(b, i)
	}
	events := tr.gather()
	equal(t, "number of events", len(events), len(fired))
	for i := range min(len(events), len(fired)) {
		got, _ := events[i].Args[0].Value.([]byte)
		equal(t, fmt.Sprintf("hit %d", i+1), fmt.Sprintf("% x", got), fmt.Sprintf("% x", fired[i]))
		equal(t, "the argument behind", events[i].Args[1].Value, any(int64(i)))
	}
}

func emitErrors(t *T) {
	p := newProvider(t, nil)
	h := define[*emit.Probe1[error]](t, p)(emit.NewProbe1[error](p, "failed", names("err")))
	tr := traceSelf(t, "selftest:failed")
	h.Fire(fmt.Errorf("read: %w", os.ErrNotExist))
	h.Fire(nil)
	tr.expect(`selftest:failed err="read: file does not exist"`, `selftest:failed err=<nil>`)
}

// pair is what a pointer leads to: its layout stands in the object.
type pair struct {
	Key   int32
	Value int64
}

func emitPointer(t *T) {
	p := newProvider(t, nil)
	h := define[*emit.Probe1[*pair]](t, p)(emit.NewProbe1[*pair](p, "pair", names("p")))
	tr := traceQuery(t, trace.Query{PID: os.Getpid(), Clauses: []trace.Clause{{
		Pattern: "selftest:pair",
		Capture: []trace.Capture{{Expr: "p"}, {Expr: "p->Key"}, {Expr: "p->Value"}},
	}}})
	x := &pair{Key: -7, Value: 1 << 40}
	h.Fire(x)
	tr.expect(fmt.Sprintf("selftest:pair p=%#x p->Key=-7 p->Value=%d", uintptr(unsafe.Pointer(x)), int64(1)<<40))
}

func emitTwelve(t *T) {
	p := newProvider(t, nil)
	h := define[*emit.Probe12[int, int, int, int, int, int, int, int, int, int, int, int]](t, p)(
		emit.NewProbe12[int, int, int, int, int, int, int, int, int, int, int, int](p, "twelve", nil))
	tr := traceSelf(t, "selftest:twelve")
	h.Fire(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
	tr.expect("selftest:twelve arg1=1 arg2=2 arg3=3 arg4=4 arg5=5 arg6=6 arg7=7 arg8=8 arg9=9 arg10=10 arg11=11 arg12=12")
}

func emitDynamic(t *T) {
	p := newProvider(t, nil)
	h := define[*emit.Probe](t, p)(emit.NewProbe(p, "dynamic", []emit.Arg{{Name: "n", Type: emit.Int32}, {Name: "s", Type: emit.String}}, nil))
	tr := traceSelf(t, "selftest:dynamic")
	t.Must(h.Fire(int8(-3), "fits"))
	wantErrorAs[*emit.ArgError](t, "a number that is too large", h.Fire(int64(1)<<40, "x"))
	wantErrorAs[*emit.ArgError](t, "an argument too few", h.Fire(1))
	wantErrorAs[*emit.ArgError](t, "a number for a text", h.Fire(1, 2))
	tr.expect(`selftest:dynamic n=-3 s="fits"`)
}

func emitEnabled(t *T) {
	p := newProvider(t, nil)
	h := define[*emit.Probe0](t, p)(emit.NewProbe0(p, "watched", nil))
	for round := range 2 {
		t.Untraced(fmt.Sprintf("the probe, before tracer %d,", round+1), h.Enabled)
		tr := traceSelf(t, "selftest:watched")
		equal(t, fmt.Sprintf("enabled with tracer %d", round+1), h.Enabled(), true)
		t.Must(tr.Close())
		t.Untraced(fmt.Sprintf("the probe, after tracer %d,", round+1), h.Enabled)
	}
}

func emitFireFunc(t *T) {
	p := newProvider(t, nil)
	h := define[*emit.Probe1[int]](t, p)(emit.NewProbe1[int](p, "costly", nil))
	calls := 0
	f := func() int { calls++; return calls }
	h.FireFunc(f)
	equal(t, "calls while nobody traces", calls, 0)
	tr := traceSelf(t, "selftest:costly")
	h.FireFunc(f)
	h.FireFunc(f)
	tr.expect("selftest:costly arg1=1", "selftest:costly arg1=2")
	h.FireFunc(f)
	equal(t, "calls in the end", calls, 2)
}

func emitClosed(t *T) {
	p := newProvider(t, nil)
	h := define[*emit.Probe1[int]](t, p)(emit.NewProbe1[int](p, "open", nil))
	tr := traceSelf(t, "selftest:open")
	h.Fire(1)
	t.Must(p.Close())
	h.Fire(2)
	equal(t, "enabled after Close", h.Enabled(), false)
	tr.expect("selftest:open arg1=1")
	wantError(t, "Load after Close", p.Load(), emit.ErrClosed)
}

func emitRemoved(t *T) {
	p := newProvider(t, nil)
	gone, err := emit.NewProbe1[int](p, "gone", nil)
	t.Must(err)
	stays := define[*emit.Probe1[int]](t, p)(emit.NewProbe1[int](p, "stays", nil))
	tr := traceSelf(t, "selftest:*")
	gone.Fire(1)
	gone.Remove()
	gone.Fire(2)
	stays.Fire(3)
	tr.expect("selftest:gone arg1=1", "selftest:stays arg1=3")
}

func emitLater(t *T) {
	p := newProvider(t, nil)
	tr := traceQuery(t, trace.Query{PID: os.Getpid(), Later: true, Clauses: []trace.Clause{{Pattern: "selftest:later"}}})
	h := define[*emit.Probe1[string]](t, p)(emit.NewProbe1[string](p, "later", nil))
	// It is taken in by whoever reads the events; here, in time.
	t.WaitFor("the new probe is traced", h.Enabled)
	h.Fire("here")
	tr.expect(`selftest:later arg1="here"`)
}

func emitForms(t *T) {
	for _, form := range []elfgen.NopForm{elfgen.FormNop1, elfgen.FormNop5, elfgen.FormNop10} {
		p := newProvider(t, &emit.Options{NopForm: form})
		h, err := emit.NewProbe2[int, string](p, "site", nil)
		t.Must(err)
		if err := p.Load(); errors.Is(err, elfgen.ErrUnsupported) && form != elfgen.FormNop1 {
			continue // arm64 has one form
		} else if err != nil {
			t.Fatalf("%v: %v", form, err)
		}
		equal(t, "form of the object", p.Backing().NopForm, form)
		tr := traceSelf(t, "selftest:site")
		for i := range 3 { // the second hit may go another way than the first
			h.Fire(i, form.String())
		}
		name := fmt.Sprintf("selftest:site arg1=%%d arg2=%q", form.String())
		tr.expect(fmt.Sprintf(name, 0), fmt.Sprintf(name, 1), fmt.Sprintf(name, 2))
		t.Must(p.Close())
	}
}

func emitFile(t *T) {
	dir := t.TempDir()
	p := newProvider(t, &emit.Options{Backing: emit.BackingFile, Dir: dir})
	h := define[*emit.Probe1[int]](t, p)(emit.NewProbe1[int](p, "filed", nil))
	info := p.Backing()
	equal(t, "directory of the object", filepath.Dir(info.Path), dir)
	tr := traceQuery(t, trace.Query{Clauses: []trace.Clause{{Path: info.Path, Pattern: "selftest:filed"}}})
	h.Fire(42)
	tr.expect("selftest:filed arg1=42")
	t.Must(p.Close())
	left, err := os.ReadDir(dir)
	t.Must(err)
	equal(t, "files after Close", len(left), 0)
}

func emitTwins(t *T) {
	a, b := newProvider(t, nil), newProvider(t, nil)
	first := define[*emit.Probe1[int]](t, a)(emit.NewProbe1[int](a, "twin", nil))
	second := define[*emit.Probe1[string]](t, b)(emit.NewProbe1[string](b, "twin", nil))
	tr := traceSelf(t, "selftest:twin")
	first.Fire(1)
	second.Fire("two")
	tr.expect("selftest:twin arg1=1", `selftest:twin arg1="two"`)
}

func emitThreads(t *T) {
	const threads, hits = 4, 5000
	p := newProvider(t, nil)
	h := define[*emit.Probe1[int]](t, p)(emit.NewProbe1[int](p, "busy", nil))
	tr := traceQuery(t, trace.Query{PID: os.Getpid(), Clauses: []trace.Clause{{
		Pattern: "selftest:busy", Aggregate: trace.Count, Capture: []trace.Capture{{Expr: "arg1"}},
	}}})
	var wg sync.WaitGroup
	for i := range threads {
		wg.Go(func() {
			for range hits {
				h.Fire(i)
			}
		})
	}
	wg.Wait()
	rows, err := tr.Rows()
	t.Must(err)
	equal(t, "keys", len(rows), threads)
	for _, r := range rows {
		equal(t, "hits of "+r.Key[0].String(), r.Count, uint64(hits))
	}
	equal(t, "lost", tr.Lost(), uint64(0))
}

func emitMemfd(t *T) {
	p := newProvider(t, nil)
	define[*emit.Probe0](t, p)(emit.NewProbe0(p, "passing", nil))
	if b := p.Backing(); b.Backing != emit.BackingMemfd {
		t.Skipf("needs executable memfds: %v", b.Reason)
	}
	count := func() int {
		res, err := usdt.ProcessTargets(os.Getpid(), "selftest:passing")
		if err != nil && !errors.Is(err, usdt.ErrNoProbe) {
			t.Fatalf("%v", err)
		}
		return len(res.Targets)
	}
	equal(t, "probes after Load", count(), 1)
	t.Must(p.Close())
	equal(t, "probes after Close", count(), 0)
}

func emitInert(t *T) {
	var zero emit.Probe2[int, string]
	zero.Fire(1, "nobody")
	equal(t, "zero value is enabled", zero.Enabled(), false)
	p := newProvider(t, nil)
	early, err := emit.NewProbe1[int](p, "early", nil)
	t.Must(err)
	early.Fire(1)
	equal(t, "enabled before Load", early.Enabled(), false)
	bad, err := emit.NewProbe1[int](p, "a name:with colon", nil)
	wantErrorAs[*elfgen.SpecError](t, "a name with a colon", err)
	bad.Fire(1)
	equal(t, "enabled after an error", bad.Enabled(), false)
}
