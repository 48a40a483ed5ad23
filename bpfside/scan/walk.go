package scan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nopfire/nopfire/bpfside/usdt"
)

// A task is a directory or a named file to be read.
type task struct {
	path string
	root int // index of the given path that it stands for or lies below
	// top is a directory that was given itself, named a file that was.
	top, named bool
	// device and fs are those of the directory above.
	device uint64
	fs     fileSystem
}

// A found is a file with probes.
type found struct {
	root  int
	file  *usdt.File
	named bool // and not met in a directory
}

func (f *found) key() fileKey { return fileKey{f.file.ID.Dev, f.file.ID.Inode} }

// A rootError is the fault of a path that was given.
type rootError struct {
	root int
	err  error
}

// A walker holds what the workers share: a stack of what is to be read, so that
// they go into the depth and it stays small, and what they have found.
type walker struct {
	ctx   context.Context
	cache *Cache
	began time.Time
	stats counters

	mu   sync.Mutex
	work *sync.Cond // there is a task, or there will be none any more
	todo []task
	busy int // workers that may add to todo

	found    []found
	byID     map[fileKey]int // index in found of files in directories
	problems []error
	denied   DeniedError
	errs     []rootError
}

// A fileKey tells files apart that have several names.
type fileKey struct{ device, inode uint64 }

func newWalker(ctx context.Context, cache *Cache) *walker {
	w := &walker{ctx: ctx, cache: cache, byID: make(map[fileKey]int)}
	if cache != nil {
		w.began = cache.clock()
	}
	w.work = sync.NewCond(&w.mu)
	return w
}

func (w *walker) push(tasks ...task) {
	if len(tasks) == 0 {
		return
	}
	w.mu.Lock()
	w.todo = append(w.todo, tasks...)
	w.mu.Unlock()
	w.work.Broadcast()
}

// run does all tasks, and those that come up meanwhile.
func (w *walker) run(workers int) {
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for t, ok := w.next(); ok; t, ok = w.next() {
				w.do(t)
				w.done()
			}
		})
	}
	wg.Wait()
}

// next takes a task from the stack; ok is false when there is none and none will
// come.
func (w *walker) next() (t task, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.todo) == 0 && w.busy > 0 {
		w.work.Wait()
	}
	if len(w.todo) == 0 || w.ctx.Err() != nil {
		w.todo = nil
		w.work.Broadcast()
		return task{}, false
	}
	last := len(w.todo) - 1
	t, w.todo = w.todo[last], w.todo[:last]
	w.busy++
	return t, true
}

func (w *walker) done() {
	w.mu.Lock()
	w.busy--
	idle := w.busy == 0
	w.mu.Unlock()
	if idle {
		w.work.Broadcast()
	}
}

func (w *walker) do(t task) {
	if t.named {
		w.stats.files.Add(1)
		f, err := usdt.Open(t.path)
		w.mu.Lock()
		defer w.mu.Unlock()
		if err != nil {
			w.errs = append(w.errs, rootError{t.root, err})
			return
		}
		w.stats.elf.Add(1)
		w.keep(found{t.root, f, true})
		return
	}
	if err := w.directory(t); err != nil {
		if t.top {
			w.mu.Lock()
			w.errs = append(w.errs, rootError{t.root, fmt.Errorf("read directory %s: %w", quoted(t.path), cause(err))})
			w.mu.Unlock()
			return
		}
		w.problem(t.path, err)
	}
}

// keep takes note of a file; w.mu is held.
func (w *walker) keep(f found) {
	if len(f.file.Probes) > 0 {
		w.stats.found.Add(1)
	}
	w.found = append(w.found, f)
}

