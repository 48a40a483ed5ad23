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

// commandLine runs a command line inside this process.
func commandLine(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	status = execute(t.Context(), args, strings.NewReader(""), &out, &errs)
	return status, out.String(), errs.String()
}

// A mistake in a flag is status 2 for every command, and the message says where help
// is. -h is no mistake.
func TestFlagsThatAreWrong(t *testing.T) {
	for _, cmd := range manCommands(newRoot()) {
		path := cmd.CommandPath()
		args := strings.Fields(path)[1:]
		t.Run(manName(cmd), func(t *testing.T) {
			wrong := [][]string{{"--no-such-flag"}, {"-?"}}
			if cmd.Flags().Lookup("pid") != nil {
				for _, pid := range []string{"0", "-1", "self", "", "99999999999999999999"} {
					wrong = append(wrong, []string{"--pid=" + pid})
				}
			}
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				if f.Value.Type() == "bool" {
					wrong = append(wrong, []string{"--" + f.Name + "=perhaps"})
				} else {
					wrong = append(wrong, []string{"--" + f.Name}) // without its value
				}
			})
			for _, flags := range wrong {
				status, stdout, stderr := commandLine(t, append(args[:len(args):len(args)], flags...)...)
				if status != exitUsage || stdout != "" || !strings.HasPrefix(stderr, "nopfire: ") || !strings.HasSuffix(stderr, "\nRun '"+path+" -h' for help.\n") {
					t.Errorf("%s: status %d, prints %.100q and says %q", flags, status, stdout, stderr)
				}
			}
			status, stdout, stderr := commandLine(t, append(args[:len(args):len(args)], "-h")...)
			if status != exitOK || !strings.Contains(stdout, "Usage:\n") || !strings.Contains(stdout, "Examples:\n") || stderr != "" {
				t.Errorf("-h: status %d, prints %q and says %q", status, stdout, stderr)
			}
		})
	}
}
