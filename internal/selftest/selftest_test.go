package selftest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// runOne runs a check that is made of a function.
func runOne(t *testing.T, timeout time.Duration, f func(*T)) Result {
	t.Helper()
	results := slices.Collect(Run(t.Context(), []Check{{Group: "test", Name: "check", run: f}}, Options{Timeout: timeout}))
	if len(results) != 1 {
		t.Fatalf("%d results", len(results))
	}
	return results[0]
}

// What a check comes to, by what it does.
func TestRunCheck(t *testing.T) {
	for _, row := range []struct {
		name    string
		run     func(*T)
		status  Status
		reason  string
		details string // what they contain
	}{
		{"nothing", func(*T) {}, Pass, "", ""},
		{"an error, after which it goes on", func(t *T) { t.Errorf("one\n  two"); t.Errorf("three") }, Fail, "one", "  two\nthree"},
		{"the end", func(t *T) { t.Fatalf("bad %d", 1); t.Errorf("never") }, Fail, "bad 1", ""},
		{"Must", func(t *T) { t.Must(nil); t.Must(errors.New("cause")) }, Fail, "cause", ""},
		{"a skip", func(t *T) { t.Skipf("needs %s", "more") }, Skip, "needs more", ""},
		{"an error before a skip", func(t *T) { t.Errorf("wrong"); t.Skipf("needs more") }, Fail, "wrong", ""},
		{"a panic", func(*T) { panic(errors.New("broken")) }, Fail, "panic: broken", "selftest_test.go:"},
		{"a panic of a cleanup", func(t *T) { t.Cleanup(func() { panic("late") }) }, Fail, "panic: late", ""},
		{"an error of a cleanup", func(t *T) { t.Cleanup(func() { t.Fatalf("left behind") }) }, Fail, "left behind", ""},
		{"equal values", func(t *T) { equal(t, "x", 1, 1) }, Pass, "", ""},
		{"values that differ", func(t *T) { equal(t, "x", "1", "2") }, Fail, `x: got "1", want "2"`, ""},
		{"types that differ", func(t *T) { equal(t, "x", int64(1), 1) }, Fail, "x: got 1, want 1", ""},
		{"equal lines", func(t *T) { equalLines(t, "x", nil, []string{}) }, Pass, "", ""},
		{"lines that differ", func(t *T) { equalLines(t, "x", []string{"a", "b"}, []string{"a", "c", "d"}) }, Fail, "x: got 2 lines, want 3", "    a\n  got  b\n  want c\n  want d"},
		{"a wanted error", func(t *T) { wantError(t, "x", fmt.Errorf("y: %w", errTimeout), errTimeout) }, Pass, "", ""},
		{"no error where one is wanted", func(t *T) { wantError(t, "x", nil, errTimeout) }, Fail, `x: got error <nil>, want one that wraps "the time of the check is over"`, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := runOne(t, 0, row.run)
			if r.Status != row.status || r.Reason != row.reason || !strings.Contains(strings.Join(r.Details, "\n"), row.details) {
				t.Errorf("status %v, reason %q, details\n%s", r.Status, r.Reason, strings.Join(r.Details, "\n"))
			}
		})
	}
}

// Cleanups run in reverse, whatever happens, and a directory goes with its check.
func TestCleanups(t *testing.T) {
	var order []int
	var dir string
	r := runOne(t, 0, func(t *T) {
		dir = t.TempDir()
		for i := range 3 {
			t.Cleanup(func() {
				order = append(order, i)
				if i == 1 {
					panic("one")
				}
			})
		}
		t.Fatalf("over")
	})
	if !slices.Equal(order, []int{2, 1, 0}) {
		t.Errorf("order %v", order)
	}
	if r.Status != Fail || r.Reason != "over" || len(r.Details) == 0 || r.Details[0] != "panic: one" {
		t.Errorf("%+v", r)
	}
	if dir == "" || !errors.Is(statErr(dir), os.ErrNotExist) {
		t.Errorf("directory %q is left", dir)
	}
}

