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
// flushDelay: fast when events rush in, prompt when they trickle.
type lineWriter struct {
	mu      sync.Mutex
	w       *bufio.Writer
	pending bool // a flush is on its way
	err     error
}

func newLineWriter(w io.Writer) *lineWriter {
	return &lineWriter{w: bufio.NewWriterSize(w, 64<<10)}
}

// Write adds to the output. It returns the error of an earlier write as well.
func (l *lineWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return 0, l.err
	}
	if !l.pending {
		l.pending = true
		time.AfterFunc(flushDelay, func() { l.Flush() })
	}
	n, err := l.w.Write(p)
	l.err = err
	return n, err
}

// Flush writes everything out.
func (l *lineWriter) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = false
	if err := l.w.Flush(); err != nil && l.err == nil {
		l.err = err
	}
	return l.err
}
