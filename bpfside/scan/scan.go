// Package scan finds the files with probes in directories: in parallel, reading of
// each file as little as tells whether it has any.
//
// It knows files only. What a process has mapped is package usdt's business, and
// so is everything about a probe.
package scan

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nopfire/nopfire/bpfside/usdt"
)

// Options say how to scan. The zero value of each field is the usual choice, and a
// nil *Options is all of them.
type Options struct {
	// Workers is the number of files that are read at the same time; 0: one
	// for each processor that Go uses.
	Workers int
	// Cache, if not nil, knows files of former scans that have no probes, and
	// takes note of more of them.
	Cache *Cache
	// Progress, if not nil, is called now and then while the scan goes on, by
	// one goroutine, and not any more when Files has returned.
	Progress func(Stats)
}

// Stats count what a scan has looked at.
type Stats struct {
	// Dirs are directories that were read, Files the regular files in them and
	// those that were named, ELF those among them that were read as ELF files,
	// and Found those with probes.
	Dirs, Files, ELF, Found int64
	// Cached are those of Files that the cache knew.
	Cached int64
}

// A Result is what a scan found. It is never nil, also beside an error.
type Result struct {
	// Files are the files with probes, and those that were named: in the order
	// of the paths that were given, and by name within a directory. Their
	// Problems stand in them.
	Files []*usdt.File
	// Problems are the directories and files below the given ones that could
	// not be read.
	Problems []error
	Stats    Stats
}

// A DeniedError says that files or directories could not be read for want of
// privilege.
type DeniedError struct {
	// Paths are the first of them, and N is the number of all.
	Paths []string
	N     int
}

func (e *DeniedError) Error() string {
	if e.N == 1 {
		return fmt.Sprintf("%q: %v", e.Paths[0], fs.ErrPermission)
	}
	return fmt.Sprintf("%d files and directories, such as %q: %v", e.N, e.Paths[0], fs.ErrPermission)
}

// Unwrap returns fs.ErrPermission.
func (e *DeniedError) Unwrap() error { return fs.ErrPermission }

// Files reads the notes of files: of each path that is a file, as usdt.Open does,
// and of all ELF files in each that is a directory and below it.
//
// In directories it looks at regular files alone, at each file once, however many
// names it has or if it was named itself, and follows no symbolic links. It does not enter other file systems
// that hold no files of users, such as proc and sysfs, nor what is mounted on a
// directory dev. A directory or file in there that cannot be read is a Problem.
//
// The error tells which of the given paths could not be read, and that the scan was
// ended by ctx. The Result still holds what was found until then.
func Files(ctx context.Context, paths []string, o *Options) (*Result, error) {
	if o == nil {
		o = new(Options)
	}
	w := newWalker(ctx, o.Cache)
	stopProgress := w.report(o.Progress)
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var errs []error
	for i, path := range paths {
		st, err := os.Stat(path)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("open %s: %w", quoted(path), cause(err)))
		case st.IsDir():
			o.Cache.load()
			w.push(task{path: path, root: i, top: true})
		default:
			w.push(task{path: path, root: i, named: true})
		}
	}
	w.run(workers)
	stopProgress()

	res := &Result{Problems: w.problems, Stats: w.stats.get()}
	for _, f := range w.once() {
		res.Files = append(res.Files, f.file)
	}
	slices.SortStableFunc(res.Problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	if w.denied.N > 0 {
		slices.Sort(w.denied.Paths)
		res.Problems = append(res.Problems, &w.denied)
	}
	slices.SortStableFunc(w.errs, func(a, b rootError) int { return a.root - b.root })
	for _, e := range w.errs {
		errs = append(errs, e.err)
	}
	if err := ctx.Err(); err != nil {
		errs = append(errs, fmt.Errorf("scan ended after %d directories: %w", res.Stats.Dirs, err))
	}
	return res, errors.Join(errs...)
}

// counters are Stats that several goroutines count.
type counters struct{ dirs, files, elf, found, cached atomic.Int64 }

func (c *counters) get() Stats {
	return Stats{Dirs: c.dirs.Load(), Files: c.files.Load(), ELF: c.elf.Load(), Found: c.found.Load(), Cached: c.cached.Load()}
}

// report calls a function now and then until what it returns is called.
func (w *walker) report(progress func(Stats)) (stop func()) {
	if progress == nil {
		return func() {}
	}
	const often = 100 * time.Millisecond // a terminal shows no more to a human
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(often)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				progress(w.stats.get())
			case <-end:
				return
			}
		}
	}()
	return func() { close(end); <-ended }
}

// quoted returns a name as messages show it.
func quoted(path string) string {
	if q := fmt.Sprintf("%q", path); q[1:len(q)-1] != path {
		return q
	}
	return path
}

// cause takes the path out of an error of package os, for messages that name it
// already.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
