package usdt

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/nopfire/nopfire/internal/procmaps"
	"github.com/nopfire/nopfire/internal/procwatch"
)

// FollowOptions say what to follow. The zero value of each field is the usual
// choice, and a nil *FollowOptions is all of them.
type FollowOptions struct {
	// PID is the process to follow; 0: all processes, those that start later
	// included. Processes that it forks are not followed with it.
	PID int
	// Interval is how often mappings are looked at without cause, since the
	// kernel does not tell when something is unmapped; 0 means one second.
	// Without the privilege to be told of mappings it is also how often new
	// ones are looked for: see Follower.Polling.
	Interval time.Duration
	// BufferSize is the number of bytes to buffer for each CPU, 0 means
	// 256 KiB. Nothing is missed if they do not suffice, but then all
	// processes have to be looked at once more.
	BufferSize int
}

// A Change is what has changed for a follower, on balance, since the Change
// before.
type Change struct {
	// Added are the targets in files that are mapped now. All targets of one
	// file come together. They can be attached to at once; when they follow
	// all processes, their PID is 0.
	Added []*Target
	// Removed are targets, as they were added, in files that are not mapped
	// any more.
	Removed []*Target
	// Problems are the faults that were met, as in a Result. Each is told
	// once.
	Problems []error
}

// empty reports whether nothing has changed.
func (c *Change) empty() bool { return len(c.Added)+len(c.Removed)+len(c.Problems) == 0 }

// A Follower finds probes as processes map them: those of processes that start
// later and of objects that are loaded later, memfds included, within
// milliseconds and without polling. It is for one process or for all.
//
// Each file is added once, however many processes map it, and removed when the
// last of them has unmapped it or ended; within the Interval for an unmapped one.
// A file with a name, as that of a program that runs for a moment only, is added
// even if it is not mapped any more by then.
// If there are very many processes to look at, that takes longer: a hundred of
// them are looked at in an Interval. A file that was changed, so that offsets of
// the one are wrong in the other, is another file: it is removed and added.
//
// The kernel tells of mappings through a perf event on each CPU, which takes
// CAP_PERFMON. CPUs that come online later are taken in within the Interval, and
// processes are looked at anew then. What a file that was executable without any
// probe is given later, in place, is seen only if it is mapped again, or if its
// process is the one that is followed.
type Follower struct {
	opts   FollowOptions
	search *search
	source eventSource

	mu     sync.Mutex // of the consumer
	events []procwatch.Event
	books  *holdings
	barren map[FileID]bool // files without wanted probes
	faults map[string]bool // that were told
	denied map[int]bool    // processes that cannot be looked at, which was told

	kin    kinship      // whose children to look at
	ending map[int]bool // processes whose first thread has ended
	change Change       // in the making
	first  bool         // the first Change was not told yet
	over   bool         // the followed process has ended
	began  string       // when the followed process did: see startTime
	next   time.Time    // of the look without cause
	turn   int          // the last process that was looked at so

	state   sync.Mutex // guards what follows
	polling error
	closed  bool
}

// An eventSource is what a Follower asks of a procwatch.Watcher.
type eventSource interface {
	Read(dst []procwatch.Event, timeout time.Duration) (events []procwatch.Event, lost bool, err error)
	Refresh() (changed bool, err error)
	Wake()
	Close() error
}

// Limits of a Follower.
const (
	// maxBarren bounds the files that are known to have no wanted probe, and
	// maxFaults the faults that are known to have been told; beyond, they
	// are read or told again.
	maxBarren = 1 << 16
	maxFaults = 1000
	// maxLooks bounds the processes that are looked at in an interval.
	maxLooks = 100
)

// NewFollower starts following: what is mapped from now on, and what is mapped
// already, comes from Changes. Patterns are as for FileTargets, except that it is
// no error if nothing matches yet. The error for a process that does not exist
// wraps os.ErrNotExist.
//
// The caller closes the Follower. If nobody does, it ends with this process.
func NewFollower(o *FollowOptions, patterns ...string) (*Follower, error) {
	return newFollower(o, func(size int) (eventSource, error) {
		return procwatch.New(&procwatch.Options{BufferSize: size})
	}, patterns)
}

