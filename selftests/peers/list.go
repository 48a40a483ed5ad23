//go:build linux

package main

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nopfire/nopfire/internal/testutils"
)

// Where a tool would take many minutes for all files it is run on about as many, and
// its time is that, times what all are more.
const (
	tplistSample  = 100
	readelfSample = 1000
)

// every returns about n of the files, evenly spread.
func every(files []string, n int) (some []string) {
	for i := 0; i < len(files); i += max(1, len(files)/n) {
		some = append(some, files[i])
	}
	return some
}

// A note is a location of a probe.
type note struct {
	probe   string // PROVIDER:PROBE
	address uint64
	args    string
}

// notes are the notes of files, and how often each is there.
type notes map[string]map[note]int

func (l notes) add(path string, n note) {
	if l[path] == nil {
		l[path] = make(map[note]int)
	}
	l[path][n]++
}

// A listing is what a tool has found and how long it took.
type listing struct {
	name  string
	found notes
	times []float64 // in seconds
	files int       // that it was run on
	all   int       // that it would have been run on
}

// measureList prints how long it takes to look through the ELF files of a
// directory. All of them are in the page cache by then. Where the tools are told
// which files are ELF nopfire is too, and where it has to find them so has the loop,
// which leaves that to readelf.
func (c *config) measureList() error {
	elfs, files, err := filesOf(c.scan)
	if err != nil {
		return err
	}
	told := &listing{name: "nopfire list FILE…", files: len(elfs), all: len(elfs)}
	readelf := &listing{name: "readelf -n FILE, in a loop", files: len(elfs), all: len(elfs)}
	sample := every(elfs, tplistSample)
	tplist := &listing{name: "tplist -l FILE, in a loop", files: len(sample), all: len(elfs)}
	fresh := &listing{name: "nopfire list DIR, nothing cached", files: len(files), all: len(files)}
	cached := &listing{name: "nopfire list DIR, again", files: len(files), all: len(files)}
	some := every(files, readelfSample)
	blind := &listing{name: "find -type f and readelf -n, in a loop", files: len(some), all: len(files)}
	cache := filepath.Join(c.dir, "cache")
	for range c.runs {
		for _, step := range []func() error{
			func() error { return c.list(told, cache, elfs...) },
			func() error { os.RemoveAll(cache); return c.list(fresh, cache, c.scan) },
			func() error { return c.list(cached, cache, c.scan) },
			func() error { return listByReadelf(readelf, elfs) },
			func() error { return listByReadelf(blind, some) },
		} {
			if err := step(); err != nil {
				return err
			}
		}
	}
	tables := []struct {
		title    string
		listings []*listing
	}{
		{fmt.Sprintf("the %d ELF files of %s", len(elfs), c.scan), []*listing{told, readelf}},
		{fmt.Sprintf("the %d files of %s", len(files), c.scan), []*listing{fresh, cached, blind}},
	}
	if err := listByTplist(tplist, sample, readelf.found); err != nil {
		fmt.Printf("not measured: tplist: %v\n", err)
	} else {
		tables[0].listings = append(tables[0].listings, tplist)
	}
	for _, t := range tables {
		rows := [][]string{{t.title, "n", "median", "least…most", "ratio", "notes"}}
		base, _, _ := median(t.listings[0].times)
		for _, l := range t.listings {
			rows = append(rows, l.row(base))
		}
		printTable(rows)
	}
	return errors.Join(compare(readelf, told), compare(readelf, fresh), compare(readelf, cached), compareProbes(tplist, readelf))
}

// row returns the medians of a listing beside a time.
func (l *listing) row(base float64) []string {
	scale := float64(l.all) / float64(l.files)
	mid, low, high := median(l.times)
	name, found := l.name, l.found.count()
	if l.files < l.all {
		name += fmt.Sprintf(", as %d of them took", l.files)
		found = "" // not of all
	}
	return []string{name, fmt.Sprint(len(l.times)), fmt.Sprintf("%.2f s", mid*scale),
		fmt.Sprintf("%.2f…%.2f", low*scale, high*scale), fmt.Sprintf("%.1f", mid*scale/base), found}
}

// count says how many notes there are, in how many files.
func (l notes) count() string {
	n := 0
	for _, probes := range l {
		for _, k := range probes {
			n += k
		}
	}
	return fmt.Sprintf("%d in %d files", n, len(l))
}

// compare returns an error if two listings have not the same notes.
func compare(a, b *listing) error {
	var errs []error
	for path := range union(a.found, b.found) {
		if !maps.Equal(a.found[path], b.found[path]) {
			errs = append(errs, fmt.Errorf("%s: %s has %v, %s %v", path, a.name, a.found[path], b.name, b.found[path]))
		}
	}
	return errors.Join(errs...)
}

