//go:build amd64 || arm64

package emit

import (
	"io"
	"testing"
	"unsafe"

	"github.com/nopfire/nopfire/internal/call"
)

// assertAllocs checks what a call allocates, on average.
func assertAllocs(t *testing.T, name string, want float64, f func()) {
	t.Helper()
	if raceEnabled {
		return // the detector allocates, and drops from sync.Pool at random
	}
	if n := testing.AllocsPerRun(1000, f); n != want {
		t.Errorf("%s: %v allocations, want %v", name, n, want)
	}
}

// handles is a set of probes for the tests of cost.
type handles struct {
	ints    *Probe2[int64, int8]
	text    *Probe2[int64, string]
	bytes   *Probe1[[]byte]
	err     *Probe1[error]
	pointer *Probe2[*point3, string]
	dynamic *Probe
}

type point3 struct{ X, Y, Z int }

func loadHandles(t testing.TB) *handles {
	t.Helper()
	p := newProvider(t, "allocs", nil)
	h := &handles{
		ints:    Must(NewProbe2[int64, int8](p, "ints", nil)),
		text:    Must(NewProbe2[int64, string](p, "text", nil)),
		bytes:   Must(NewProbe1[[]byte](p, "bytes", nil)),
		err:     Must(NewProbe1[error](p, "err", nil)),
		pointer: Must(NewProbe2[*point3, string](p, "pointer", nil)),
		dynamic: Must(NewProbe(p, "dynamic", []Arg{{Type: Int64}, {Type: String}, {Type: Pointer}, {Type: Bytes}}, nil)),
	}
	load(t, p)
	return h
}

func (h *handles) probes() []*probe {
	return []*probe{&h.ints.probe, &h.text.probe, &h.bytes.probe, &h.err.probe, &h.pointer.probe, &h.dynamic.probe}
}

// fireAll fires every handle with arguments that would live on the heap if Fire
// let them.
func (h *handles) fireAll(t *testing.T) {
	t.Helper()
	n := int64(1000)
	assertAllocs(t, "ints", 0, func() { n++; h.ints.Fire(n, int8(n)) })
	assertAllocs(t, "text", 0, func() { n++; h.text.Fire(n, "text") })
	assertAllocs(t, "lazy text", 0, func() { h.text.FireFunc(func() (int64, string) { n++; return n, "text" }) })
	assertAllocs(t, "string of local bytes", 0, func() {
		local := [16]byte{'x', byte(n)}
		h.text.Fire(n, string(local[:]))
	})
	assertAllocs(t, "local bytes", 0, func() {
		var local [128]byte
		local[0] = byte(n)
		h.bytes.Fire(local[:])
	})
	assertAllocs(t, "error", 0, func() { h.err.Fire(io.EOF) })
	assertAllocs(t, "pointer to a local", 0, func() {
		local := point3{X: int(n)}
		h.pointer.Fire(&local, "p")
	})
	assertAllocs(t, "dynamic", 0, func() {
		n++
		local := point3{X: int(n)}
		if err := h.dynamic.Fire(n, "text", &local, []byte("bytes")); err != nil {
			t.Error(err)
		}
	})
}

func TestFireAllocatesNothing(t *testing.T) {
	h := loadHandles(t)
	t.Run("not traced", h.fireAll)
	t.Run("traced", func(t *testing.T) {
		// As if a tracer had patched the sites: the slow path runs, and
		// enters sites that do nothing.
		for _, c := range h.probes() {
			pretendTraced(c)
		}
		if !h.ints.Enabled() || !h.dynamic.Enabled() {
			t.Fatal("not enabled")
		}
		h.fireAll(t)
	})
}

// pretendTraced gives a probe a site that looks traced and is harmless.
func pretendTraced(c *probe) {
	s := *c.site.Load()
	s.sem = new(uint16)
	*s.sem = 1
	s.want = ^s.pristine
	c.site.Store(&s)
}

// Errors that the compiler keeps on the stack.

// escaping hands its receiver to package fmt, which keeps it for a while in
// memory that the garbage collector sees and the stack copier does not.
type escaping struct {
	op   string
	code int
}

var kept []*escaping

func (e *escaping) Error() string {
	kept = append(kept, e)
	grow(64)
	return e.op
}

// grow makes the stack move.
func grow(n int) byte {
	var b [1024]byte
	if n > 0 {
		b[n] = grow(n - 1)
	}
	return b[n/2]
}

func TestErrorsOnTheStack(t *testing.T) {
	h := loadHandles(t)
	pretendTraced(&h.err.probe)

	done := make(chan struct{})
	go func() { // on a small stack, which must grow
		defer close(done)
		for i := range 100 {
			e := escaping{op: "local", code: i}
			if !stackAllocated(&e) {
				t.Error("the error escapes: this test tests nothing")
			}
			h.err.Fire(&e)
		}
	}()
	<-done
	grow(200)
	if len(kept) != 100 {
		t.Fatalf("Error ran %d times, want 100", len(kept))
	}
	for i, e := range kept {
		if e.op != "local" || e.code != i {
			t.Fatalf("kept error %d is %+v: it was on a stack", i, *e)
		}
	}
}

func stackAllocated(e *escaping) bool {
	lo, hi := call.StackBounds()
	at := uintptr(unsafe.Pointer(e))
	return at >= lo && at < hi
}

// The byte that is read behind a pointer is for the page, not for its value: a
// program that changes the struct meanwhile, under a lock that we know nothing
// of, has no race. Under -race, without the mark on touch, this fails.
func TestTouchIsNoRace(t *testing.T) {
	h := loadHandles(t)
	pretendTraced(&h.pointer.probe)
	p := new(point3)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 1000 {
			p.X = i
		}
	}()
	for range 1000 {
		h.pointer.Fire(p, "moving")
	}
	<-done
}
