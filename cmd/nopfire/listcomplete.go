package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/nopfire/nopfire/bpfside/usdt"
)

// completeList completes what is to be listed: files and directories, by the shell
// itself, and the patterns of what was named before: a process, all of them, files.
func completeList(f *listFlags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if strings.Contains(prefix, "/") {
			return nil, cobra.ShellCompDirectiveDefault
		}
		if f.pid > 0 || f.all {
			return completeProbes(&f.pid)(cmd, args, prefix)
		}
		found := new(usdt.Result)
		files, _ := splitArgs(args)
		for _, file := range files {
			path, err := knownFile(file)
			if err != nil {
				continue // a fault completes nothing
			}
			of, _ := usdt.FileTargets(path)
			found.Targets = append(found.Targets, of.Targets...)
		}
		// Another file may follow as well.
		return probesWith(found, "", prefix), cobra.ShellCompDirectiveDefault
	}
}
