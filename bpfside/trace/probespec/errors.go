package probespec

import (
	"fmt"
	"unicode/utf8"
)

// A SyntaxError says where a text is wrong.
type SyntaxError struct {
	// Text is the whole text, Off the place in it, counted in bytes: 0 to
	// len(Text).
	Text string
	Off  int
	// Msg is what is wrong.
	Msg string
	// Want is what would be right, "" if there is nothing to say.
	Want string
}

// Error returns what is wrong, and what would be right, in one line.
func (e *SyntaxError) Error() string {
	s := fmt.Sprintf("%q: %s", e.Text, e.Msg)
	if e.Want != "" {
		s += ": want " + e.Want
	}
	return s
}

// Column returns the place as a number of characters, for a mark below the text.
func (e *SyntaxError) Column() int {
	return utf8.RuneCountInString(e.Text[:min(max(e.Off, 0), len(e.Text))])
}

// errorf returns an error at a place of the text, with what would be right.
func errorf(text string, off int, want, format string, args ...any) error {
	return &SyntaxError{Text: text, Off: off, Msg: fmt.Sprintf(format, args...), Want: want}
}
