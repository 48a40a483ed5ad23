package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/nopfire/nopfire/bpfside/usdt"
)

// runWhy tells whether probes can be seen and traced. The error is that some cannot.
func runWhy(out io.Writer, f *listFlags, files, patterns []string) error {
	o := &usdt.DiagnoseOptions{PID: f.pid}
	if len(patterns) > 0 {
		o.Pattern = patterns[0]
	}
	if len(files) == 0 {
		files = []string{""} // what the process has, or a name of run time
	}
	var all []*usdt.Diagnosis
	for _, file := range files {
		path, err := knownFile(file)
		if err != nil {
			path = file // a diagnosis like any other
		}
		found, err := usdt.Diagnose(path, o)
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	print := whyText
	if f.asJSON {
		print = whyJSON
	}
	errs := []error{print(out, all)}
	for _, d := range all {
		if !d.Fine() {
			errs = append(errs, whyNot(d))
		}
	}
	return errors.Join(errs...)
}

// whyNot returns the error of a diagnosis that is not fine.
func whyNot(d *usdt.Diagnosis) error {
	err := fmt.Errorf("%s: %s", whyTitle(d), verdict(d))
	if denied(d) {
		err = fmt.Errorf("%w: %w", err, os.ErrPermission)
	}
	return err
}

// denied reports whether a privilege is missing to tell.
func denied(d *usdt.Diagnosis) bool {
	return slices.ContainsFunc(d.Checks, func(c usdt.Check) bool {
		return c.Severity == usdt.Fault && (c.Reason == usdt.ReasonNoAccess || c.Reason == usdt.ReasonNotReadable)
	})
}

// whyTitle says what was looked at.
func whyTitle(d *usdt.Diagnosis) string {
	var parts []string
	if d.Path != "" {
		parts = append(parts, printable(d.Path))
	}
	if d.Pattern != "" {
		parts = append(parts, printable(d.Pattern))
	}
	if d.PID != 0 {
		parts = append(parts, "in process "+strconv.Itoa(d.PID))
	}
	return strings.Join(parts, " ")
}

// verdict says what comes of a diagnosis.
func verdict(d *usdt.Diagnosis) string {
	switch {
	case d.Probes == 0 && denied(d):
		return "cannot tell"
	case d.Probes == 0:
		return "there is nothing to trace"
	case d.Probes == 1 && d.Traceable == 1:
		return "the probe can be traced"
	case d.Probes == 1:
		return "the probe cannot be traced"
	}
	return fmt.Sprintf("%d of %d probes can be traced", d.Traceable, d.Probes)
}

// whyText prints each diagnosis as a list of answers.
func whyText(out io.Writer, all []*usdt.Diagnosis) error {
	color := paletteFor(out)
	w := bufio.NewWriter(out)
	for i, d := range all {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, color.bold(whyTitle(d)))
		for j := range d.Checks {
			c := &d.Checks[j]
			word := pad(c.Severity.String(), len("problem"))
			switch c.Severity {
			case usdt.OK:
				word = color.green(word)
			case usdt.Caution:
				word = color.yellow(word)
			case usdt.Fault:
				word = color.red(word)
			}
			text := printable(c.Text)
			if c.Probe != "" {
				text = printable(c.Probe) + ": " + text
			}
			if c.Reason != "" {
				text += " [" + string(c.Reason) + "]"
			}
			fmt.Fprintf(w, "  %s  %-11s  %s\n", word, c.Step, text)
			if c.Remedy != "" {
				fmt.Fprintf(w, "  %-7s  %-11s    -> %s\n", "", "", printable(c.Remedy))
			}
		}
		fmt.Fprintf(w, "  %s\n", color.bold(verdict(d)))
		if d.Traceable > 0 {
			fmt.Fprintln(w, "  (whether the program gets there cannot be seen from here)")
		}
	}
	return w.Flush()
}

// whyJSON prints one object an answer, and one for each verdict, as docs/json.md
// describes.
func whyJSON(out io.Writer, all []*usdt.Diagnosis) error {
	w := bufio.NewWriter(out)
	for _, d := range all {
		for i := range d.Checks {
			c := &d.Checks[i]
			b := appendDiagnosis([]byte(`{"kind":"check"`), d)
			b = append(b, `,"step":`...)
			b = appendText(b, c.Step)
			b = append(b, `,"result":`...)
			b = appendText(b, c.Severity.String())
			for _, field := range []struct{ name, value string }{
				{"reason", string(c.Reason)}, {"probe", c.Probe}, {"text", c.Text}, {"remedy", c.Remedy},
			} {
				if field.value != "" {
					b = append(b, `,"`+field.name+`":`...)
					b = appendText(b, field.value)
				}
			}
			w.Write(append(b, "}\n"...))
		}
		b := appendDiagnosis([]byte(`{"kind":"verdict"`), d)
		b = append(b, `,"probes":`...)
		b = strconv.AppendInt(b, int64(d.Probes), 10)
		b = append(b, `,"traceable":`...)
		b = strconv.AppendInt(b, int64(d.Traceable), 10)
		w.Write(append(b, "}\n"...))
	}
	return w.Flush()
}

// appendDiagnosis adds what was looked at.
func appendDiagnosis(b []byte, d *usdt.Diagnosis) []byte {
	b = append(b, `,"path":`...)
	b = appendText(b, d.Path)
	if d.Pattern != "" {
		b = append(b, `,"pattern":`...)
		b = appendText(b, d.Pattern)
	}
	if d.PID != 0 {
		b = append(b, `,"pid":`...)
		b = strconv.AppendInt(b, int64(d.PID), 10)
	}
	return b
}
