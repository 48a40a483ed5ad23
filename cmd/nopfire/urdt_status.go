package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nopfire/nopfire/internal/image"
	"github.com/nopfire/nopfire/urdt"
)

// newURDTStatus returns the command that tells which object is used.
func newURDTStatus() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the places of the object and which one is used",
		Long: `Show the places where a process of this user and environment looks for the
object, in order, what is there, and which one it would use. Nothing is made or
changed.`,
		Example: `  nopfire urdt status
  NOPFIRE_URDT=/opt/liburdt.so.1 nopfire urdt status`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return statusURDT(cmd.OutOrStdout())
		},
	}
}

func statusURDT(out io.Writer) error {
	if _, err := urdt.Library(); err != nil {
		return err
	}
	scope := "process: each has an object of its own"
	found := false
	for _, p := range urdt.Places() {
		state := "right"
		switch {
		case p.Err == nil && !found:
			found = true
			scope = p.Name + ": " + p.Path
		case p.Err == nil:
		case p.Path == "":
			state = p.Err.Error()
		case isAbsent(p.Err):
			state = "not there"
			if p.Name == "user" && !found {
				found = true
				scope = "user: " + p.Path + ", made by the first process"
			}
		default:
			state = strings.ReplaceAll(p.Err.Error(), "\n", "; ")
		}
		fmt.Fprintln(out, strings.TrimRight(fmt.Sprintf("%-14s %-45s %s", p.Name, printable(p.Path), printable(state)), " "))
	}
	_, err := fmt.Fprintf(out, "%-14s %s\n", "used", printable(scope))
	return err
}

// newURDTVerify returns the command that checks an object.
func newURDTVerify() *cobra.Command {
	var flags placeFlags
	cmd := &cobra.Command{
		Use:   "verify [--dir D | --user]",
		Short: "Check that an installed library can be trusted",
		Long: `Check that the installed library is what this release would write, a regular
file that belongs to root or to you, and that nobody else can write it: the
conditions under which a process uses it. Exit status 1 and the reason if not.`,
		Example: `  nopfire urdt verify
  nopfire urdt verify --user`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			place, err := flags.place()
			if err != nil {
				return err
			}
			library, err := urdt.Library()
			if err != nil {
				return err
			}
			if err := image.Verify(place.library, library); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: right\n", place.library)
			return err
		},
	}
	flags.add(cmd)
	return cmd
}
