package usdt_test

import (
	"math"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// A Go program defines probes at run time, in a memfd; another process finds
// them, knows their names and types, and reads exact values.
func TestTraceGoProgram(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("skipped: nothing fires on " + runtime.GOARCH)
	}
	prog := testutils.GoBuild(t, "./testdata/goprog")
	for _, m := range []usdt.Method{usdt.UprobeMulti, usdt.PerfEvent} {
		for _, mode := range []string{"bare", "semaphore"} {
			t.Run(m.String()+"/"+mode, func(t *testing.T) {
				needMethod(t, m)
				fds := testutils.CountFDs(t)
				t.Cleanup(func() { // after those of the test itself
					if got := testutils.CountFDs(t); got != fds {
						t.Errorf("%d descriptors afterwards, %d before", got, fds)
					}
				})
				traceGoProgram(t, m, prog, mode)
			})
		}
	}
}

func traceGoProgram(t *testing.T, m usdt.Method, prog, mode string) {
	c := testutils.Start(t, prog, mode)
	c.ReadLine()
	ask := func(line, want string) {
		t.Helper()
		c.WriteLine(line)
		if got := c.ReadLine(); got != want {
			t.Errorf("%s: child says %q, want %q", line, got, want)
		}
	}
	res, err := usdt.ProcessTargets(c.PID, "goapp:*")
	if err != nil {
		t.Fatal(err, res.Problems)
	}
	target := find(t, res, "goapp:values")
	if !strings.HasPrefix(target.Path, "/memfd:") {
		t.Errorf("path %q, want a memfd", target.Path)
	}
	if got := target.Locations[0].RefCtrOffset != 0; got != (mode == "semaphore") {
		t.Errorf("semaphore %t in mode %s", got, mode)
	}
	var params []string
	for _, p := range target.Params {
		params = append(params, p.Name+":"+p.Type.Kind.String())
	}
	wantParams := []string{"n:int", "text:string", "small:uint", "ok:bool", "ratio:float", "err:error", "item:pointer"}
	if diff := cmp.Diff(wantParams, params); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
	if st := target.Params[6].Type.Elem; st == nil || st.Kind != usdt.Struct || len(st.Fields) == 0 || st.Fields[0].Name != "ID" {
		t.Errorf("item leads to %+v, want its struct", st)
	}

	r := newRig(t, target, m, 1)
	ask("fire 1", "fired false")
	l := r.attach(target, &usdt.Options{Cookie: 99, Method: m})
	for _, n := range []int64{300, -5, math.MinInt64} {
		c.WriteLine("fire " + strconv.FormatInt(n, 10))
		if got := c.ReadLine(); got != "fired true" {
			t.Errorf("child says %q, want to be enabled", got)
		}
		h := r.hits(1)[0]
		want := []uint64{uint64(n), h.values[1], uint64(uint8(n)), b2u(n > 0), math.Float64bits(float64(n) / 2), h.values[5], h.values[6]}
		if diff := cmp.Diff(want, h.values); diff != "" {
			t.Errorf("%d (-want +got):\n%s", n, diff)
		}
		if h.text != "text "+strconv.FormatInt(n, 10) || h.cookie != 99 {
			t.Errorf("string %q, cookie %d", h.text, h.cookie)
		}
	}
	// A generation loaded while another is traced is found by a new search.
	ask("more", "loaded")
	res, err = usdt.ProcessTargets(c.PID, "goapp:extra")
	if err != nil {
		t.Fatal(err, res.Problems)
	}
	extra := find(t, res, "goapp:extra")
	if extra.Params[0].Type.Go != "time.Duration" {
		t.Errorf("type of extra %+v, want time.Duration", extra.Params[0].Type)
	}
	re := newRig(t, extra, m, -1)
	re.attach(extra, &usdt.Options{Method: m})
	ask("extra", "fired true")
	if h := re.hits(1)[0]; h.values[0] != 1e9 {
		t.Errorf("duration %d, want a second", h.values[0])
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	ask("fire 2", "fired false")
	r.hits(0)
}

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
