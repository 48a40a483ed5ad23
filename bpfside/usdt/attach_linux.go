package usdt

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/nopfire/nopfire/internal/feature"
)

// AttachUSDT attaches a program to all locations of a target and returns one
// link for them. The program must have been loaded from a specification that
// PrepareProgram made fit for the same method.
//
// The file is opened anew and must be the one whose notes were read, byte for
// byte as far as size and time of change can tell; else the error wraps
// ErrChanged. Semaphores are counted up in the traced processes until the link
// is closed, also when this process dies. Locations that cannot be attached to
// (Location.Err, or the Err of the Site) are left out if there are others: see
// Options.LeftOut. The probe is put on the instruction that the kernel optimizes,
// if the location is one of the known forms of several nops: see Site.Shift.
//
// The caller closes the link. If nobody does, it ends with the process.
func AttachUSDT(prog *ebpf.Program, t *Target, opts *Options) (link.Link, error) {
	links, err := AttachAll(prog, []*Target{t}, opts)
	if err != nil {
		return nil, err
	}
	return links[0], nil
}

// AttachAll attaches a program to all locations of several targets, with one link
// for each file and process that they are in, in the order of the targets; else it
// is as AttachUSDT. Either all are attached to, or none: the error then holds an
// *AttachError for each file that is in the way.
func AttachAll(prog *ebpf.Program, targets []*Target, opts *Options) ([]link.Link, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	groups, err := groupTargets(targets, &o)
	if err != nil {
		return nil, err
	}
	return attachGroups(prog, groups, &o)
}

// attachGroups attaches a program to groups of targets: to all or none. It returns
// a link for each group.
func attachGroups(prog *ebpf.Program, groups []*group, o *Options) ([]link.Link, error) {
	var errs []error
	var err error
	if o.Method, err = o.Method.resolve(); err == nil && prog == nil {
		err = errors.New("no program")
	}
	for _, g := range groups {
		if err != nil {
			errs = append(errs, g.fail(o.Method, err))
		} else if err := g.plan(o); err != nil {
			errs = append(errs, g.fail(o.Method, err))
		}
		defer g.close()
	}
	if len(errs) > 0 {
		return nil, join(errs)
	}
	links := make([]link.Link, 0, len(groups))
	for _, g := range groups {
		l, err := g.attach(prog, o.Method)
		if err != nil {
			closeAll(links)
			return nil, g.fail(o.Method, err)
		}
		links = append(links, l)
	}
	return links, nil
}

// attach attaches the program to what was planned.
func (g *group) attach(prog *ebpf.Program, m Method) (link.Link, error) {
	if err := usable(prog); err != nil {
		return nil, err
	}
	// The descriptor leads the kernel to the file that was just compared,
	// whatever becomes of its name.
	ex, err := link.OpenExecutable(fmt.Sprintf("/proc/self/fd/%d", g.file.Fd()))
	if err != nil {
		return nil, err
	}
	var l link.Link
	if m == UprobeMulti {
		l, err = attachMulti(ex, prog, g.places, g.pid)
	} else {
		l, err = attachPerf(ex, prog, g.places, g.pid)
	}
	if err != nil {
		return nil, explain(err, prog, g.targets[0], g.places, m, g.pid)
	}
	return l, nil
}

func attachMulti(ex *link.Executable, prog *ebpf.Program, places []place, pid int) (link.Link, error) {
	opts := link.UprobeMultiOptions{PID: uint32(pid)}
	withRefCtr := false
	for _, p := range places {
		opts.Addresses = append(opts.Addresses, p.offset)
		opts.RefCtrOffsets = append(opts.RefCtrOffsets, p.refCtr)
		opts.Cookies = append(opts.Cookies, p.cookie)
		withRefCtr = withRefCtr || p.refCtr != 0
	}
	if !withRefCtr {
		opts.RefCtrOffsets = nil
	}
	return ex.UprobeMulti(nil, prog, &opts)
}

func attachPerf(ex *link.Executable, prog *ebpf.Program, places []place, pid int) (link.Link, error) {
	links := make([]link.Link, 0, len(places))
	for _, p := range places {
		l, err := ex.Uprobe("", prog, &link.UprobeOptions{
			Address: p.offset, RefCtrOffset: p.refCtr, Cookie: p.cookie, PID: pid,
		})
		if err != nil {
			closeAll(links)
			return nil, fmt.Errorf("location %#x: %w", p.offset, err)
		}
		links = append(links, l)
	}
	return together(links), nil
}

// together makes one link of one or several.
func together(links []link.Link) link.Link {
	if len(links) == 1 {
		return links[0]
	}
	return &perfLinks{links[0], links}
}

// perfLinks are several links, as one: of the locations of a perf_event attach, of the
// objects of AttachURDT. The embedded first one
// makes it a link.Link, which other packages cannot implement.
type perfLinks struct {
	link.Link
	all []link.Link
}

func (l *perfLinks) Close() error { return closeAll(l.all) }

func (l *perfLinks) Detach() error {
	var errs []error
	for _, one := range l.all {
		errs = append(errs, one.Detach())
	}
	return errors.Join(errs...)
}

