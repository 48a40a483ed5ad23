package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/nopfire/nopfire/bpfside/scan"
	"github.com/nopfire/nopfire/bpfside/usdt"
)

// listFlags are the flags of nopfire list.
type listFlags struct {
	pid                                int
	all, verbose, asJSON, noCache, why bool
}

// newList returns the command that lists probes.
func newList() *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use:   "list {-p PID | --all | FILE... | DIR...} [PROVIDER:PROBE...]",
		Short: "List the probes of processes or files, and tell why one is not seen",
		Long: `List the probes of a process, of all processes, or of files, with their
arguments and with what tracing them costs.

With -p the probes of everything that the process has mapped are listed: the
program, its libraries, and what it has defined at run time. With --all those of
all processes. Otherwise the probes of files: of a DIR those of every ELF file in
it and below it. A FILE that is not there may be the name of a program in PATH or
of a library, such as postgres or libstdc++. Rows are sorted by PROVIDER:PROBE with
-p and --all, else by file and as the file has them. If there is nothing to list, a
note on standard error says so, and the status is 0; 1 if a PROVIDER:PROBE was given.

PROVIDER:PROBE selects probes; * and ? are wildcards, an empty part is *. An
argument with a colon and without a slash is such a pattern; write ./a:b for a
file of that name.

COST is what the kernel does when a traced probe fires, with its time relative to
the usual one on Linux 6.18:
  optimized       a call instead of a breakpoint, 0.8 times
  breakpoint      the usual one: the kernel steps over the instruction by itself
  single-stepped  a breakpoint and a second trap behind it, 16 times
  refused         it cannot be traced there; --why tells why
  -               not known

With --why the command tells, instead of listing, whether a probe can be seen and
traced, with the reason and the remedy: of all probes of a FILE or of those that
are named, as PROVIDER:PROBE or PROBE alone, and with -p as that process has
mapped it. It ends with status 1 if not. That a probe can be traced does not tell
that the program ever gets there.
docs/prerequisites.md has the reasons together.

Files of directories without probes are remembered in the user's cache directory,
so that the next listing need not open them; --no-cache does without.

Without metadata a file says only how large an argument is and whether it has
a sign. Faults in a file are notes on standard error; they hide nothing else.
The JSON is described in docs/json.md.`,
		Example: `  nopfire list -p 4711
  nopfire list -p 4711 'myapp:*' 'libstdcxx:*'
  nopfire list --all 'myapp:*'
  nopfire list /usr/bin /usr/lib 'python:*'
  nopfire list -v libstdc++ libstdcxx:throw
  nopfire list --json /usr/lib/postgresql/15/bin/postgres 'postgresql:lock*'
  nopfire list --why ./myapp myapp:request
  nopfire list --why -p 4711 ./libmyapp.so myapp:request`,
		RunE: func(cmd *cobra.Command, args []string) error {
			files, patterns := splitArgs(args)
			if f.why {
				files, patterns = splitWhy(files, patterns, cmd.Flags().Changed("pid"))
			}
			if err := f.check(cmd, files, patterns); err != nil {
				return err
			}
			if f.why {
				return runWhy(cmd.OutOrStdout(), &f, files, patterns)
			}
			return runList(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), &f, files, patterns)
		},
	}
	flags := cmd.Flags()
	flags.IntVarP(&f.pid, "pid", "p", 0, "list what process `PID` has mapped")
	flags.BoolVarP(&f.all, "all", "a", false, "list what any process has mapped")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "show each location with its instruction")
	flags.BoolVar(&f.why, "why", false, "tell whether the probes can be seen and traced, and if not why")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object a probe")
	flags.BoolVar(&f.noCache, "no-cache", false, "neither use nor keep what is known of files without probes")
	completeFlag(cmd, "pid", completePIDs)
	cmd.ValidArgsFunction = completeList(&f)
	cmd.AddCommand(newListURDT())
	return cmd
}

