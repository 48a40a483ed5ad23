//go:build amd64 || arm64

package urdt

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/nopfire/nopfire/urdt/abi"
)

// check compares what the site of p:NAME has seen with what it should have.
func (r *rig) check(t *testing.T, name string, want ...uint64) {
	t.Helper()
	hashes, args, calls := r.fired(len(want), "p", name)
	if calls != 1 || hashes != abi.Hashes("p", name) || !slices.Equal(args, want) {
		t.Errorf("%s: %d fires, hashes %#x, arguments %x; want %#x, %x", name, calls, hashes, args, abi.Hashes("p", name), want)
	}
}

// Every number of arguments, by string and by handle.
func TestArities(t *testing.T) {
	r := newRig(t)
	name := func(n int) string { return fmt.Sprint("arity", n) }
	for n := range abi.MaxArgs + 1 {
		r.arm(n, "p", name(n))
	}
	a := [...]uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	type i = int
	both := func(n int, byName, byHandle func()) {
		t.Helper()
		byName()
		r.check(t, name(n), a[:n]...)
		byHandle()
		r.check(t, name(n), a[:n]...)
	}
	both(0, func() { Probe0("p", name(0)) }, Must(New0("p", name(0))).Fire)
	both(1, func() { Probe1("p", name(1), 1) }, func() { Must(New1[i]("p", name(1))).Fire(1) })
	both(2, func() { Probe2("p", name(2), 1, 2) }, func() { Must(New2[i, i]("p", name(2))).Fire(1, 2) })
	both(3, func() { Probe3("p", name(3), 1, 2, 3) }, func() { Must(New3[i, i, i]("p", name(3))).Fire(1, 2, 3) })
	both(4, func() { Probe4("p", name(4), 1, 2, 3, 4) }, func() { Must(New4[i, i, i, i]("p", name(4))).Fire(1, 2, 3, 4) })
	both(5, func() { Probe5("p", name(5), 1, 2, 3, 4, 5) }, func() { Must(New5[i, i, i, i, i]("p", name(5))).Fire(1, 2, 3, 4, 5) })
	both(6, func() { Probe6("p", name(6), 1, 2, 3, 4, 5, 6) }, func() { Must(New6[i, i, i, i, i, i]("p", name(6))).Fire(1, 2, 3, 4, 5, 6) })
	both(7, func() { Probe7("p", name(7), 1, 2, 3, 4, 5, 6, 7) }, func() { Must(New7[i, i, i, i, i, i, i]("p", name(7))).Fire(1, 2, 3, 4, 5, 6, 7) })
	both(8, func() { Probe8("p", name(8), 1, 2, 3, 4, 5, 6, 7, 8) }, func() { Must(New8[i, i, i, i, i, i, i, i]("p", name(8))).Fire(1, 2, 3, 4, 5, 6, 7, 8) })
	both(9, func() { Probe9("p", name(9), 1, 2, 3, 4, 5, 6, 7, 8, 9) }, func() { Must(New9[i, i, i, i, i, i, i, i, i]("p", name(9))).Fire(1, 2, 3, 4, 5, 6, 7, 8, 9) })
	both(10, func() { Probe10("p", name(10), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10) }, func() {
		Must(New10[i, i, i, i, i, i, i, i, i, i]("p", name(10))).Fire(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	})
	both(11, func() { Probe11("p", name(11), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11) }, func() {
		Must(New11[i, i, i, i, i, i, i, i, i, i, i]("p", name(11))).Fire(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
	})
	for n := range abi.MaxArgs + 1 {
		h := Must(New("p", name(n), n))
		values := []any{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
		if err := h.Fire(values[:n]...); err != nil {
			t.Error(err)
		}
		r.check(t, name(n), a[:n]...)
	}
}

type (
	point  struct{ X, Y int }
	level  int8
	banner string
)

// testType fires a value of a type by string, by typed handle and by dynamic
// one, and compares the word.
func testType[T any](t *testing.T, r *rig, v T, want uint64) {
	t.Helper()
	r.arm(1, "p", "typed")
	Probe1("p", "typed", v)
	r.check(t, "typed", want)
	Must(New1[T]("p", "typed")).Fire(v)
	r.check(t, "typed", want)
	if err := Must(New("p", "typed", 1)).Fire(v); err != nil {
		t.Error(err)
	}
	r.check(t, "typed", want)
}

// A value is a signed 64-bit number to a tracer that knows nothing else.
func TestScalars(t *testing.T) {
	r := newRig(t)
	testType(t, r, int8(-1), math.MaxUint64)
	testType(t, r, int16(math.MinInt16), uint64(0xffffffffffff8000))
	testType(t, r, int32(-2), math.MaxUint64-1)
	testType(t, r, int64(math.MinInt64), 1<<63)
	testType(t, r, -3, math.MaxUint64-2)
	testType(t, r, uint8(255), 255)
	testType(t, r, uint16(65535), 65535)
	testType(t, r, uint32(math.MaxUint32), math.MaxUint32)
	testType(t, r, uint64(math.MaxUint64), math.MaxUint64)
	testType(t, r, uint(7), 7)
	testType(t, r, uintptr(8), 8)
	testType(t, r, true, 1)
	testType(t, r, false, 0)
	testType(t, r, float32(1.5), uint64(math.Float32bits(1.5)))
	testType(t, r, -0.25, math.Float64bits(-0.25))
	testType(t, r, time.Second, uint64(time.Second))
	testType(t, r, level(-5), math.MaxUint64-4)
	p := &point{1, 2}
	testType(t, r, p, uint64(uintptr(unsafe.Pointer(p))))
	testType(t, r, unsafe.Pointer(p), uint64(uintptr(unsafe.Pointer(p))))
	testType[*point](t, r, nil, 0)
	testType[unsafe.Pointer](t, r, nil, 0)
	none := new(struct{})
	testType(t, r, none, uint64(uintptr(unsafe.Pointer(none))))
}

// Texts are NUL-terminated copies. The recorder keeps their address only, and
// they live as long as the fire: a text that is long enough to be copied to the
// heap is still there behind it.
func TestTexts(t *testing.T) {
	r := newRig(t)
	long := string(slices.Repeat([]byte("x"), MaxString+10))
	e := errors.New(long)
	r.arm(1, "p", "text")
	read := func(want string) {
		t.Helper()
		hashes, args, calls := r.fired(1, "p", "text")
		if calls != 1 || hashes != abi.Hashes("p", "text") {
			t.Fatalf("%d fires, hashes %#x", calls, hashes)
		}
		if got := text(args[0]); got != want {
			t.Errorf("%d bytes, want %d", len(got), len(want))
		}
	}
	cut := long[:MaxString-1]
	Probe1("p", "text", long)
	read(cut)
	Probe1("p", "text", banner(long[:1000]))
	read(long[:1000])
	Probe1("p", "text", e)
	read(cut)
	Must(New1[string]("p", "text")).Fire(long)
	read(cut)
	Must(New1[error]("p", "text")).Fire(e)
	read(cut)
	h := Must(New("p", "text", 1))
	for _, v := range []any{long, e, banner(long)} {
		if err := h.Fire(v); err != nil {
			t.Error(err)
		}
		read(cut)
	}
	Probe1[error]("p", "text", nil)
	r.check(t, "text", 0)
	if err := h.Fire(nil); err != nil {
		t.Error(err)
	}
	r.check(t, "text", 0)
}

// What cannot travel is refused where there is an error to return, and is 0
// where there is none.
func TestTypesThatCannotTravel(t *testing.T) {
	r := newRig(t)
	r.arm(1, "p", "odd")
	for _, err := range []error{
		second(New1[[]byte]("p", "odd")), second(New1[point]("p", "odd")), second(New1[any]("p", "odd")),
		second(New1[map[string]int]("p", "odd")), second(New1[complex128]("p", "odd")),
	} {
		var ne *NameError
		if !errors.As(err, &ne) || ne.Provider != "p" || ne.Name != "odd" {
			t.Errorf("error %v", err)
		}
	}
	Probe1("p", "odd", []byte("bytes"))
	r.check(t, "odd", 0)
	Probe1("p", "odd", point{3, 4})
	r.check(t, "odd", 0)
	Probe1[any]("p", "odd", 5)
	r.check(t, "odd", 0)

	h := Must(New("p", "odd", 1))
	for _, values := range [][]any{{[]byte("x")}, {point{}}, {map[int]int{}}, {}, {1, 2}} {
		var ae *ArgError
		if err := h.Fire(values...); !errors.As(err, &ae) || ae.Probe != "p:odd" {
			t.Errorf("Fire(%v): %v", values, err)
		}
	}
	if _, _, calls := r.fired(1, "p", "odd"); calls != 0 {
		t.Errorf("%d fires with errors", calls)
	}
}

func second[T any](_ T, err error) error { return err }

// A name of another shard does not fire while one is traced; one of the same
// shard does, and is told apart by its hashes; other arities do not.
func TestShardsAreApart(t *testing.T) {
	r := newRig(t)
	r.arm(2, "p", "traced")
	site := r.site(2, "p", "traced")
	neighbour, stranger := "", ""
	for i := 0; neighbour == "" || stranger == ""; i++ {
		if n := fmt.Sprint("name", i); r.site(2, "p", n) == site {
			neighbour = n
		} else {
			stranger = n
		}
	}
	for _, tt := range []struct {
		name  string
		nargs int
		calls uint64
	}{
		{"traced", 2, 1}, {neighbour, 2, 1}, {stranger, 2, 0}, {"traced", 1, 0}, {"traced", 3, 0},
	} {
		h := Must(New("p", tt.name, tt.nargs))
		if got := h.Enabled(); got != (tt.calls == 1) {
			t.Errorf("%s with %d arguments: enabled %v", tt.name, tt.nargs, got)
		}
		if got := Enabled("p", tt.name, tt.nargs); got != (tt.calls == 1) {
			t.Errorf("%s with %d arguments: Enabled %v", tt.name, tt.nargs, got)
		}
		switch tt.nargs {
		case 1:
			Probe1("p", tt.name, 1)
		case 2:
			Probe2("p", tt.name, 1, 2)
		case 3:
			Probe3("p", tt.name, 1, 2, 3)
		}
		for i := range r.obj.Sites {
			at := r.obj.Sites[i].Location - r.obj.Text.Off
			got := r.rec.Record(at)
			want := uint64(0)
			if at == site {
				want = tt.calls
			}
			if got.Calls != want {
				t.Errorf("%s with %d arguments: %d fires at site %d", tt.name, tt.nargs, got.Calls, i)
			}
			if want == 1 && got.Registers[hashPlace] != abi.Hashes("p", tt.name) {
				t.Errorf("%s: hashes %#x", tt.name, got.Registers[hashPlace])
			}
		}
	}
	for _, n := range []int{-1, 12} {
		if Enabled("p", "traced", n) {
			t.Errorf("enabled with %d arguments", n)
		}
	}
	r.rec.Disarm(site)
	if Enabled("p", "traced", 2) || Must(New("p", "traced", 2)).Enabled() {
		t.Error("enabled after the tracer left")
	}
}

func TestFireFunc(t *testing.T) {
	r := newRig(t)
	h := Must(New2[int, string]("p", "lazy"))
	ran := 0
	f := func() (int, string) { ran++; return 4, "x" }
	h.FireFunc(f)
	if ran != 0 {
		t.Error("arguments were computed for nobody")
	}
	r.arm(2, "p", "lazy")
	h.FireFunc(f)
	if _, args, calls := r.fired(2, "p", "lazy"); ran != 1 || calls != 1 || args[0] != 4 {
		t.Errorf("ran %d times, %d fires, %d", ran, calls, args)
	}
}

func TestZeroHandles(t *testing.T) {
	var h2 Handle2[int, string]
	h2.Fire(1, "x")
	h2.FireFunc(func() (int, string) { t.Error("called"); return 0, "" })
	var h Handle
	if err := h.Fire(1, 2, 3); err != nil || h.Enabled() || h2.Enabled() {
		t.Errorf("%v, %v, %v", err, h.Enabled(), h2.Enabled())
	}
}

// Nothing is allocated, whether or not somebody traces.
func TestFireAllocatesNothing(t *testing.T) {
	r := newRig(t)
	ints := Must(New2[int64, int8]("p", "cost"))
	texts := Must(New2[int64, string]("p", "cost"))
	points := Must(New2[*point, string]("p", "cost"))
	fails := Must(New1[error]("p", "fail"))
	dynamic := Must(New("p", "cost", 2))
	fireAll := func(t *testing.T) {
		n := int64(1000)
		for name, f := range map[string]func(){
			"handle, ints":     func() { n++; ints.Fire(n, int8(n)) },
			"handle, text":     func() { n++; texts.Fire(n, "some text") },
			"handle, error":    func() { fails.Fire(io.EOF) },
			"handle, pointer":  func() { local := point{X: int(n)}; points.Fire(&local, "p") },
			"handle, any":      func() { n++; local := point{X: int(n)}; _ = dynamic.Fire(&local, "text") },
			"strings, ints":    func() { n++; Probe2("p", "cost", n, int8(n)) },
			"strings, text":    func() { n++; Probe2("p", "cost", n, "some text") },
			"strings, pointer": func() { local := point{X: int(n)}; Probe2("p", "cost", &local, 1.5) },
			"strings, another": func() { Probe2("p", "another", n, "some text") },
			"Enabled":          func() { Enabled("p", "cost", 2) },
		} {
			if raceEnabled {
				f() // the detector allocates
				continue
			}
			if got := testing.AllocsPerRun(500, f); got != 0 {
				t.Errorf("%s: %v allocations", name, got)
			}
		}
	}
	t.Run("not traced", fireAll)
	r.arm(2, "p", "cost")
	r.arm(1, "p", "fail")
	t.Run("traced", fireAll)
	if _, _, calls := r.fired(2, "p", "cost"); calls < 7*500 && !raceEnabled {
		t.Errorf("%d fires", calls)
	}
}
