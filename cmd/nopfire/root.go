package main

import "github.com/spf13/cobra"

// newRoot returns the command with its subcommands.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "nopfire",
		Short: "List and trace USDT probes, also those defined at run time",
		Long: `nopfire lists and traces USDT probes: those compiled into programs and
libraries, and those that a process defines at run time.

Results go to standard output, notes to standard error.

Exit status:
  0  all went well
  1  a failure; the reason is on standard error
  2  a mistake in the command line
  3  a privilege is missing; its name is on standard error
Behind "-- COMMAND" (trace, argdist, count, run) it is that of the command: 128 and
the number of the signal if one ended it.

Environment:
  NO_COLOR        if set and not empty, no colours on a terminal
  NOPFIRE_ATTACH  uprobe_multi or perf_event: attach in this way
  NOPFIRE_URDT    the object of "nopfire urdt", before the usual places

"nopfire doctor" tells what works here, and what would help where it does not.`,
		Example: `  nopfire doctor
  nopfire demo
  nopfire list -p 4711
  sudo nopfire trace -p 4711 'myapp:*'`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newArgdist(), newCC(), newCount(), newDemo(), newDemoChild(), newDoctor(), newFire(), newHeld(), newList(), newMan(), newRun(), newSelftest(), newSelftestChild(), newTrace(), newURDT(), newVersion())
	root.SetFlagErrorFunc(flagError)
	addCompletion(root)
	completeEverywhere(root)
	return root
}
