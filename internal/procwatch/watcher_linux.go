package procwatch

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// onlineFile lists the CPUs that run, as in "0-3,8".
const onlineFile = "/sys/devices/system/cpu/online"

// defaultBuffer is the buffer of a CPU unless Options say otherwise. Two of
// them fit into the 516 KiB that every user may lock for each CPU
// (perf_event_mlock_kb).
const defaultBuffer = 256 << 10

// A Watcher gathers the events of all processes from its creation on. One
// goroutine reads; Wake and Close may be called by others.
type Watcher struct {
	bufferSize int
	online     func() (string, error)

	closed atomic.Bool
	wakeMu sync.Mutex // guards wake against its end
	wake   int        // eventfd, -1 once closed

	mu    sync.Mutex // guards what follows, and the mapped buffers, against Close
	cpus  string
	rings []*ring
	lost  bool // by a ring that is no more
	fds   []unix.PollFd
}

// New starts watching. It takes CAP_PERFMON, or a perf_event_paranoid of at most
// 0; without, the error is a *feature.PermissionError. The caller closes the
// Watcher.
func New(o *Options) (*Watcher, error) {
	return newWatcher(o, func() (string, error) {
		data, err := os.ReadFile(onlineFile)
		return strings.TrimSpace(string(data)), err
	})
}

func newWatcher(o *Options, online func() (string, error)) (*Watcher, error) {
	w := &Watcher{online: online, bufferSize: minBuffer(), wake: -1}
	want := defaultBuffer
	if o != nil && o.BufferSize > 0 {
		want = min(o.BufferSize, 64<<20)
	}
	for w.bufferSize < want {
		w.bufferSize *= 2
	}
	var err error
	if w.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, os.NewSyscallError("eventfd", err)
	}
	if _, err := w.Refresh(); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// Refresh watches CPUs that have come since, and reports whether there were any:
// what happened on them before is not known, nor is what happened on a CPU that
// went and came back between two calls.
func (w *Watcher) Refresh() (changed bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed.Load() {
		return false, ErrClosed
	}
	list, err := w.online()
	if err != nil {
		return false, fmt.Errorf("which cpus are online: %w", err)
	}
	if list == w.cpus {
		return false, nil
	}
	cpus, err := parseCPUs(list)
	if err != nil {
		return false, err
	}
	// The event of a CPU that goes offline is dead for good
	// (perf_event_exit_cpu_context in kernel/events/core.c).
	w.rings = slices.DeleteFunc(w.rings, func(r *ring) bool {
		gone := r.dead || !slices.Contains(cpus, r.cpu)
		if gone {
			w.lost = w.lost || r.pending()
			r.close()
		}
		return gone
	})
	for _, cpu := range cpus {
		if slices.ContainsFunc(w.rings, func(r *ring) bool { return r.cpu == cpu }) {
			continue
		}
		r, err := openRing(cpu, w.bufferSize)
		if errors.Is(err, unix.ENODEV) {
			continue // has gone offline
		}
		if err != nil {
			return false, err
		}
		w.rings = append(w.rings, r)
	}
	w.cpus = list
	return true, nil
}

// parseCPUs reads a list of CPUs, as in "0-3,8".
func parseCPUs(list string) ([]int, error) {
	const most = 1 << 16
	var cpus []int
	for part := range strings.SplitSeq(list, ",") {
		lo, hi, isRange := strings.Cut(part, "-")
		first, err := strconv.Atoi(lo)
		last := first
		if err == nil && isRange {
			last, err = strconv.Atoi(hi)
		}
		if err != nil || first < 0 || last < first || last >= most {
			return nil, fmt.Errorf("list of cpus %q: no such list", list)
		}
		for cpu := first; cpu <= last; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// Read waits for events, for at most the given time, and appends them to dst in
// the order of their times. It returns none after that time or a Wake, and now and
// then before. Lost means that there were more: whatever was concluded from
// events has to be looked up anew. A closed Watcher returns ErrClosed.
//
// An event that happened before another one is returned by the same Read or an
// earlier one, but for a few that were written on another CPU in the very moment
// of reading: these may come one Read later.
func (w *Watcher) Read(dst []Event, timeout time.Duration) (events []Event, lost bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed.Load() {
		return dst, false, ErrClosed
	}
	if err := w.wait(timeout); err != nil {
		return dst, false, err
	}
	if w.closed.Load() {
		return dst, false, ErrClosed
	}
	lost, w.lost = w.lost, false
	first := len(dst)
	for _, r := range w.rings {
		overrun := r.read(func(rec []byte) {
			ev, recLost, ok, err := parseRecord(rec)
			if recLost || err != nil {
				lost = true
			}
			if ok {
				dst = append(dst, ev)
			}
		})
		lost = lost || overrun
	}
	slices.SortStableFunc(dst[first:], func(a, b Event) int { return cmp.Compare(a.Time, b.Time) })
	return dst, lost, nil
}

// wait waits until a ring has something to read.
func (w *Watcher) wait(timeout time.Duration) error {
	w.fds = append(w.fds[:0], unix.PollFd{Fd: int32(w.wake), Events: unix.POLLIN})
	for _, r := range w.rings {
		if r.pending() {
			timeout = 0
		}
		fd := unix.PollFd{Fd: int32(r.fd), Events: unix.POLLIN}
		if r.dead {
			fd.Fd = -1 // is passed over
		}
		w.fds = append(w.fds, fd)
	}
	deadline := time.Now().Add(timeout)
	for {
		// Rounded up, so that the last millisecond is no busy loop.
		left := max(0, (time.Until(deadline)+time.Millisecond-1)/time.Millisecond)
		_, err := unix.Poll(w.fds, int(left))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return os.NewSyscallError("poll", err)
		}
		for i, r := range w.rings {
			if w.fds[i+1].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0 {
				r.dead, w.cpus = true, "" // for Refresh
			}
		}
		var count [8]byte
		unix.Read(w.wake, count[:]) // EAGAIN if nobody has called Wake
		return nil
	}
}

// Wake makes a waiting Read return, or else the next one.
func (w *Watcher) Wake() {
	w.wakeMu.Lock()
	defer w.wakeMu.Unlock()
	if w.wake >= 0 {
		var one [8]byte
		binary.NativeEndian.PutUint64(one[:], 1)
		unix.Write(w.wake, one[:]) // EAGAIN if it is awake enough
	}
}

// Close stops watching. A waiting Read returns ErrClosed.
func (w *Watcher) Close() error {
	if w.closed.Swap(true) {
		return nil
	}
	w.Wake()
	w.mu.Lock() // Read has returned
	defer w.mu.Unlock()
	var errs []error
	for _, r := range w.rings {
		errs = append(errs, r.close())
	}
	w.rings = nil
	w.wakeMu.Lock()
	defer w.wakeMu.Unlock()
	if w.wake >= 0 {
		errs = append(errs, unix.Close(w.wake))
		w.wake = -1
	}
	return errors.Join(errs...)
}
