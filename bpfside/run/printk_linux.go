package run

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nopfire/nopfire/bpfside/btfvalue"
	"github.com/nopfire/nopfire/internal/feature"
)

// What programs print with bpf_trace_printk becomes the trace event
// bpf_trace:bpf_trace_printk (kernel/trace/bpf_trace.c). It is read from an
// instance of tracefs of our own (Documentation/trace/ftrace.rst, "Instances"):
// whoever reads the trace_pipe of the system misses nothing by it, and nothing of
// other tracers comes here. What other BPF programs print at the time does: the
// event does not say which program it is of.

// tracefsDirs are where tracefs is mounted, in the order of the kernel's advice.
var tracefsDirs = []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}

// A printkReader reads the event in an instance of tracefs.
type printkReader struct {
	root  *os.File // of tracefs
	dir   string   // of the instance
	pipe  *os.File
	lines *bufio.Reader

	once sync.Once
	err  error
}

func newPrintkReader() (_ *printkReader, err error) {
	r := new(printkReader)
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	if r.root, err = openTracefs(); err != nil {
		return nil, err
	}
	instances := fmt.Sprintf("/proc/self/fd/%d/instances", r.root.Fd())
	sweepInstances(instances)
	r.dir, err = os.MkdirTemp(instances, fmt.Sprintf("%s%d-", instancePrefix, os.Getpid()))
	if err != nil {
		r.dir = ""
		return nil, feature.Explain("make an instance of tracefs", err, feature.TracingCaps...)
	}
	event := filepath.Join(r.dir, "events", "bpf_trace", "bpf_trace_printk", "enable")
	if err := os.WriteFile(event, []byte("1"), 0); err != nil {
		return nil, err
	}
	// By default poll waits until half of the buffer is full.
	if err := os.WriteFile(filepath.Join(r.dir, "buffer_percent"), []byte("0"), 0); err != nil {
		return nil, err
	}
	// Non-blocking, so that a read can be ended by a deadline.
	fd, err := unix.Open(filepath.Join(r.dir, "trace_pipe"), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open trace_pipe: %w", err)
	}
	r.pipe = os.NewFile(uintptr(fd), "trace_pipe")
	r.lines = bufio.NewReaderSize(r.pipe, 64<<10)
	return r, nil
}

// openTracefs opens the root of tracefs. If it is not mounted where it should be, it
// is mounted for a moment: the descriptor keeps it, and whatever becomes of this
// process, no mount is left.
func openTracefs() (*os.File, error) {
	for _, dir := range tracefsDirs {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) == nil && st.Type == unix.TRACEFS_MAGIC {
			return os.Open(dir)
		}
	}
	dir, err := os.MkdirTemp("", "nopfire-tracefs-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(dir)
	if err := unix.Mount("tracefs", dir, "tracefs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return nil, fmt.Errorf("mount tracefs, which is not mounted on %s: %w", tracefsDirs[0], err)
	}
	root, err := os.Open(dir)
	return root, errors.Join(err, unix.Unmount(dir, unix.MNT_DETACH))
}

// instancePrefix begins the names of our instances; the id of the process follows.
const instancePrefix = "nopfire-"

// sweepInstances removes the instances of processes that were killed. Those that
// somebody reads cannot be removed (EBUSY).
func sweepInstances(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // then none can be made either, which says why
	}
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), instancePrefix)
		pid, err := strconv.Atoi(strings.SplitN(rest, "-", 2)[0])
		if !ours || err != nil || unix.Kill(pid, 0) != unix.ESRCH {
			continue
		}
		unix.Rmdir(filepath.Join(dir, e.Name()))
	}
}

func (r *printkReader) read(*eventTypes) (Event, error) {
	for {
		line, err := r.lines.ReadString('\n')
		if line != "" {
			if ev, ok := parsePrintk(strings.TrimSuffix(line, "\n")); ok {
				return ev, nil
			}
			continue
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, os.ErrClosed):
			return Event{}, errFlushed
		case errors.Is(err, io.EOF), err == nil:
			continue
		}
		return Event{}, fmt.Errorf("trace_pipe: %w", err)
	}
}

// flushTime is what reading the rest may take: lines are there when the programs
// are detached.
const flushTime = 50 * time.Millisecond

func (r *printkReader) flush() error { return r.pipe.SetReadDeadline(time.Now().Add(flushTime)) }

// Close removes the instance.
func (r *printkReader) Close() error {
	r.once.Do(func() {
		if r.pipe != nil {
			r.err = r.pipe.Close()
		}
		if r.dir != "" {
			r.err = errors.Join(r.err, unix.Rmdir(r.dir))
		}
		if r.root != nil {
			r.err = errors.Join(r.err, r.root.Close())
		}
	})
	return r.err
}

// parsePrintk reads a line of trace_pipe:
//
//	cat-1234    [001] d..31   812.345678: bpf_trace_printk: the text
//	CPU:1 [LOST 12 EVENTS]
func parsePrintk(line string) (Event, bool) {
	head, text, ok := strings.Cut(line, ": bpf_trace_printk: ")
	if !ok {
		var cpu int
		var lost uint64
		n, _ := fmt.Sscanf(line, "CPU:%d [LOST %d EVENTS]", &cpu, &lost)
		return Event{CPU: cpu, Lost: lost}, n == 2
	}
	ev := Event{CPU: -1, Value: btfvalue.Text(text)}
	// The name may hold anything: what follows it is found from behind.
	cpuAt := strings.LastIndex(head, " [")
	if cpuAt < 0 {
		return ev, true
	}
	task, rest := strings.TrimSpace(head[:cpuAt]), head[cpuAt+2:]
	if cpu, flags, ok := strings.Cut(rest, "]"); ok {
		if n, err := strconv.Atoi(cpu); err == nil {
			ev.CPU = n
		}
		if f := strings.Fields(flags); len(f) > 0 {
			ev.Time = f[len(f)-1]
		}
	}
	if dash := strings.LastIndexByte(task, '-'); dash >= 0 {
		ev.Comm = task[:dash]
		ev.PID, _ = strconv.Atoi(strings.TrimSpace(task[dash+1:]))
	}
	return ev, true
}
