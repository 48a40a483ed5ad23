package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/emit"
	"github.com/nopfire/nopfire/internal/feature"
	"github.com/nopfire/nopfire/internal/procmaps"
	"github.com/nopfire/nopfire/internal/procwatch"
)

// newerKernel is the remedy against what a kernel lacks.
const newerKernel = "a newer kernel, as named"

// tracing tries what trace, argdist and count do.
func tracing() []Check {
	multi := feature.UprobeMulti.Check()
	trials := []trial{
		{name: "bpf program", found: "loads", needed: true, remedy: refused, try: trying(feature.BPF.Check)},
		{name: ringBuffer, found: fmt.Sprintf("of %d MiB", trace.DefaultBufferSize>>20), needed: true,
			remedy: "ulimit -l unlimited (see locked memory), or a kernel of at least 5.8", try: tryRingBuffer},
		{name: "attach cookie", found: "there", needed: true, remedy: newerKernel, try: trying(feature.Cookies.Check)},
		{name: "uprobe_multi", found: "one link for all locations of a file, with the filter by process",
			lost: "each location has a perf event and a file descriptor of its own, and detaching takes long",
			try:  func() (string, error) { return "", multi }},
		{name: "perf_event uprobe", found: "there", needed: multi != nil && errors.Is(multi, feature.ErrNotSupported),
			lost: perfLost(multi), remedy: newerKernel, try: trying(feature.PerfUprobe.Check)},
		{name: "following", found: "processes and objects that come later are seen", wanted: true,
			lost: "what appears later is not traced", remedy: refused, try: tryFollowing},
		{name: "map_files", found: "opens what a process has mapped, deleted or not",
			lost: "files are opened by their names and by descriptors of the process", try: tryMapFiles},
	}
	var checks []Check
	for i := range trials {
		trials[i].group = GroupTracing
		checks = append(checks, trials[i].check())
		if trials[i].name == ringBuffer {
			checks = append(checks, lockedMemory(checks[len(checks)-1].Status))
		}
	}
	return append(checks, optimizedNop(), wholeWay(checks))
}

const ringBuffer = "ring buffer"

// lockedMemory says whether the limit on locked memory is in the way: kernels before
// 5.11 count maps into it (bpf_map_charge_memlock).
func lockedMemory(buffer Status) Check {
	c := Check{Group: GroupTracing, Name: "locked memory"}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit); err != nil {
		c.Status, c.Found = Note, "not known: "+firstLine(err)
		return c
	}
	c.Found = fmt.Sprintf("limit of %d KiB", limit.Cur>>10)
	if limit.Cur == unix.RLIM_INFINITY {
		c.Found = "unlimited"
	}
	switch buffer {
	case OK:
		c.Found += ", which the ring buffer does not exceed or is not counted in"
	default:
		c.Status = Note
		c.Found += ": whether maps are counted in it (kernels before 5.11) is told by the ring buffer, once capabilities are there"
	}
	return c
}

func perfLost(multi error) string {
	if multi == nil {
		return "not needed, as there is uprobe_multi"
	}
	return ""
}

// tryRingBuffer makes a buffer as large as that of a session.
func tryRingBuffer() (string, error) {
	m, err := ebpf.NewMap(&ebpf.MapSpec{Name: "nopfire_doctor", Type: ebpf.RingBuf, MaxEntries: trace.DefaultBufferSize})
	if err == nil {
		return "", m.Close()
	}
	if known := feature.RingBuf.Check(); known != nil {
		return "", known
	}
	return "", feature.Explain("make a ring buffer", err, feature.CapBPF)
}

func tryFollowing() (string, error) {
	w, err := procwatch.New(&procwatch.Options{BufferSize: 1}) // the smallest
	if err != nil {
		return "", err
	}
	return "", w.Close()
}

// tryMapFiles opens the mapping of this program.
func tryMapFiles() (string, error) {
	for m, err := range procmaps.Of(os.Getpid()) {
		if err != nil {
			return "", err
		}
		if m.Inode == 0 || m.Perms&procmaps.Exec == 0 {
			continue
		}
		f, err := os.Open(m.MapFile(os.Getpid()))
		if err == nil {
			return "", f.Close()
		}
		var pe *os.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return "", feature.Explain("open a mapped file", err, feature.CapCheckpointRestore)
	}
	return "", errors.New("this process has mapped no file")
}

// optimizedNop says what a hit costs at the best.
func optimizedNop() Check {
	c := Check{Group: GroupTracing, Name: "optimized nop"}
	n, err := feature.OptimizedNop()
	switch {
	case err != nil:
		c.Status, c.Found = Note, "not known: "+firstLine(err)
	case n > 0:
		c.Found = fmt.Sprintf("of %d bytes: a hit is a call", n)
	case runtime.GOARCH == "amd64":
		c.Status, c.Found = Note, "none (since Linux 6.18): a hit is a breakpoint"
	default:
		c.Status, c.Found = Note, "none on "+runtime.GOARCH+": a hit is a breakpoint"
	}
	return c
}

// wholeWay defines a probe in this process, traces it, fires it and reads the
// event: what everything before was for. It is not tried if something that it
// needs is known to be missing.
func wholeWay(before []Check) Check {
	for i := range before {
		if before[i].err != nil {
			return Check{Group: GroupTracing, Name: "trial", Status: Note, Found: "not tried, as " + before[i].Name + " is missing"}
		}
	}
	t := trial{group: GroupTracing, name: "trial", found: "a probe was defined, traced, fired, and its argument was read", needed: true, remedy: refused}
	t.try = func() (string, error) {
		err := tryProbe()
		if errors.Is(err, emit.ErrNotSupported) {
			return "", feature.ErrNotSupported
		}
		return "", err
	}
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.needed = false // there is nothing here to fire
	}
	return t.check()
}

// patience is how long an event may take: the end of all hope, no measure.
const patience = 10 * time.Second

func tryProbe() (err error) {
	app, err := emit.NewProvider("nopfire_doctor", nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, app.Close()) }()
	probe, err := emit.NewProbe1[int64](app, "trial", nil)
	if err == nil {
		err = app.Load()
	}
	if err != nil {
		return fmt.Errorf("define a probe: %w", err)
	}
	s, err := trace.Start(trace.Query{PID: os.Getpid(), Clauses: []trace.Clause{{Pattern: "nopfire_doctor:trial"}}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	fired := time.Now().UnixNano()
	probe.Fire(fired)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for ev, err := range s.Events(ctx) {
		if err != nil {
			return err
		}
		if len(ev.Args) != 1 || ev.Args[0].Value != fired {
			return fmt.Errorf("event %s, fired was %d", &ev, fired)
		}
		return nil
	}
	return errors.New("the probe was attached to, and a hit of it was not seen")
}
