package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nopfire/nopfire/urdt"
	"github.com/nopfire/nopfire/urdt/abi"
)

// newFire returns the command that fires a name.
func newFire() *cobra.Command {
	var asText bool
	cmd := &cobra.Command{
		Use:   "fire PROVIDER NAME [ARG...]",
		Short: "Fire a tracepoint, from a shell script",
		Long: `Fire the tracepoint PROVIDER:NAME with up to 11 arguments.

An argument that is an integer (decimal, or with 0x, 0o or 0b in front) travels
as one, every other as a text. With --text all are texts. Options stand before
PROVIDER, so that negative numbers need no --.

Whoever traces the name with that number of arguments sees it, in this process
and all others that share the object: see nopfire urdt status. Without a shared
object nobody can see a process that ends at once, and a note says so.`,
		Example: `  nopfire fire backup started /var/lib/db
  nopfire fire backup finished /var/lib/db $?`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) < 2:
				return usagef("what is to be fired? Give PROVIDER and NAME")
			case len(args) > 2+abi.MaxArgs:
				return usagef("%d arguments, at most %d can travel", len(args)-2, abi.MaxArgs)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			values := make([]any, 0, abi.MaxArgs)
			for _, a := range args[2:] {
				values = append(values, fireValue(a, asText))
			}
			h, err := urdt.New(args[0], args[1], len(values))
			if err != nil {
				return err
			}
			if err := h.Fire(values...); err != nil {
				return err
			}
			switch s := urdt.Scope(); s.Reach {
			case urdt.None:
				return fmt.Errorf("fire %s:%s: %w", args[0], args[1], s.Reason)
			case urdt.Process:
				note(cmd.ErrOrStderr(), fmt.Errorf("no shared object, so nobody can have seen it:\n%w", s.Reason))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asText, "text", false, "let all arguments travel as texts")
	cmd.Flags().SetInterspersed(false)
	return cmd
}

// fireValue returns the value that an argument stands for.
func fireValue(arg string, asText bool) any {
	if asText {
		return arg
	}
	digits, base := arg, 10
	sign := ""
	if arg != "" && (arg[0] == '-' || arg[0] == '+') {
		sign, digits = arg[:1], arg[1:]
	}
	// Not strconv's base 0: for it a 0 in front means octal, so that of the
	// hours of `date +%H` 07 would be a number, 08 a text and 010 eight.
	if len(digits) > 2 && digits[0] == '0' {
		switch digits[1] {
		case 'x', 'X':
			base = 16
		case 'o', 'O':
			base = 8
		case 'b', 'B':
			base = 2
		}
	}
	if base != 10 {
		digits = digits[2:]
	}
	if strings.ContainsAny(digits, "+-") {
		return arg // a second sign
	}
	if n, err := strconv.ParseInt(sign+digits, base, 64); err == nil {
		return n
	}
	if n, err := strconv.ParseUint(digits, base, 64); err == nil && sign != "-" {
		return n
	}
	return arg
}
