package main

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nopfire/nopfire/bpfside/usdt"
)

// completeFlag gives a flag its completion.
func completeFlag(cmd *cobra.Command, name string, f cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(name, f); err != nil {
		panic("BUG: " + err.Error()) // there is no such flag
	}
}

// completePIDs completes the id of a process: those that this user may look at, with
// their names.
func completePIDs(_ *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	entries, _ := os.ReadDir("/proc")
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && strings.HasPrefix(e.Name(), prefix) && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	var list []cobra.Completion
	for _, pid := range pids {
		dir := filepath.Join("/proc", strconv.Itoa(pid))
		// Threads of the kernel map nothing, and the processes of others are not
		// for this user.
		if _, err := os.Readlink(filepath.Join(dir, "exe")); err != nil {
			continue
		}
		comm, _ := os.ReadFile(filepath.Join(dir, "comm"))
		list = append(list, cobra.CompletionWithDesc(strconv.Itoa(pid), printable(strings.TrimSpace(string(comm)))))
	}
	return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeProbes returns a function that completes PROVIDER:PROBE: of the process of
// -p, else of all processes; and PATH:PROVIDER:PROBE where a path has been written.
func completeProbes(pid *int) func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return func(_ *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		const noSpace = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		before, path := "", prefix
		if rest, ok := strings.CutPrefix(prefix, "u:"); ok {
			before, path = "u:", rest
		}
		if !strings.Contains(path, "/") {
			if before != "" {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			search := usdt.AllTargets
			if *pid > 0 {
				search = func(patterns ...string) (*usdt.Result, error) { return usdt.ProcessTargets(*pid, patterns...) }
			}
			found, _ := search() // a fault completes nothing
			return probesWith(found, "", prefix), cobra.ShellCompDirectiveNoFileComp
		}
		if file, _, ok := strings.Cut(path, ":"); ok {
			found, _ := usdt.FileTargets(file)
			return probesWith(found, before+file+":", prefix), cobra.ShellCompDirectiveNoFileComp
		}
		return filesWith(before, path), noSpace
	}
}

// probesWith returns the probes of a search, once each, that begin with prefix when
// something is put before them.
func probesWith(found *usdt.Result, before, prefix string) []cobra.Completion {
	if found == nil {
		return nil
	}
	descriptions := make(map[string]string)
	for _, t := range found.Targets {
		name := before + t.String()
		// What would have to be quoted, for a shell or for its colon, is written by hand.
		if strings.HasPrefix(name, prefix) && printable(name) == name && !strings.ContainsAny(name, " \t'\"\\$`") && !strings.Contains(t.Name, ":") {
			descriptions[name] = signature(t)
		}
	}
	var list []cobra.Completion
	for _, name := range slices.Sorted(maps.Keys(descriptions)) {
		list = append(list, cobra.CompletionWithDesc(name, descriptions[name]))
	}
	return list
}

// filesWith returns directories, with a slash, and executable files and libraries, with
// the colon that stands behind them in a specification.
func filesWith(before, path string) []cobra.Completion {
	dir, base := filepath.Split(path)
	entries, _ := os.ReadDir(cmp.Or(dir, "."))
	var list []cobra.Completion
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), base) || printable(e.Name()) != e.Name() {
			continue
		}
		st, err := os.Stat(dir + e.Name()) // a library is often a link
		switch {
		case err != nil:
		case st.IsDir():
			list = append(list, before+dir+e.Name()+"/")
		case st.Mode()&0o111 != 0 || strings.Contains(e.Name(), ".so"):
			list = append(list, before+dir+e.Name()+":")
		}
	}
	return list
}
