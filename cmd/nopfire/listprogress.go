package main

import (
	"fmt"
	"io"
	"time"

	"github.com/nopfire/nopfire/bpfside/scan"
)

// A progress tells on a terminal how far a scan has come, once it takes long enough
// for somebody to wonder.
type progress struct {
	out   io.Writer
	since time.Time
	shown bool
}

func newProgress(errw io.Writer) *progress { return &progress{out: errw, since: time.Now()} }

// show is called while the scan goes on.
func (p *progress) show(s scan.Stats) {
	const patience = 500 * time.Millisecond
	if !isTerminal(p.out) || time.Since(p.since) < patience {
		return
	}
	p.shown = true
	fmt.Fprintf(p.out, "\r\x1b[K%d directories, %d files, %d with probes", s.Dirs, s.Files, s.Found)
}

// clear takes away what show has printed.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
