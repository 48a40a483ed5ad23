package selftest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// A T is a running check: what testing.T is to a test. Fatalf and Skipf, and what
// calls them, belong to the goroutine of the check.
type T struct {
	ctx     context.Context
	command []string

	mu       sync.Mutex
	failed   bool
	skip     string
	lines    []string
	cleanups []func()
}

// Context is done when the time of the check is over.
func (t *T) Context() context.Context { return t.ctx }

// Errorf says what is wrong; the check goes on.
func (t *T) Errorf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = true
	t.lines = append(t.lines, strings.Split(strings.TrimRight(fmt.Sprintf(format, args...), "\n"), "\n")...)
}

// Fatalf says what is wrong and ends the check.
func (t *T) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	runtime.Goexit()
}

// Skipf ends the check, because this machine cannot do what it needs.
func (t *T) Skipf(format string, args ...any) {
	t.mu.Lock()
	t.skip = fmt.Sprintf(format, args...)
	t.mu.Unlock()
	runtime.Goexit()
}

// Cleanup has f called when the check has ended, the last one first.
func (t *T) Cleanup(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanups = append(t.cleanups, f)
}

// Must ends the check if err is not nil.
func (t *T) Must(err error) {
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// TempDir returns a directory that goes with the check. Nobody else can write it.
func (t *T) TempDir() string {
	dir, err := os.MkdirTemp("", "nopfire-selftest-")
	t.Must(err)
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("%v", err)
		}
	})
	return dir
}

// WaitFor waits until a condition holds.
func (t *T) WaitFor(what string, holds func() bool) {
	for !holds() {
		select {
		case <-t.ctx.Done():
			t.Fatalf("waited in vain: %s", what)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// Untraced waits until nobody traces a probe. Somebody else may, for a moment: a tracer
// of a pattern, or of a name of URDT, attaches to what all processes have mapped.
func (t *T) Untraced(what string, enabled func() bool) {
	t.WaitFor(what+" is not enabled", func() bool { return !enabled() })
}

// runAndCleanUp runs a check. A panic, of the check or of a cleanup, is a failure
// of the check.
func (t *T) runAndCleanUp(run func(*T)) {
	t.guard(run)
	for {
		t.mu.Lock()
		n := len(t.cleanups)
		if n == 0 {
			t.mu.Unlock()
			return
		}
		f := t.cleanups[n-1]
		t.cleanups = t.cleanups[:n-1]
		t.mu.Unlock()
		t.guard(func(*T) { f() })
	}
}

// guard calls f in a goroutine, which Fatalf ends.
func (t *T) guard(f func(*T)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if r := recover(); r != nil {
				t.Errorf("panic: %v\n%s", r, debug.Stack())
			}
		}()
		f(t)
	}()
	<-done
}

// equal compares a value with what it should be.
func equal(t *T, what string, got, want any) {
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %s, want %s", what, show(got), show(want))
	}
}

// show writes a value so that texts can be told from numbers.
func show(v any) string {
	switch v := v.(type) {
	case string, []string, error:
		return fmt.Sprintf("%q", v)
	}
	return fmt.Sprintf("%v", v)
}

// equalLines compares lines of text, and shows both where they differ.
func equalLines(t *T, what string, got, want []string) {
	if len(got) == 0 && len(want) == 0 || reflect.DeepEqual(got, want) {
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: got %d lines, want %d\n", what, len(got), len(want))
	for i := range max(len(got), len(want)) {
		switch {
		case i < len(got) && i < len(want) && got[i] == want[i]:
			fmt.Fprintf(&b, "    %s\n", got[i])
			continue
		}
		if i < len(got) {
			fmt.Fprintf(&b, "  got  %s\n", got[i])
		}
		if i < len(want) {
			fmt.Fprintf(&b, "  want %s\n", want[i])
		}
	}
	t.Errorf("%s", b.String())
}

// wantError checks that an error says which one it is.
func wantError(t *T, what string, err, want error) {
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want one that wraps %q", what, err, want)
	}
}

// wantErrorAs checks the type of an error.
func wantErrorAs[E error](t *T, what string, err error) {
	var e E
	if !errors.As(err, &e) {
		t.Errorf("%s: got error %v, want a %T", what, err, e)
	}
}