func statErr(path string) error {
	_, err := os.Stat(path)
	return err
}

// A check whose time is over is a failure that says what it waited for; the next one
// runs.
func TestTimeout(t *testing.T) {
	r := runOne(t, time.Millisecond, func(t *T) {
		t.WaitFor("the sky falls", func() bool { return false })
	})
	if r.Status != Fail || r.Reason != "not done within 1ms" || !slices.Equal(r.Details, []string{"waited in vain: the sky falls"}) {
		t.Errorf("%+v", r)
	}
}

// A check that hangs is left behind, with the place where it does; the next one runs.
func TestHanging(t *testing.T) {
	defer func(d time.Duration) { grace = d }(grace)
	grace = time.Millisecond
	hang := make(chan int)
	defer close(hang)
	checks := []Check{
		{Group: "test", Name: "hangs", run: func(*T) { <-hang }},
		{Group: "test", Name: "runs", run: func(*T) {}},
	}
	results := slices.Collect(Run(t.Context(), checks, Options{Timeout: time.Millisecond}))
	if len(results) != 2 || results[0].Status != Fail || results[0].Reason != "still running after 2ms" ||
		!strings.Contains(strings.Join(results[0].Details, "\n"), "selftest_test.go:") {
		t.Errorf("%+v", results)
	}
}

// An interrupt ends the run without a result for the check that it interrupts.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ran := 0
	check := func(f func(*T)) Check { return Check{Group: "test", Name: "check", run: f} }
	results := slices.Collect(Run(ctx, []Check{
		check(func(*T) { ran++ }),
		check(func(t *T) { ran++; cancel(); <-t.Context().Done() }),
		check(func(*T) { ran++ }),
	}, Options{}))
	if ran != 2 || len(results) != 1 {
		t.Errorf("%d checks ran, %d results", ran, len(results))
	}
}

func TestSelect(t *testing.T) {
	all := Checks()
	inGroup := func(groups ...string) (n int) {
		for _, c := range all {
			if slices.Contains(groups, c.Group) {
				n++
			}
		}
		return n
	}
	for _, row := range []struct {
		patterns []string
		want     int
	}{
		{nil, len(all)},
		{[]string{"urdt"}, inGroup("urdt")},
		{[]string{"u*"}, inGroup("urdt", "usdt")},
		{[]string{"urdt", "usdt/*"}, inGroup("urdt", "usdt")},
		{[]string{"urdt/shared"}, 1},
		{[]string{"urdt/shared", "urdt/shar?d"}, 1},
		{[]string{"elfgen/debug/elf*"}, 1}, // a slash of the name
	} {
		got, err := Select(row.patterns...)
		if err != nil || len(got) != row.want {
			t.Errorf("%q: %d checks, want %d, error %v", row.patterns, len(got), row.want, err)
		}
	}
	for _, bad := range []string{"", "nothing", "urdt/", "urdt/nothing", "[", "urdt/["} {
		if got, err := Select("emit", bad); err == nil {
			t.Errorf("%q: %d checks, want an error", bad, len(got))
		}
	}
}

// Names are what users give to select, and stand in a line of TAP.
func TestNames(t *testing.T) {
	seen := make(map[string]bool)
	attach := 0
	for _, c := range Checks() {
		if seen[c.ID()] {
			t.Errorf("%s is there twice", c.ID())
		}
		seen[c.ID()] = true
		if c.run == nil || c.Name == "" || strings.ContainsAny(c.Name, "#\n*?[\\") || strings.TrimSpace(c.Name) != c.Name {
			t.Errorf("%q is no name", c.ID())
		}
		if c.Needs&Attaches != 0 {
			attach++
		}
	}
	if attach < 40 {
		t.Errorf("%d checks attach", attach)
	}
}