func (l *perfLinks) Pin(string) error {
	return fmt.Errorf("pin %d links as one: %w", len(l.all), link.ErrNotSupported)
}

func (l *perfLinks) Unpin() error { return nil }

func (l *perfLinks) Update(*ebpf.Program) error {
	return fmt.Errorf("update %d links as one: %w", len(l.all), link.ErrNotSupported)
}

// Info describes the link of the first location.
func (l *perfLinks) Info() (*link.Info, error) { return l.Link.Info() }

// closeAll closes links side by side. Each close waits until no CPU can be inside
// the program any more, most of it under one lock of the kernel (event_mutex in
// perf_trace_destroy, kernel/trace/trace_event_perf.c), so that company saves a
// fifth only: 100 links took 8.1 s instead of 10.2 s on Linux 6.18.
func closeAll(links []link.Link) error {
	const workers = 32 // each is a thread that waits in the kernel
	var (
		wg   sync.WaitGroup
		errs = make([]error, len(links))
		next = make(chan int)
	)
	for range min(workers, len(links)) {
		wg.Go(func() {
			for i := range next {
				errs[i] = links[i].Close()
			}
		})
	}
	for i := range links {
		next <- i
	}
	close(next)
	wg.Wait()
	return errors.Join(errs...)
}

// explain turns an answer of the kernel into one that says what to do.
func explain(err error, prog *ebpf.Program, t *Target, places []place, m Method, pid int) error {
	const enotsupp = syscall.Errno(524) // ENOTSUPP, include/linux/errno.h: not for user space, and yet returned
	switch {
	case pid > 0 && (errors.Is(err, syscall.ESRCH) || errors.Is(err, os.ErrNotExist)):
		return fmt.Errorf("process %d does not exist: %w", pid, err)
	case errors.Is(err, enotsupp):
		return fmt.Errorf("the kernel refuses to probe the instruction at a location (a prefix, or the middle of an instruction?): %w", err)
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		caps := feature.TracingCaps
		if m == PerfEvent {
			caps = feature.PerfUprobeCaps
		}
		return feature.Explain("attach", err, caps...)
	}
	if loadErr := fits(prog, m); loadErr != nil {
		return loadErr
	}
	if errors.Is(err, syscall.EINVAL) {
		return &ConflictError{holders(t.ID, places), syscall.EINVAL}
	}
	return err
}

// fits attaches a program to a file that nobody maps, and reports why if that
// does not work either: then the program is at fault and not the target. The
// error of the kernel cannot tell, since cilium/ebpf keeps the text alone of one.
func fits(prog *ebpf.Program, m Method) error {
	path, closeFile, err := feature.TargetFile()
	if err != nil {
		return nil //nolint:nilerr // nothing learnt about the program
	}
	defer closeFile()
	ex, err := link.OpenExecutable(path)
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	places := []place{{offset: feature.TargetOffset}}
	var l link.Link
	if m == UprobeMulti {
		l, err = attachMulti(ex, prog, places, 0)
	} else {
		l, err = attachPerf(ex, prog, places, os.Getpid())
	}
	if err == nil {
		l.Close()
		return nil
	}
	return fmt.Errorf("the program was not loaded for %s (see PrepareProgram): %w", m, err)
}

// holders describes the uprobe_multi links, of whatever process, that stand at
// one of the places with another semaphore. Links that cannot be looked at are
// passed over.
func holders(id FileID, places []place) []string {
	var out []string
	// What cannot be asked for is not known.
	_ = eachConflict(id, places, mayBeFile, func(_ uint64, holder string) bool {
		out = append(out, holder)
		return false
	})
	return out
}

// eachConflict calls fn for each place at which a link stands with another semaphore;
// if it returns false, for no more places of that link. Is decides by the path that a
// link shows whether it is of the file.
func eachConflict(id FileID, places []place, is func(path string, id FileID) bool, fn func(offset uint64, holder string) bool) error {
	refCtr := make(map[uint64]uint64, len(places))
	for _, p := range places {
		refCtr[p.offset] = p.refCtr
	}
	it := new(link.Iterator)
	defer it.Close()
	for it.Next() {
		info, err := it.Link.Info()
		if err != nil || info.UprobeMulti() == nil || !is(info.UprobeMulti().File, id) {
			continue
		}
		offs, _ := info.UprobeMulti().Offsets()
		for _, o := range offs {
			want, ours := refCtr[o.Offset]
			if !ours || want == o.ReferenceCount {
				continue
			}
			text := fmt.Sprintf("bpf link %d of program %d (semaphore at %#x there, %#x here)", info.ID, info.Program, o.ReferenceCount, want)
			if !fn(o.Offset, text) {
				break
			}
		}
	}
	return it.Err()
}

// mayBeFile reports whether a path, as a link shows it, may lead to a file. A path
// that leads nowhere, as that of a memfd, may.
func mayBeFile(path string, id FileID) bool {
	_, err := os.Stat(path)
	return err != nil || isFile(path, id)
}
