package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// What every command owes its user: a text, examples that begin with its name, and
// flags that say what they do.
func TestCommandsAreDescribed(t *testing.T) {
	for _, cmd := range manCommands(newRoot()) {
		t.Run(manName(cmd), func(t *testing.T) {
			if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
				t.Errorf("short description %q", cmd.Short)
			}
			if cmd.Long == "" {
				t.Error("no long description")
			}
			if !exemplifies(cmd) {
				t.Errorf("examples that do not show %q:\n%s", cmd.CommandPath(), cmd.Example)
			}
			for line := range strings.Lines(cmd.Long + "\n" + cmd.Example) {
				if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 100 {
					t.Errorf("a line of %d characters: %s", n, line)
				}
			}
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				if f.Usage == "" {
					t.Errorf("flag --%s says nothing", f.Name)
				}
			})
		})
	}
}

// exemplifies reports whether some example runs the command.
func exemplifies(cmd *cobra.Command) bool {
	for line := range strings.Lines(cmd.Example) {
		if strings.Contains(" "+strings.TrimSpace(line)+" ", " "+cmd.CommandPath()+" ") {
			return true
		}
	}
	return cmd.Parent() == nil && cmd.Example != ""
}
