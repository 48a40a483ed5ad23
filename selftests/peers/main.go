//go:build linux

// Command peers measures nopfire beside bpftrace, bcc's tools and readelf, taking
// turns on the same load, and prints tables for docs/figures.md:
//
//	start       from exec to the first line of an event, and the memory it takes
//	throughput  events a second that reach a file, and those that are lost
//	list        every ELF file of a directory for its probes
//
// It is run as root from the root of the repository, by "make peers". Times are
// printed and judge nothing. What is said beside them is: the exit status is 1 if
// nopfire finds other notes than readelf, or loses an event without saying so.
//
// bcc's trace needs kernel headers: BCC_KERNEL_SOURCE, as for the tool itself.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// config is what the flags say.
type config struct {
	nopfire string // the binary
	dir     string // for what is built and printed
	lib     string // of the program that fires
	program string
	scan    string // the directory to list
	runs    int
	millis  int // of a storm
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run() error {
	var c config
	only := flag.String("only", "start,throughput,list", "what to measure")
	flag.StringVar(&c.nopfire, "nopfire", "", "the binary `FILE`; built if empty")
	flag.StringVar(&c.scan, "scan", "/usr", "the `DIRECTORY` to list")
	flag.IntVar(&c.runs, "runs", 5, "measure `N` times")
	flag.IntVar(&c.millis, "millis", 3000, "fire for `MS` in each run of throughput")
	flag.Parse()

	dir, err := os.MkdirTemp("", "nopfire-peers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c.dir, c.program, c.lib = dir, filepath.Join(dir, "seed"), filepath.Join(dir, "libseed.so")
	if err := c.build(); err != nil {
		return err
	}
	var errs []error
	for _, part := range strings.Split(*only, ",") {
		switch part {
		case "start":
			err = c.measureStart()
		case "throughput":
			err = c.measureThroughput()
		case "list":
			err = c.measureList()
		default:
			return fmt.Errorf("-only %s: want start, throughput or list", part)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", part, err))
		}
	}
	return errors.Join(errs...)
}

// build makes the binary and the program that fires.
func (c *config) build() error {
	src := "selftests/testprogs/seed/"
	cmds := [][]string{
		{"gcc", "-O2", "-shared", "-fPIC", "-o", c.lib, src + "loop.c", src + "value.c"},
		{"gcc", "-O2", "-o", c.program, src + "main.c", c.lib},
	}
	if c.nopfire == "" {
		c.nopfire = filepath.Join(c.dir, "nopfire")
		cmds = append(cmds, []string{"go", "build", "-trimpath", "-o", c.nopfire, "./cmd/nopfire"})
	}
	for _, cmd := range cmds {
		if out, err := exec.Command(cmd[0], cmd[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(cmd, " "), err, out)
		}
	}
	return nil
}

// median returns the middle of what was measured, and the smallest and the largest.
func median[T int64 | float64](s []T) (mid, low, high T) {
	s = slices.Sorted(slices.Values(s))
	if len(s) == 0 {
		return 0, 0, 0
	}
	return s[len(s)/2], s[0], s[len(s)-1]
}

// printTable prints rows, the first of which is the header, as a table of Markdown.
func printTable(rows [][]string) {
	fmt.Println()
	for i, row := range rows {
		fmt.Printf("| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Println(strings.Repeat("|---", len(row)) + "|")
		}
	}
}