func newFollower(o *FollowOptions, open func(bufferSize int) (eventSource, error), patterns []string) (*Follower, error) {
	s, err := newSearch(patterns)
	if err != nil {
		return nil, err
	}
	f := &Follower{
		search: s, books: newHoldings(), first: true,
		barren: make(map[FileID]bool), faults: make(map[string]bool),
		denied: make(map[int]bool), ending: make(map[int]bool),
		kin: newKinship(),
	}
	if o != nil {
		f.opts = *o
	}
	if f.opts.Interval <= 0 {
		f.opts.Interval = time.Second
	}
	if f.opts.PID < 0 {
		return nil, fmt.Errorf("follow process %d: %w", f.opts.PID, errNoProcess)
	}
	f.began = startTime(f.opts.PID)
	// The events first: what is mapped while the processes are looked at is
	// not missed then.
	if f.source, err = open(f.opts.BufferSize); err != nil {
		f.poll(err)
	}
	if err := f.scan(); err != nil {
		f.source.Close()
		return nil, err
	}
	if f.over {
		f.source.Close()
		return nil, fmt.Errorf("follow process %d: %w", f.opts.PID, errNoProcess)
	}
	f.next = time.Now().Add(f.opts.Interval)
	return f, nil
}

// poll makes the follower do without events, for a reason.
func (f *Follower) poll(reason error) {
	f.state.Lock()
	defer f.state.Unlock()
	f.polling = reason
	f.source = newTicker(f.opts.Interval)
	if f.closed {
		f.source.Close()
	}
}

// Polling returns nil if the kernel tells of mappings as they happen, and
// otherwise the reason why it does not, a missing CAP_PERFMON for instance. Then
// /proc is read again and again: a probe is found within FollowOptions.Interval,
// and one that is gone before that never.
func (f *Follower) Polling() error {
	f.state.Lock()
	defer f.state.Unlock()
	return f.polling
}

// Changes returns the sequence of changes. The first one comes at once and says
// what was mapped when NewFollower returned, even if that is nothing. Later ones
// come as things happen; whatever happens while the consumer is busy comes as one.
//
// The sequence ends when ctx is cancelled, when the follower is closed, and when
// the one process that is followed has ended, whose targets are removed first. A
// loop that was left can be taken up again by another call; two at the same time
// take turns.
func (f *Follower) Changes(ctx context.Context) iter.Seq[Change] {
	return func(yield func(Change) bool) {
		f.mu.Lock()
		defer f.mu.Unlock()
		defer context.AfterFunc(ctx, f.interrupt)()
		for ctx.Err() == nil && !f.isClosed() {
			f.change.Added, f.change.Removed = f.books.balance()
			if f.first || !f.change.empty() {
				c := f.change
				f.change, f.first = Change{}, false
				if !yield(c) {
					return
				}
				continue
			}
			if f.over || !f.step() {
				return
			}
		}
	}
}

// interrupt makes a waiting Changes look up.
func (f *Follower) interrupt() {
	f.state.Lock()
	defer f.state.Unlock()
	f.source.Wake()
}

func (f *Follower) isClosed() bool {
	f.state.Lock()
	defer f.state.Unlock()
	return f.closed
}

// Close ends a running Changes and frees what the follower holds. Closing twice
// is harmless.
func (f *Follower) Close() error {
	f.state.Lock()
	defer f.state.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	return f.source.Close()
}

// step waits for news and takes note of them. It returns false when there is no
// more to come.
func (f *Follower) step() bool {
	var lost bool
	var err error
	f.events, lost, err = f.source.Read(f.events[:0], max(0, time.Until(f.next)))
	if f.isClosed() {
		return false
	}
	if err != nil {
		f.source.Close()
		f.poll(err)
		lost = true
	}
	for i := range f.events {
		f.handle(&f.events[i])
	}
	for _, pid := range f.kin.endBatch() {
		f.look(pid)
	}
	if lost {
		if err := f.scan(); err != nil {
			f.problem(err)
		}
	}
	if time.Now().After(f.next) {
		f.check()
		f.next = time.Now().Add(f.opts.Interval)
	}
	return true
}