// check finds mistakes in the command line.
func (f *listFlags) check(cmd *cobra.Command, files, patterns []string) error {
	byPID := cmd.Flags().Changed("pid")
	for _, file := range files {
		if file == "" {
			return usagef("an empty argument is neither a file nor a pattern")
		}
		if path, pattern, ok := cutPathPattern(file); ok {
			return usagef("%s: give the file and the pattern apart: %s %s", printable(file), printable(path), printable(pattern))
		}
	}
	for _, p := range patterns {
		if _, err := usdt.ParsePattern(p); err != nil {
			return usagef("%v", err)
		}
	}
	if f.why {
		return f.checkWhy(byPID, files, patterns)
	}
	switch {
	case byPID && f.all:
		return usagef("-p and --all exclude each other")
	case byPID && len(files) > 0:
		return usagef("-p and a file exclude each other: %s", files[0])
	case f.all && len(files) > 0:
		return usagef("--all and a file exclude each other: %s", files[0])
	case byPID && f.pid <= 0:
		return usagef("-p %d: not a process id", f.pid)
	case !byPID && !f.all && len(files) == 0:
		return usagef("what is to be listed? Give -p PID, --all, a FILE or a DIR")
	}
	return nil
}

// checkWhy is check for --why.
func (f *listFlags) checkWhy(byPID bool, files, patterns []string) error {
	urdt := len(patterns) == 1 && strings.HasPrefix(patterns[0], "urdt:") && strings.Count(patterns[0], ":") > 1
	switch {
	case f.all:
		return usagef("--why and --all exclude each other")
	case byPID && f.pid <= 0:
		return usagef("-p %d: not a process id", f.pid)
	case len(patterns) > 1:
		return usagef("--why takes one PROVIDER:PROBE, not %d", len(patterns))
	case !byPID && len(files) == 0 && !urdt:
		return usagef("which file is to be looked at? Give a FILE, or -p PID")
	}
	return nil
}

// splitArgs tells files from patterns.
func splitArgs(args []string) (files, patterns []string) {
	for _, a := range args {
		if strings.Contains(a, ":") && !strings.Contains(a, "/") {
			patterns = append(patterns, a)
		} else {
			files = append(files, a)
		}
	}
	return files, patterns
}

// splitWhy takes those files of --why for probes that are the bare name of one: what
// stands behind the first file, or beside -p, has no slash and is no file.
func splitWhy(files, patterns []string, byPID bool) (_, _ []string) {
	var left []string
	for i, arg := range files {
		known := arg == "" || strings.Contains(arg, "/") || fileExistsAs(arg)
		switch {
		case known, i == 0 && !byPID, i == 0 && meansFile(arg):
			left = append(left, arg)
		default:
			patterns = append(patterns, ":"+arg)
		}
	}
	return left, patterns
}

// meansFile reports whether a name is that of a program or library.
func meansFile(name string) bool {
	path, err := knownFile(name)
	return err == nil && path != name
}

// fileExistsAs reports whether there is something under a path.
func fileExistsAs(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, os.ErrNotExist)
}

// cutPathPattern cuts PATH:PROVIDER:PROBE, as nopfire trace takes it. It is false for
// what is a file.
func cutPathPattern(arg string) (path, pattern string, ok bool) {
	path, pattern, ok = strings.Cut(strings.TrimPrefix(arg, "u:"), ":")
	if !ok || !strings.Contains(path, "/") || strings.Contains(pattern, "/") {
		return "", "", false
	}
	if fileExistsAs(arg) {
		return "", "", false
	}
	if !strings.Contains(pattern, ":") {
		pattern = ":" + pattern // bcc's u:PATH:PROBE
	}
	return path, pattern, true
}

// A listed is a probe in a file, with what is known of its instructions.
type listed struct {
	*usdt.Target
	sites []usdt.Site // one for each location; nil if they could not be read
}

// runList finds what is wanted and prints it. What is found beside an error is
// printed as well.
func runList(ctx context.Context, out, errw io.Writer, f *listFlags, files, patterns []string) error {
	// A listing keeps most of what it allocates, and may have hundreds of
	// thousands of probes: collect garbage earlier than usual.
	defer debug.SetGCPercent(debug.SetGCPercent(40))
	var found *usdt.Result
	var err error
	switch {
	case f.all:
		found, err = usdt.AllTargets(patterns...)
	case f.pid != 0:
		found, err = usdt.ProcessTargets(f.pid, patterns...)
	default:
		found, err = listFiles(ctx, errw, files, patterns, f.noCache)
	}
	note(errw, found.Problems...)
	items, problems := withSites(found.Targets)
	note(errw, problems...)
	if len(items) == 0 && err == nil {
		note(errw, errors.New(nothingIn(f, files)))
	}
	if f.all || f.pid != 0 {
		slices.SortStableFunc(items, func(a, b listed) int { return strings.Compare(a.String(), b.String()) })
	}
	print := listText
	switch {
	case f.asJSON:
		print = listJSON
	case f.verbose:
		print = listVerbose
	}
	return errors.Join(print(out, items, f.all), err)
}

