package main

import "github.com/spf13/cobra"

// flagCompletions are those of flags that mean the same in every command.
var flagCompletions = map[string]cobra.CompletionFunc{
	"pid":     completePIDs,
	"dir":     completeDirs,
	"include": completeDirs,
	"cpu":     cobra.FixedCompletions([]cobra.Completion{"v1", "v2", "v3", "v4"}, cobra.ShellCompDirectiveNoFileComp),
	"target":  cobra.FixedCompletions([]cobra.Completion{"amd64", "arm64"}, cobra.ShellCompDirectiveNoFileComp),
}

func completeDirs(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// completeEverywhere gives what many commands have in common its completion, unless a
// command has one of its own: flags, and a command that takes no arguments no names of
// files.
func completeEverywhere(cmd *cobra.Command) {
	for name, f := range flagCompletions {
		if _, own := cmd.GetFlagCompletionFunc(name); !own && cmd.Flags().Lookup(name) != nil {
			completeFlag(cmd, name, f)
		}
	}
	if cmd.ValidArgsFunction == nil && takesNothing(cmd) {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, sub := range cmd.Commands() {
		completeEverywhere(sub)
	}
}

// takesNothing reports whether a command refuses every argument.
func takesNothing(cmd *cobra.Command) bool {
	return cmd.Runnable() && cmd.Args != nil && cmd.Args(cmd, []string{"x"}) != nil && cmd.Args(cmd, nil) == nil
}

// addCompletion adds the command that prints scripts for shells. As cobra makes it, it
// takes the name of a shell that it does not know for a wish for help.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("no completion for %q: want bash, zsh, fish or powershell", args[0])
			}
			return cmd.Help()
		}
	}
}