// handle takes note of an event.
func (f *Follower) handle(ev *procwatch.Event) {
	if f.opts.PID != 0 && (ev.PID != f.opts.PID || f.over) {
		return
	}
	_, holds := f.books.procs[ev.PID]
	holds = holds || ev.PID == f.opts.PID
	switch ev.Kind {
	case procwatch.Map:
		o, h, gone := f.see(ev.PID, ev.Mapping)
		if o != nil {
			f.books.hold(ev.PID, o, h)
		}
		if gone {
			// Too late. Children may have the mapping still.
			f.kin.suspect(ev.PID)
			f.glimpse(ev.Mapping)
		}
	case procwatch.Fork:
		// A child has the mappings of its parent, and no event tells of them.
		_, holds := f.books.procs[ev.Parent]
		f.kin.forked(ev.Parent, ev.PID, holds)
	case procwatch.Exec:
		if holds {
			f.look(ev.PID)
		}
	case procwatch.Exit:
		// The other threads end one by one, often long before or after the
		// first.
		if holds && ev.TID == ev.PID {
			f.ending[ev.PID] = true
		}
		if holds && f.ending[ev.PID] {
			f.look(ev.PID)
		}
	}
}

// see opens the file of a mapping, and returns which one it is and how it is held;
// nil if it has no wanted probe, cannot be read, or is gone.
func (f *Follower) see(pid int, m procmaps.Mapping) (o *heldFile, h holding, gone bool) {
	r, open, err := openMapped(pid, m)
	if errors.Is(err, errUnmapped) {
		return nil, h, true
	}
	if err != nil {
		f.problem(err)
	}
	if err != nil || r == nil {
		return nil, h, false
	}
	defer r.Close()
	return f.file(r, open, m), holding{open, inodeOf(m)}, false
}

// glimpse takes note of a file that was mapped and is not any more, if it can be
// opened by its name: a program that runs for a moment only may run again.
func (f *Follower) glimpse(m procmaps.Mapping) {
	if m.Deleted || !filepath.IsAbs(m.Path) {
		return
	}
	r, err := openRegular(m.Path)
	if err != nil {
		return
	}
	defer r.Close()
	if id, err := identify(r); err == nil && id.Inode == m.Inode {
		f.file(r, m.Path, m)
	}
}

// file returns which of the known files an opened one is, or makes it known; nil if
// it has no wanted probe.
func (f *Follower) file(r *os.File, open string, m procmaps.Mapping) *heldFile {
	id, err := identify(r)
	if err != nil {
		f.problem(fmt.Errorf("open %s: %w", printable(m.Path), err))
		return nil
	}
	if o := f.books.files[id]; o != nil || f.barren[id] {
		return o
	}
	file, err := readMapped(r, m.Path)
	if err != nil {
		f.problem(err)
		file = new(File)
	}
	targets, problems := f.search.choose(file, open, f.opts.PID)
	for _, err := range problems {
		f.problem(err)
	}
	if len(targets) == 0 {
		if len(f.barren) >= maxBarren {
			clear(f.barren)
		}
		f.barren[id] = true
		return nil
	}
	return f.books.add(id, targets, m)
}

// look looks at all mappings of a process. It returns the reason why it may not.
func (f *Follower) look(pid int) error {
	now := make(map[*heldFile]holding)
	for m, err := range executableFiles(pid) {
		var fe *procmaps.FormatError
		switch {
		case errors.As(err, &fe):
			f.problem(err)
			continue
		case errors.Is(err, os.ErrNotExist):
			f.ended(pid)
			return nil
		case err != nil:
			return err // what it held it may hold still
		}
		if o, h, _ := f.see(pid, m); o != nil {
			now[o] = h
		}
	}
	// The number of the one process may have been given to another, while the
	// consumer was busy. Asked behind the mappings, the answer is for all of them.
	other := pid == f.opts.PID && startTime(pid) != f.began
	if other || len(now) == 0 && !alive(pid) {
		f.ended(pid)
		return nil
	}
	if f.books.set(pid, now) {
		f.kin.suspect(pid)
	}
	return nil
}

