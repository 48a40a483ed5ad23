package bpfc

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// A Diagnostic is something that is wrong at a place in the source of a program, or
// that is C and not supported.
type Diagnostic struct {
	// File is a path in the file system of the program. A header that is part of
	// this package is below "<bpfc>".
	File string
	// Line and Col count from 1, and Col counts bytes. 0 is unknown.
	Line, Col int
	Msg       string
	// Text is the line of the source, if it is known.
	Text string
}

// Error returns "FILE:LINE:COL: MESSAGE".
func (d *Diagnostic) Error() string {
	var b strings.Builder
	if d.File != "" {
		b.WriteString(d.File)
		if d.Line > 0 {
			fmt.Fprintf(&b, ":%d", d.Line)
			if d.Col > 0 {
				fmt.Fprintf(&b, ":%d", d.Col)
			}
		}
		b.WriteString(": ")
	}
	b.WriteString(d.Msg)
	return b.String()
}

// String returns the error with the line of the source below it, and a mark below
// the place in it, as compilers show it:
//
//	prog.bpf.c:12:9: use of undeclared identifier "pid"
//	        return pid;
//	               ^
func (d *Diagnostic) String() string {
	text := strings.TrimRight(d.Text, " \t\r")
	if text == "" {
		return d.Error()
	}
	s := d.Error() + "\n" + text
	if d.Col < 1 || d.Col > len(text)+1 {
		return s
	}
	// The mark is indented by what the line is indented by, tabs included; a
	// character of several bytes takes one column.
	var indent strings.Builder
	for _, r := range text[:d.Col-1] {
		if r != '\t' {
			r = ' '
		}
		indent.WriteRune(r)
	}
	return s + "\n" + indent.String() + "^"
}

// Diagnostics are all that was found wrong with a program, in the order of the
// source as far as it was read. errors.As finds the first.
type Diagnostics []*Diagnostic

// Error returns each diagnostic as its String does.
func (l Diagnostics) Error() string {
	texts := make([]string, len(l))
	for i, d := range l {
		texts[i] = d.String()
	}
	return strings.Join(texts, "\n")
}

// Unwrap returns the diagnostics.
func (l Diagnostics) Unwrap() []error {
	errs := make([]error, len(l))
	for i, d := range l {
		errs[i] = d
	}
	return errs
}

// asDiagnostics turns an error of a stage into what this package returns.
func asDiagnostics(file string, err error) error {
	var list ir.Errors
	var one *ir.Error
	switch {
	case errors.As(err, &list):
	case errors.As(err, &one):
		list = ir.Errors{one}
	default:
		return fmt.Errorf("compile %s: %w", file, err)
	}
	out := make(Diagnostics, len(list))
	for i, e := range list {
		d := &Diagnostic{Line: e.Pos.Line, Col: e.Pos.Col, Msg: e.Msg, Text: e.Pos.File.Line(e.Pos.Line)}
		if e.Pos.File != nil {
			d.File = e.Pos.File.Name
		} else {
			d.File = file
		}
		out[i] = d
	}
	return out
}
