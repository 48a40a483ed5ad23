package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func TestFlagError(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"list", "-p", "abc"}, `invalid argument "abc" for "-p, --pid" flag: want the number of a process`},
		{[]string{"trace", "a:b", "-p", "99999999999999999999"}, `invalid argument "99999999999999999999" for "-p, --pid" flag: out of range`},
		{[]string{"trace", "a:b", "--uid", "root"}, `invalid argument "root" for "--uid" flag: want the number of a user`},
		{[]string{"trace", "a:b", "-L", "main"}, `invalid argument "main" for "-L, --tid" flag: want the number of a thread`},
		{[]string{"count", "a:b", "-n", "1.5"}, `invalid argument "1.5" for "-n, --number" flag: want a number`},
		{[]string{"list", "--json=maybe"}, `invalid argument "maybe" for "--json" flag: want true or false`},
		{[]string{"trace", "a:b", "-n", "python3"}, `invalid argument "python3" for "-n, --count" flag: not a number; --name TEXT selects by the name of the thread`},
		{[]string{"list", "--colour"}, `unknown flag: --colour`},
	} {
		var out, errw strings.Builder
		status := execute(t.Context(), tt.args, strings.NewReader(""), &out, &errw)
		first, _, _ := strings.Cut(errw.String(), "\n")
		if status != exitUsage || first != "nopfire: "+tt.want || out.Len() > 0 {
			t.Errorf("%q: status %d, %q, want %q", tt.args, status, first, tt.want)
		}
	}
}

// No flag of any command answers a wrong value with words of Go.
func TestFlagErrorsOfAllFlags(t *testing.T) {
	n := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			for _, value := range []string{"abc", "1e99x", "999999999999999999999999", "-"} {
				err := cmd.ParseFlags([]string{"--" + f.Name + "=" + value})
				if err == nil {
					continue
				}
				n++
				text := flagError(cmd, err).Error()
				if strings.Contains(text, "strconv") || strings.Contains(text, "time:") || strings.Contains(text, "invalid syntax") {
					t.Errorf("%s --%s=%s: %s", cmd.CommandPath(), f.Name, value, text)
				}
			}
		})
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRoot())
	if n < 50 {
		t.Errorf("%d wrong values only", n)
	}
}
