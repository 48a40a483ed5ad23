package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// The control sequences of a screen are those of ECMA-48 (CUU, ED) and DEC (autowrap),
// which every terminal knows.
const (
	wrapOff    = "\x1b[?7l"
	wrapOn     = "\x1b[?7h"
	eraseBelow = "\r\x1b[J"
)

// A screen is the lower end of what a terminal shows: a text that is drawn anew again
// and again.
type screen struct {
	w      io.Writer
	height func() int // of the terminal, in lines

	mu    sync.Mutex
	drawn int // lines
}

// draw shows a text in the place of the last one: its last line, and as many of those
// before it as there is room for.
func (s *screen) draw(text string) error {
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	if room := s.height() - 3; len(lines) > room+2 && room > 0 { // two more for what follows, one for the cursor
		last := len(lines) - 1
		lines = append(lines[:room:room], fmt.Sprintf("… %d more lines\n", last-room), lines[last])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := io.WriteString(s.w, s.erase()+wrapOff+strings.Join(lines, "")+wrapOn+"\n")
	s.drawn = len(lines)
	return err
}

// leave puts a text in the place of the last one, all of it, and lets it stand.
func (s *screen) leave(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := io.WriteString(s.w, s.erase()+text)
	s.drawn = 0
	return err
}

// erase returns what takes away what was drawn.
func (s *screen) erase() string {
	if s.drawn == 0 {
		return ""
	}
	up := fmt.Sprintf("\x1b[%dA", s.drawn)
	s.drawn = 0
	return up + eraseBelow
}

// above returns a writer for text that is to stand above the screen, if w is the same
// terminal.
func (s *screen) above(w io.Writer) io.Writer {
	if !isTerminal(w) {
		return w
	}
	return &aboveScreen{s, w}
}

type aboveScreen struct {
	screen *screen
	w      io.Writer
}

func (a *aboveScreen) Write(p []byte) (int, error) {
	a.screen.mu.Lock()
	defer a.screen.mu.Unlock()
	if _, err := io.WriteString(a.screen.w, a.screen.erase()); err != nil {
		return 0, err
	}
	return a.w.Write(p)
}
