package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nopfire/nopfire/internal/doctor"
)

// newDoctor returns the command that tells what this kernel and user can do.
func newDoctor() *cobra.Command {
	var (
		pid    int
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "doctor [-p PID]",
		Short: "Tell what this kernel and user can do, and what would help",
		Long: `Tell what this kernel and this user can do of what the other commands need, one
line each, and what would help where something is missing. It is found out by
trying; a probe is defined, traced and fired in the end. With -p a process is
looked at too: whether it can be traced, and what probes it has. Nothing is
attached to it.

  ✓  it is there
  ✗  it is missing, and something does not work; the line below says what helps
  –  it is not there, and nothing hinges on it but what the line says

Exit status: 0 if tracing works (with -p: tracing of the process), 3 if
privileges are missing, 1 if the kernel cannot, or there is nothing to trace.
The JSON is described in docs/json.md.`,
		Example: `  nopfire doctor
  sudo nopfire doctor -p 4711
  nopfire doctor --json | jq -r 'select(.status == "missing") | .name + ": " + .remedy'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("pid") && pid <= 0 {
				return usagef("-p %d: not a process id", pid)
			}
			report := doctor.Run(pid)
			print := doctorText
			if asJSON {
				print = doctorJSON
			}
			if err := print(cmd.OutOrStdout(), report); err != nil {
				return err
			}
			return report.Err()
		},
	}
	cmd.Flags().IntVarP(&pid, "pid", "p", 0, "look at process `PID` too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a check, and one of the result")
	return cmd
}

// doctorText prints the checks by group, and what they come to.
func doctorText(out io.Writer, r *doctor.Report) error {
	w := bufio.NewWriter(out)
	color := paletteFor(out)
	width := 0
	for _, c := range r.Checks {
		width = max(width, len(c.Name))
	}
	group := ""
	for _, c := range r.Checks {
		if c.Group != group {
			if group != "" {
				fmt.Fprintln(w)
			}
			group = c.Group
			fmt.Fprintln(w, color.bold(strings.ToUpper(group[:1])+group[1:]))
		}
		mark := color.green("✓")
		switch c.Status {
		case doctor.Missing:
			mark = color.red("✗")
		case doctor.Note:
			mark = color.dim("–")
		}
		fmt.Fprintf(w, "  %s  %s  %s\n", mark, pad(printable(c.Name), width), printable(c.Found))
		if c.Remedy != "" {
			fmt.Fprintf(w, "     %s  %s\n", pad("", width), color.yellow("→ "+printable(c.Remedy)))
		}
	}
	verdict := color.green("Tracing works.")
	switch c := r.Blocker(); {
	case c == nil:
	case c.Group == doctor.GroupProcess:
		verdict = color.red("This process cannot be traced.")
	default:
		verdict = color.red("Tracing does not work here.")
	}
	fmt.Fprintf(w, "\n%s\n", verdict)
	return w.Flush()
}

// doctorJSON prints an object for each check and one for what they come to.
func doctorJSON(out io.Writer, r *doctor.Report) error {
	w := bufio.NewWriter(out)
	var b []byte
	field := func(name, value string) {
		b = append(b, `,"`+name+`":`...)
		b = appendText(b, value)
	}
	for _, c := range r.Checks {
		b = append(b[:0], `{"kind":"check"`...)
		field("group", c.Group)
		field("name", c.Name)
		field("status", c.Status.String())
		field("found", c.Found)
		if c.Remedy != "" {
			field("remedy", c.Remedy)
		}
		w.Write(append(b, "}\n"...))
	}
	b = append(b[:0], `{"kind":"result"`...)
	if err := r.Err(); err != nil {
		b = append(b, `,"traces":false`...)
		field("reason", err.Error())
	} else {
		b = append(b, `,"traces":true`...)
	}
	w.Write(append(b, "}\n"...))
	return w.Flush()
}