// compareProbes returns an error if some listing lacks a probe of another one, in
// the files that the first was run on: tplist does not say how many locations a
// probe has.
func compareProbes(few, all *listing) error {
	var errs []error
	for path, notes := range few.found {
		if got, want := probesOf(notes), probesOf(all.found[path]); !slices.Equal(got, want) {
			errs = append(errs, fmt.Errorf("%s: %s has %v, %s %v", path, few.name, got, all.name, want))
		}
	}
	return errors.Join(errs...)
}

func probesOf(notes map[note]int) []string {
	var names []string
	for n := range notes {
		names = append(names, n.probe)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func union(a, b notes) map[string]bool {
	paths := make(map[string]bool)
	for _, l := range []notes{a, b} {
		for path := range l {
			paths[path] = true
		}
	}
	return paths
}

// filesOf returns the ELF files of a directory, and all files: links are not
// followed, and of the names that a file has each is one.
func filesOf(dir string) (elfs, files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files = append(files, path)
		f, err := os.Open(path)
		if err != nil {
			return nil
		}
		defer f.Close()
		var magic [4]byte
		if _, err := f.Read(magic[:]); err == nil && string(magic[:]) == elf.ELFMAG {
			elfs = append(elfs, path)
		}
		return nil
	})
	return elfs, files, err
}

// list runs nopfire over files or a directory.
func (c *config) list(l *listing, cache string, paths ...string) error {
	cmd := exec.Command(c.nopfire, append([]string{"list", "--json"}, paths...)...)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+cache)
	begin := time.Now()
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%v: %w", cmd, err)
	}
	l.times = append(l.times, time.Since(begin).Seconds())
	l.found = make(notes)
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p struct {
			Provider, Probe, Path string
			Locations             []struct {
				Address uint64
				Args    string
			}
		}
		if err := dec.Decode(&p); err != nil {
			return err
		}
		for _, at := range p.Locations {
			l.found.add(p.Path, note{p.Provider + ":" + p.Probe, at.Address, at.Args})
		}
	}
	return nil
}

// readelfLoop is the loop of the shell. Of a file that is damaged readelf prints
// what it can.
const readelfLoop = `while IFS= read -r file; do echo "FILE $file"; LC_ALL=C readelf -n "$file"; done`

// listByReadelf runs readelf once a file.
func listByReadelf(l *listing, files []string) error {
	cmd := exec.Command("sh", "-c", readelfLoop)
	cmd.Stdin = strings.NewReader(strings.Join(files, "\n") + "\n")
	begin := time.Now()
	out, err := cmd.Output()
	l.times = append(l.times, time.Since(begin).Seconds())
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		return err
	}
	l.found = make(notes)
	for part := range strings.SplitSeq("\n"+string(out), "\nFILE ") {
		path, out, _ := strings.Cut(part, "\n")
		if !strings.Contains(out, "stapsdt") {
			continue
		}
		found, err := testutils.ParseReadelf(strings.NewReader(out))
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		base, err := baseAddress(path)
		if err != nil {
			return err
		}
		for _, n := range found {
			n = n.Adjusted(base)
			l.found.add(path, note{n.Provider + ":" + n.Name, n.Location, n.Args})
		}
	}
	return nil
}

// baseAddress returns where the section .stapsdt.base of a file is, 0 if it has
// none: by how much that moved, the addresses in the notes have.
func baseAddress(path string) (uint64, error) {
	f, err := elf.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if s := f.Section(".stapsdt.base"); s != nil {
		return s.Addr, nil
	}
	return 0, nil
}

// listByTplist runs tplist on files, for the time, and on those that have notes, for
// what it finds.
func listByTplist(l *listing, files []string, found notes) error {
	tplist, err := exec.LookPath("tplist-bpfcc")
	if err != nil {
		return err
	}
	l.found = make(notes)
	run := func(path string) error {
		out, err := exec.Command(tplist, "-l", path).Output()
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for line := range strings.Lines(string(out)) {
			// PATH PROVIDER:PROBE, and PATH may be what the library has
			// made of it.
			fields := strings.Fields(line)
			if len(fields) > 1 {
				l.found.add(path, note{probe: fields[len(fields)-1]})
			}
		}
		return nil
	}
	begin := time.Now()
	for _, path := range files {
		if err := run(path); err != nil {
			return err
		}
	}
	l.times = append(l.times, time.Since(begin).Seconds())
	clear(l.found)
	for _, path := range slices.Sorted(maps.Keys(found)) {
		if err := run(path); err != nil {
			return err
		}
	}
	return nil
}
