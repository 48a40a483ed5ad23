package main

import (
	"bufio"
	"io"
	"sync"
	"time"
)

// flushDelay is how long a line may wait for company.
const flushDelay = 20 * time.Millisecond

// A lineWriter gathers lines into large writes, but lets none wait longer than
// flushDelay: fast when events rush in, prompt when they trickle. A line that comes
// after some silence does not wait at all. What it writes are whole lines: a command
// that is traced may write to the same file.
type lineWriter struct {
	mu      sync.Mutex
	w       *bufio.Writer
	pending bool      // a flush is on its way
	flushed time.Time // when a line was last written out
	err     error
}

// The sizes of a lineWriter: the usual one, and that of writes that the kernel does not
// mix with those of another process to the same pipe (PIPE_BUF, pipe(7)), as long as no
// line is longer.
const (
	lineBuffer   = 64 << 10
	sharedBuffer = 4096
)

func newLineWriter(w io.Writer, size int) *lineWriter {
	return &lineWriter{w: bufio.NewWriterSize(w, size)}
}

// Write adds whole lines to the output. It returns the error of an earlier write as well.
func (l *lineWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return 0, l.err
	}
	if l.w.Buffered() > 0 && len(p) > l.w.Available() {
		l.err = l.w.Flush()
	}
	n, err := l.w.Write(p) // a flush that failed fails here, too
	l.err = err
	if err != nil || l.pending {
		return n, err
	}
	if wait := flushDelay - time.Since(l.flushed); wait > 0 {
		l.pending = true
		time.AfterFunc(wait, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.flush()
		})
		return n, nil
	}
	l.flush()
	return n, l.err
}

// Flush writes everything out.
func (l *lineWriter) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.w.Buffered() > 0 {
		l.flush()
	}
	return l.err
}

// flush writes everything out; the caller holds the lock.
func (l *lineWriter) flush() {
	l.pending = false
	l.flushed = time.Now()
	if err := l.w.Flush(); err != nil && l.err == nil {
		l.err = err
	}
}