// ended takes note of the end of a process.
func (f *Follower) ended(pid int) {
	if f.books.set(pid, nil) {
		f.kin.suspect(pid)
	}
	delete(f.ending, pid)
	f.over = f.over || pid == f.opts.PID
}

// scan looks at everything.
func (f *Follower) scan() error {
	if pid := f.opts.PID; pid != 0 {
		if err := f.look(pid); err != nil {
			return explainMaps(fmt.Sprintf("read mappings of process %d", pid), err)
		}
		return nil
	}
	pids, err := processes()
	if err != nil {
		return err
	}
	var denied deniedProcesses
	known := f.denied
	f.denied = make(map[int]bool)
	for _, pid := range pids {
		if err := f.look(pid); err != nil {
			f.denied[pid] = true
			if !known[pid] {
				denied.add(pid, err)
			}
		}
	}
	if err := denied.problem(); err != nil {
		f.change.Problems = append(f.change.Problems, err)
	}
	for pid := range f.books.procs {
		if _, ok := slices.BinarySearch(pids, pid); !ok {
			f.ended(pid)
		}
	}
	return nil
}

// check looks for what no event tells of: unmapped objects, and CPUs that have
// come.
func (f *Follower) check() {
	if f.Polling() != nil {
		return // a scan was made just now
	}
	changed, err := f.source.Refresh()
	if err != nil && !f.isClosed() {
		f.source.Close()
		f.poll(err)
	}
	if changed || err != nil || f.opts.PID != 0 {
		if err := f.scan(); err != nil {
			f.problem(err)
		}
		return
	}
	// The holders take turns, by their numbers.
	pids := make([]int, 0, len(f.books.procs))
	for pid := range f.books.procs {
		pids = append(pids, pid)
	}
	slices.Sort(pids)
	from, _ := slices.BinarySearch(pids, f.turn+1)
	pids = append(pids[from:], pids[:from]...)
	for _, pid := range pids[:min(len(pids), maxLooks)] {
		f.turn = pid
		if !f.holdsStill(pid) {
			f.look(pid)
		}
	}
}

// holdsStill reports whether a process maps all that it held, by the numbers in
// its mappings alone.
func (f *Follower) holdsStill(pid int) bool {
	now := make(map[inode]bool)
	for m, err := range executableFiles(pid) {
		if err == nil {
			now[inodeOf(m)] = true
		}
	}
	for _, h := range f.books.procs[pid] {
		if !now[h.inode] {
			return false
		}
	}
	return true
}

// problem keeps a fault for the next Change, unless it was told already.
func (f *Follower) problem(err error) {
	text := err.Error()
	if f.faults[text] {
		return
	}
	if len(f.faults) >= maxFaults {
		clear(f.faults)
	}
	f.faults[text] = true
	f.change.Problems = append(f.change.Problems, err)
}

// A ticker stands in for a watcher where there is none: nothing is ever told,
// and everything lost, again and again.
type ticker struct {
	interval time.Duration
	wake     chan struct{}
	done     chan struct{}
	once     sync.Once
}

func newTicker(interval time.Duration) *ticker {
	return &ticker{interval: interval, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

func (t *ticker) Read(dst []procwatch.Event, timeout time.Duration) ([]procwatch.Event, bool, error) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-timer.C:
		return dst, true, nil
	case <-t.wake:
		return dst, false, nil
	case <-t.done:
		return dst, false, procwatch.ErrClosed
	}
}

func (t *ticker) Refresh() (bool, error) { return false, nil }

func (t *ticker) Wake() {
	select {
	case t.wake <- struct{}{}:
	default: // is awake
	}
}

func (t *ticker) Close() error {
	t.once.Do(func() { close(t.done) })
	return nil
}

// procPath is the beginning of the paths of a process.
func procPath(pid int) string { return fmt.Sprintf("/proc/%d/", pid) }
