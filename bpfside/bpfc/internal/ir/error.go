package ir

import (
	"fmt"
	"slices"
	"strings"
)

// An Error is what a stage has to say of a place in the source: something that
// it does not support, or that is wrong.
type Error struct {
	Pos Pos
	Msg string
}

// Errorf makes an [Error] of a formatted message.
func Errorf(pos Pos, format string, args ...any) *Error {
	return &Error{Pos: pos, Msg: fmt.Sprintf(format, args...)}
}

// Error implements error, as "file:line:col: message".
func (e *Error) Error() string {
	if e.Pos == (Pos{}) {
		return e.Msg
	}
	return e.Pos.String() + ": " + e.Msg
}

// String formats p as "file:line:col", without what it does not know.
func (p Pos) String() string {
	var parts []string
	if p.File != nil {
		parts = append(parts, p.File.Name)
	}
	if p.Line > 0 {
		parts = append(parts, fmt.Sprint(p.Line))
		if p.Col > 0 {
			parts = append(parts, fmt.Sprint(p.Col))
		}
	}
	return strings.Join(parts, ":")
}

// Errors is a list of what a stage found, in the order in which it did. An empty
// list is no error: return [Errors.Err].
type Errors []*Error

// Add appends an [Error] of a formatted message, unless the list says the same
// of the same place already.
func (l *Errors) Add(pos Pos, format string, args ...any) {
	e := Errorf(pos, format, args...)
	if !slices.ContainsFunc(*l, func(o *Error) bool { return *o == *e }) {
		*l = append(*l, e)
	}
}

// Err returns l as an error, nil if it is empty.
func (l Errors) Err() error {
	if len(l) == 0 {
		return nil
	}
	return l
}

// Error implements error, a line each.
func (l Errors) Error() string {
	var b strings.Builder
	for i, e := range l {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(e.Error())
	}
	return b.String()
}

// Unwrap gives errors.As each of the errors.
func (l Errors) Unwrap() []error {
	errs := make([]error, len(l))
	for i, e := range l {
		errs[i] = e
	}
	return errs
}
