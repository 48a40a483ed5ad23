// Command vm runs the tests that depend on the kernel on other kernels, and on
// another processor: it boots Debian's under an emulator, with the test programs
// and nothing else, and prints a table of what came of them.
//
// It is run from the root of the repository, by "make vmtest", as any user. It
// needs Debian's apt and dpkg for the kernels, which are downloaded once and kept
// in the cache of the user (NOPFIRE_CACHE), and the packages qemu-system-x86 and
// qemu-system-arm.
//
// The exit status is 1 if a test failed, a group did not end or was empty, or a
// kernel has complained; 2 if the command was used wrongly.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// config is what the flags say.
type config struct {
	machines []machine
	groups   []group
	jobs     int
	output   string
	verbose  bool
	limit    time.Duration
}

func main() {
	c, err := parseFlags(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "vm:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := run(ctx, c)
	if err != nil {
		fmt.Fprintln(os.Stderr, "vm:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func parseFlags(args []string) (*config, error) {
	c := new(config)
	fs := flag.NewFlagSet("vm", flag.ExitOnError)
	names := fs.String("machines", "", "the machines, as `NAME,…` (default all)")
	only := fs.String("groups", "", "the groups, as `NAME,…` (default all)")
	match := fs.String("run", "", "tests that match `RE` instead of those that are chosen for each group")
	fs.IntVar(&c.jobs, "j", 1, "run `N` machines at once")
	fs.StringVar(&c.output, "output", "", "keep what the consoles say in `DIRECTORY`")
	fs.BoolVar(&c.verbose, "v", false, "print what the consoles say")
	fs.DurationVar(&c.limit, "limit", 15*time.Minute, "end a machine after `DURATION`")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 || c.jobs < 1 {
		return nil, fmt.Errorf("usage: vm [flags]; see -h")
	}
	var err error
	if c.machines, err = choose("machine", machines, func(m machine) string { return m.name }, *names); err != nil {
		return nil, err
	}
	if c.groups, err = choose("group", groups, func(g group) string { return g.name }, *only); err != nil {
		return nil, err
	}
	if *match != "" {
		for i := range c.groups {
			c.groups[i].run, c.groups[i].skip = *match, ""
		}
	}
	return c, nil
}

// choose returns those of all whose names are in a list, or all of them.
func choose[T any](kind string, all []T, name func(T) string, list string) ([]T, error) {
	if list == "" {
		return slices.Clone(all), nil
	}
	var chosen []T
	for _, want := range strings.Split(list, ",") {
		i := slices.IndexFunc(all, func(v T) bool { return name(v) == want })
		if i < 0 {
			var names []string
			for _, v := range all {
				names = append(names, name(v))
			}
			return nil, fmt.Errorf("no %s %q: there are %s", kind, want, strings.Join(names, ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// run runs all machines and prints the table. It returns whether all is well.
func run(ctx context.Context, c *config) (bool, error) {
	dir, err := os.MkdirTemp("", "nopfire-vm-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	built := make(map[string]string)
	for _, m := range c.machines {
		if built[m.arch] != "" {
			continue
		}
		built[m.arch] = filepath.Join(dir, m.arch)
		if err := os.Mkdir(built[m.arch], 0o755); err != nil {
			return false, err
		}
		fmt.Fprintf(os.Stderr, "building %d groups for %s\n", len(c.groups), m.arch)
		if err := buildGroups(built[m.arch], m.arch, c.groups); err != nil {
			return false, err
		}
	}
	results := make([]*result, len(c.machines))
	errs := make([]error, len(c.machines))
	var wg sync.WaitGroup
	jobs := make(chan struct{}, c.jobs)
	for i, m := range c.machines {
		wg.Go(func() {
			jobs <- struct{}{}
			defer func() { <-jobs }()
			results[i] = &result{machine: m.name}
			errs[i] = runMachine(ctx, c, m, dir, built[m.arch], results[i])
		})
	}
	wg.Wait()
	ok := true
	for i, r := range results {
		for _, g := range r.groups {
			if c.groups[slices.IndexFunc(c.groups, func(w group) bool { return w.name == g.name })].selftest != nil {
				g.parseChecks()
			} else if err := g.parse(); err != nil {
				return false, err
			}
		}
		if errs[i] != nil {
			r.faults = append(r.faults, errs[i].Error())
		}
		ok = ok && r.ok(len(c.groups))
	}
	printResults(os.Stdout, results, c.groups)
	return ok, nil
}

// runMachine boots one machine and fills its result.
func runMachine(ctx context.Context, c *config, m machine, dir, built string, r *result) error {
	k, err := fetchKernel(m)
	if err != nil {
		return err
	}
	initramfs := filepath.Join(dir, m.name+".cpio")
	if err := writeInitramfs(initramfs, built, m.arch, k, c.groups); err != nil {
		return err
	}
	defer os.Remove(initramfs)
	log := func(string) {}
	if c.output != "" {
		if err := os.MkdirAll(c.output, 0o755); err != nil {
			return err
		}
		f, err := os.Create(filepath.Join(c.output, m.name+".log"))
		if err != nil {
			return err
		}
		defer f.Close()
		log = func(s string) { fmt.Fprintln(f, s) }
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.limit, fmt.Errorf("machine does not end within %s", c.limit))
	defer cancel()
	fmt.Fprintf(os.Stderr, "%s: booting %s\n", m.name, k.release)
	start := time.Now()
	err = boot(ctx, m, k, initramfs, func(s string) {
		log(s)
		if c.verbose {
			fmt.Fprintf(os.Stderr, "%s: %s\n", m.name, s)
		}
		ended := len(r.groups) > 0 && r.groups[len(r.groups)-1].status != ""
		r.line(s)
		if !ended && len(r.groups) > 0 && r.groups[len(r.groups)-1].status != "" {
			g := r.groups[len(r.groups)-1]
			fmt.Fprintf(os.Stderr, "%s: %s: status %s after %s s\n", m.name, g.name, g.status, g.seconds)
		}
	})
	r.took = time.Since(start)
	return err
}