// directory reads a directory and the files in it.
func (w *walker) directory(t task) error {
	d, err := openDirectory(t.path, t.top)
	if err != nil {
		return err
	}
	if d == nil {
		return nil
	}
	defer d.Close()
	st, err := d.Stat()
	if err != nil {
		return err
	}
	device := deviceOf(st)
	fs := t.fs
	if t.top || device != t.device {
		fs = fileSystemOf(d)
		switch {
		case fs.foreign != "" && t.top:
			return fmt.Errorf("is in a %s, which holds no files of users", fs.foreign)
		case fs.foreign != "":
			return nil
		}
	}
	w.stats.dirs.Add(1)
	const some = 1024 // so that a directory of a million takes no memory for all
	for {
		entries, err := d.ReadDir(some)
		var below []task
		for _, e := range entries {
			switch typ := e.Type(); {
			case typ.IsDir():
				below = append(below, task{path: pathIn(d, e.Name()), root: t.root, device: device, fs: fs})
			case typ.IsRegular():
				w.file(t.root, d, e.Name(), fs.lasting)
			}
		}
		w.push(below...)
		if errors.Is(err, io.EOF) || w.ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// file reads a file in a directory, unless the cache knows that it has no probes.
// Lasting tells that the file may be remembered.
func (w *walker) file(root int, dir *os.File, name string, lasting bool) {
	w.stats.files.Add(1)
	var id identity
	var known bool // is id, which must be that before the file is read
	cached := lasting && w.cache != nil
	if cached && !w.cache.empty() {
		if id, known = identify(dir, name); known && w.cache.has(id) {
			w.stats.cached.Add(1)
			return
		}
	}
	opened, openID, err := openELF(dir, name, cached && !known)
	if err != nil {
		w.problem(pathIn(dir, name), err)
		return
	}
	if !known {
		id = openID
	}
	cached = cached && id != (identity{})
	if opened == nil {
		if cached {
			w.cache.add(id, w.began)
		}
		return
	}
	defer opened.Close()
	w.stats.elf.Add(1)
	path := opened.Name()
	file, err := usdt.ReadFile(opened, path)
	if err != nil {
		w.mu.Lock()
		w.problems = append(w.problems, err)
		w.mu.Unlock()
		return
	}
	if len(file.Probes) == 0 && len(file.Problems) == 0 {
		if cached {
			w.cache.add(id, w.began)
		}
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	// Of several names of a file the first by root and alphabet, whichever was
	// met first.
	f := found{root, file, false}
	key := f.key()
	if i, ok := w.byID[key]; ok && key != (fileKey{}) {
		if old := &w.found[i]; root < old.root || root == old.root && path < old.file.Path {
			*old = f
		}
		return
	}
	w.byID[key] = len(w.found)
	w.keep(f)
}

// once drops files in directories that were named as well, and returns the rest in
// order.
func (w *walker) once() []found {
	named := make(map[fileKey]bool)
	for i := range w.found {
		if f := &w.found[i]; f.named {
			named[f.key()] = true
		}
	}
	delete(named, fileKey{}) // where files have no numbers
	all := slices.DeleteFunc(w.found, func(f found) bool { return !f.named && named[f.key()] })
	slices.SortStableFunc(all, func(a, b found) int {
		if a.root != b.root {
			return a.root - b.root
		}
		return strings.Compare(a.file.Path, b.file.Path)
	})
	return all
}

// pathIn returns the path of what is in a directory.
func pathIn(dir *os.File, name string) string {
	path := dir.Name()
	if path != "" && os.IsPathSeparator(path[len(path)-1]) {
		return path + name
	}
	return path + string(os.PathSeparator) + name
}

// maxDenied is how many paths a DeniedError names.
const maxDenied = 10

// problem takes note that something below a given directory could not be read.
// That it has gone meanwhile is no fault.
func (w *walker) problem(path string, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !errors.Is(err, fs.ErrPermission) {
		w.problems = append(w.problems, fmt.Errorf("read %s: %w", quoted(path), cause(err)))
		return
	}
	if w.denied.N++; len(w.denied.Paths) < maxDenied {
		w.denied.Paths = append(w.denied.Paths, path)
	}
}
