package main

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// A line after silence is written at once, those that rush in together, and those
// that nothing follows soon.
func TestLineWriter(t *testing.T) {
	written := make(chan string, 16)
	out := writerFunc(func(p []byte) (int, error) {
		written <- string(p)
		return len(p), nil
	})
	lw := newLineWriter(out, lineBuffer)
	io.WriteString(lw, "one\n")
	if got := <-written; got != "one\n" {
		t.Fatalf("written %q", got)
	}
	lw.flushed = time.Now().Add(time.Hour) // lines are rushing in
	io.WriteString(lw, "two\n")
	io.WriteString(lw, "three\n")
	if len(written) > 0 {
		t.Errorf("written early: %q", <-written)
	}
	if err := lw.Flush(); err != nil {
		t.Fatal(err)
	}
	if got := <-written; got != "two\nthree\n" {
		t.Errorf("written %q", got)
	}
	lw = newLineWriter(out, lineBuffer)
	lw.flushed = time.Now()
	io.WriteString(lw, "four\n")
	if got := <-written; got != "four\n" { // by itself
		t.Errorf("written %q", got)
	}
}

// Lines are not cut where the buffer ends.
func TestLineWriterWholeLines(t *testing.T) {
	written := 0
	lw := newLineWriter(writerFunc(func(p []byte) (int, error) {
		if len(p) > sharedBuffer && p[0] != 'y' {
			t.Errorf("a write of %d bytes", len(p))
		}
		if p[len(p)-1] != '\n' {
			t.Errorf("a write ends with %q", p[max(0, len(p)-10):])
		}
		written += len(p)
		return len(p), nil
	}), sharedBuffer)
	lw.flushed = time.Now().Add(time.Hour)
	all := 0
	for i := range 5000 {
		n, err := io.WriteString(lw, strings.Repeat("x", i%100)+"\n")
		if err != nil {
			t.Fatal(err)
		}
		all += n
	}
	long := strings.Repeat("y", 100<<10) + "\n"
	io.WriteString(lw, long)
	if err := lw.Flush(); err != nil || written != all+len(long) {
		t.Errorf("%d bytes of %d written, %v", written, all+len(long), err)
	}
}

// The error of a write is not lost, whoever has written.
func TestLineWriterError(t *testing.T) {
	broken := errors.New("reader is gone")
	var got strings.Builder
	fail := false
	lw := newLineWriter(writerFunc(func(p []byte) (int, error) {
		if fail {
			return 0, broken
		}
		return got.Write(p)
	}), lineBuffer)
	io.WriteString(lw, "one\n")
	fail = true
	lw.flushed = time.Now().Add(time.Hour)
	if _, err := io.WriteString(lw, "two\n"); err != nil {
		t.Errorf("what was only gathered: %v", err)
	}
	if err := lw.Flush(); !errors.Is(err, broken) {
		t.Errorf("flush: %v", err)
	}
	if _, err := io.WriteString(lw, "three\n"); !errors.Is(err, broken) {
		t.Errorf("write after the error: %v", err)
	}
	if err := lw.Flush(); !errors.Is(err, broken) || got.String() != "one\n" {
		t.Errorf("second flush: %v, written %q", err, got.String())
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
