package urdt

import (
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"
)

func getCurrent() *object  { return (*object)(atomic.LoadPointer(&current)) }
func setCurrent(o *object) { atomic.StorePointer(&current, unsafe.Pointer(o)) }

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		provider, name string
		nargs          int
		why            string
	}{
		{"", "x", 0, `"" is not printable ASCII`},
		{"p", "", 0, `"" is not printable ASCII`},
		{"p:q", "x", 0, `"p:q" is not printable`},
		{"p", "x y", 0, `"x y" is not printable`},
		{"p", "é", 0, "is not printable"},
		{"p", strings.Repeat("x", 201), 0, "of 1 to 200 bytes"},
		{"p", "x", -1, "-1 arguments are not within 0..11"},
		{"p", "x", 12, "12 arguments are not within 0..11"},
	} {
		h, err := New(tt.provider, tt.name, tt.nargs)
		var ne *NameError
		if !errors.As(err, &ne) || !strings.Contains(err.Error(), tt.why) {
			t.Errorf("New(%q, %q, %d): %v, want %q", tt.provider, tt.name, tt.nargs, err, tt.why)
		}
		if h == nil || h.Enabled() || h.Fire(1, 2, 3) != nil {
			t.Errorf("New(%q, %q, %d): the handle is not inert", tt.provider, tt.name, tt.nargs)
		}
	}
}

// Two names of one hash are told apart by the first that has a handle.
func TestCollision(t *testing.T) {
	if _, err := New2[int, int]("collide", "Aa"); err != nil {
		t.Fatal(err)
	}
	_, err := New2[string, int]("collide", "BB")
	var ce *CollisionError
	if !errors.As(err, &ce) || ce.Name != "collide:BB" || ce.Other != "collide:Aa" || ce.NArgs != 2 {
		t.Errorf("the same hash and arity: %v", err)
	}
	if _, err := New("collide", "BB", 3); err != nil {
		t.Errorf("another arity: %v", err)
	}
	if _, err := New("collid", "eAa", 2); !errors.As(err, &ce) || ce.Other != "collide:Aa" {
		t.Errorf("the same letters, parted elsewhere: %v", err)
	}
	if _, err := New2[int, string]("collide", "Aa"); err != nil {
		t.Errorf("the same name again: %v", err)
	}
}

func TestMust(t *testing.T) {
	defer func() {
		if r, _ := recover().(string); !strings.HasPrefix(r, "urdt: name") {
			t.Errorf("panic %q", r)
		}
	}()
	Must(New("", "", 0))
}

// Where nothing can be fired everything is quiet, and nothing is an error.
func TestInert(t *testing.T) {
	if runtime.GOOS == "linux" && (runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64") {
		old := getCurrent()
		defer setCurrent(old)
		setCurrent(inert(ErrNotSupported))
	}
	h, err := New2[int, string]("p", "inert")
	if err != nil || h.Enabled() {
		t.Errorf("%v, enabled %v", err, h.Enabled())
	}
	h.Fire(1, "x")
	d, err := New("p", "inert", 1)
	if err != nil {
		t.Error(err)
	}
	if err := d.Fire(1); err != nil {
		t.Error(err)
	}
	if err := d.Fire(1, 2); err == nil {
		t.Error("a wrong number of values is no error")
	}
	Probe0("p", "inert")
	Probe3("p", "inert", 1, "x", nil == err)
	if s := Scope(); s.Reach != None || s.Path != "" || !errors.Is(s.Reason, ErrNotSupported) {
		t.Errorf("%+v", s)
	}
	if Enabled("p", "inert", 1) {
		t.Error("enabled")
	}
}

func TestReachStrings(t *testing.T) {
	for r, want := range map[Reach]string{None: "none", Process: "process", User: "user", System: "system", 99: "none"} {
		if got := r.String(); got != want {
			t.Errorf("Reach(%d) = %q, want %q", r, got, want)
		}
	}
}