// nothingIn says that there is nothing to list.
func nothingIn(f *listFlags, files []string) string {
	switch {
	case f.all:
		return "no probes in any process"
	case f.pid != 0:
		return fmt.Sprintf("no probes in what process %d has mapped", f.pid)
	case len(files) > 1:
		return fmt.Sprintf("no probes in any of %d files", len(files))
	}
	path := printable(files[0])
	if st, err := os.Stat(files[0]); err == nil && st.IsDir() {
		return "no probes in " + path
	}
	return fmt.Sprintf("no probes in %s: nopfire list --why %s tells why", path, path)
}

// listFiles finds the probes of files and of those in directories.
func listFiles(ctx context.Context, errw io.Writer, files, patterns []string, noCache bool) (*usdt.Result, error) {
	var unknown []error
	known := files[:0]
	for _, name := range files {
		path, err := knownFile(name)
		if err != nil {
			unknown = append(unknown, err)
			continue
		}
		known = append(known, path)
	}
	files = known
	var cache *scan.Cache
	if !noCache {
		// Without one the listing is the same, if slower.
		cache, _ = scan.OpenCache("")
	}
	progress := newProgress(errw)
	scanned, err := scan.Files(ctx, files, &scan.Options{Cache: cache, Progress: progress.show})
	progress.clear()
	_ = cache.Save()
	where := fmt.Sprintf("any of %d ELF files", scanned.Stats.ELF)
	if len(files) == 1 {
		where = files[0]
	}
	found, noMatch := usdt.Select(scanned.Files, where, patterns...)
	found.Problems = append(scanned.Problems, found.Problems...)
	err = errors.Join(append(unknown, err)...)
	if len(scanned.Files) == 0 && err != nil {
		noMatch = nil // the reason is there already
	}
	return found, errors.Join(err, noMatch)
}

// knownFile returns the path of a file: if there is none of that name, that of the
// program or library that the name means. The error is that a name without a slash
// means nothing; a path is returned as it is.
func knownFile(name string) (string, error) {
	if name == "" || strings.Contains(name, "/") || fileExistsAs(name) {
		return name, nil
	}
	path, err := usdt.FindFile(name)
	if err != nil {
		return "", fmt.Errorf("%s: no such file, program in PATH or library", printable(name))
	}
	return path, nil
}

// withSites looks at the instructions of targets, file by file and several files at
// the same time. Of a file that cannot be read any more the costs are not known,
// which is a problem.
func withSites(targets []*usdt.Target) (items []listed, problems []error) {
	items = make([]listed, len(targets))
	byFile := make(map[string][]int)
	var order []string
	for i, t := range targets {
		items[i].Target = t
		key := fmt.Sprint(t.ID, t.Open)
		if byFile[key] == nil {
			order = append(order, key)
		}
		byFile[key] = append(byFile[key], i)
	}
	errs := make([]error, len(order))
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(order)) {
		wg.Go(func() {
			for n := range next {
				of := byFile[order[n]]
				group := make([]*usdt.Target, len(of))
				for i, at := range of {
					group[i] = targets[at]
				}
				sites, err := usdt.SitesOf(group)
				if err != nil {
					errs[n] = fmt.Errorf("costs are not known: %w", err)
					continue
				}
				for i, at := range of {
					items[at].sites = sites[i]
				}
			}
		})
	}
	for n := range order {
		next <- n
	}
	close(next)
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			problems = append(problems, err)
		}
	}
	return items, problems
}

// note prints faults that do not end the command.
func note(errw io.Writer, problems ...error) {
	for _, p := range problems {
		fmt.Fprintf(errw, "nopfire: note: %s\n", strings.ReplaceAll(p.Error(), "\n", "\n  "))
	}
}
