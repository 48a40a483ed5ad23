package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/usdt"
)

// newList returns the command that lists probes.
func newList() *cobra.Command {
	var (
		pid    int
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "list {-p PID | FILE...} [PROVIDER:PROBE...]",
		Short: "List the probes of a process or of files",
		Long: `List the probes of a process or of files, with their arguments.

With -p the probes of everything that the process has mapped are listed: the
program, its libraries, and what it has defined at run time. Otherwise the
probes of the files.

PROVIDER:PROBE selects probes; * and ? are wildcards, an empty part is *. An
argument with a colon and without a slash is such a pattern; write ./a:b for a
file of that name.

Without metadata a file says only how large an argument is and whether it has
a sign. Faults in a file are notes on standard error; they hide nothing else.
The JSON is described in docs/json.md.`,
		Example: `  nopfire list -p 4711
  nopfire list -p 4711 'myapp:*' 'libc:*'
  nopfire list --json /usr/lib/postgresql/15/bin/postgres 'postgresql:lock*'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			files, patterns := splitArgs(args)
			switch {
			case cmd.Flags().Changed("pid") && len(files) > 0:
				return usagef("-p and a file exclude each other: %s", files[0])
			case cmd.Flags().Changed("pid") && pid <= 0:
				return usagef("-p %d: not a process id", pid)
			case !cmd.Flags().Changed("pid") && len(files) == 0:
				return usagef("what is to be listed? Give -p PID or a FILE")
			}
			return runList(cmd.OutOrStdout(), cmd.ErrOrStderr(), pid, files, patterns, asJSON)
		},
	}
	cmd.Flags().IntVarP(&pid, "pid", "p", 0, "list what process `PID` has mapped")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a probe")
	cmd.AddCommand(newListURDT())
	return cmd
}

// splitArgs tells files from patterns.
func splitArgs(args []string) (files, patterns []string) {
	for _, a := range args {
		if strings.Contains(a, ":") && !strings.Contains(a, "/") {
			patterns = append(patterns, a)
		} else {
			files = append(files, a)
		}
	}
	return files, patterns
}

// runList lists a process, or files if pid is 0.
func runList(out, errw io.Writer, pid int, files, patterns []string, asJSON bool) error {
	print := listText
	if asJSON {
		print = listJSON
	}
	if pid != 0 {
		found, err := usdt.ProcessTargets(pid, patterns...)
		note(errw, found.Problems...)
		return errors.Join(print(out, found.Targets), err)
	}
	// A listing keeps most of what it allocates, and may have hundreds of
	// thousands of probes: collect garbage earlier than usual.
	defer debug.SetGCPercent(debug.SetGCPercent(40))
	// The probes of all files together make one table; each file has its say
	// about patterns that match nothing.
	var targets []*usdt.Target
	var errs []error
	for _, file := range files {
		found, err := usdt.FileTargets(file, patterns...)
		note(errw, found.Problems...)
		targets = append(targets, found.Targets...)
		errs = append(errs, err)
	}
	return errors.Join(print(out, targets), errors.Join(errs...))
}

// note prints faults that do not end the command.
func note(errw io.Writer, problems ...error) {
	for _, p := range problems {
		fmt.Fprintf(errw, "nopfire: note: %s\n", strings.ReplaceAll(p.Error(), "\n", "\n  "))
	}
}

// listText prints the targets as columns.
func listText(out io.Writer, targets []*usdt.Target) error {
	if len(targets) == 0 {
		return nil
	}
	tab := newTable(4, len(targets)+1)
	for _, head := range []string{"PROBE", "ARGUMENTS", "LOCATION", "FILE"} {
		tab.add(head)
	}
	for _, t := range targets {
		tab.add(printable(t.String()))
		tab.add(signature(t))
		tab.add(where(t))
		tab.add(printable(t.Path))
	}
	return tab.write(out, paletteFor(out))
}

// signature returns the arguments of a probe as "name type, name type".
func signature(t *usdt.Target) string {
	params := trace.Params(&t.Probe)
	return joinTypes(len(params), func(i int) (name, typ string) { return params[i].Name, params[i].Type })
}

// where returns the file offset of the first location, how many more there are,
// and whether there is a semaphore.
func where(t *usdt.Target) string {
	var s string
	switch n := len(t.Locations); {
	case n == 0:
		return "-"
	case n == 1:
		s = "0x" + strconv.FormatUint(t.Locations[0].Offset, 16)
	default:
		s = fmt.Sprintf("%#x +%d", t.Locations[0].Offset, n-1)
	}
	if hasSemaphore(t) {
		s += " sem"
	}
	return s
}

func hasSemaphore(t *usdt.Target) bool {
	for _, l := range t.Locations {
		if l.Semaphore != 0 {
			return true
		}
	}
	return false
}

// listJSON prints one object a target, as docs/json.md describes.
func listJSON(out io.Writer, targets []*usdt.Target) error {
	w := bufio.NewWriterSize(out, 64<<10)
	var b []byte
	for _, t := range targets {
		b = append(b[:0], `{"provider":`...)
		b = appendText(b, t.Provider)
		b = append(b, `,"probe":`...)
		b = appendText(b, t.Name)
		b = append(b, `,"path":`...)
		b = appendText(b, t.Path)
		if t.PID != 0 {
			b = append(b, `,"pid":`...)
			b = strconv.AppendInt(b, int64(t.PID), 10)
		}
		b = append(b, `,"args":[`...)
		for i, p := range trace.Params(&t.Probe) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, `{"name":`...)
			b = appendText(b, p.Name)
			b = append(b, `,"type":`...)
			b = appendText(b, p.Type)
			b = append(b, '}')
		}
		b = append(b, `],"semaphore":`...)
		b = strconv.AppendBool(b, hasSemaphore(t))
		b = append(b, `,"locations":[`...)
		for i := range t.Locations {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendLocation(b, &t.Locations[i])
		}
		b = append(b, "]}\n"...)
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return w.Flush()
}

func appendLocation(b []byte, l *usdt.Location) []byte {
	b = append(b, `{"offset":`...)
	b = strconv.AppendUint(b, l.Offset, 10)
	b = append(b, `,"address":`...)
	b = strconv.AppendUint(b, l.Address, 10)
	if l.RefCtrOffset != 0 {
		b = append(b, `,"semaphore":`...)
		b = strconv.AppendUint(b, l.RefCtrOffset, 10)
	}
	b = append(b, `,"args":`...)
	b = appendText(b, l.ArgString)
	if l.Err != nil {
		b = append(b, `,"error":`...)
		b = appendText(b, l.Err.Error())
	}
	return append(b, '}')
}
