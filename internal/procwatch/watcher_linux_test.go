package procwatch

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/nopfire/nopfire/internal/feature"
	"github.com/nopfire/nopfire/internal/procmaps"
	"github.com/nopfire/nopfire/internal/testutils"
)

func TestMain(m *testing.M) { testutils.Main(m) }

// watch starts a watcher, or skips the test.
func watch(t *testing.T, o *Options) *Watcher {
	t.Helper()
	w, err := New(o)
	if errors.Is(err, os.ErrPermission) && os.Geteuid() != 0 {
		t.Skipf("skipped: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// until reads events until one is as wanted, and returns those before it too.
func until(t *testing.T, w *Watcher, want func(Event) bool) []Event {
	t.Helper()
	var evs []Event
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		from := len(evs)
		var err error
		if evs, _, err = w.Read(evs, time.Second); err != nil {
			t.Fatal(err)
		}
		if i := slices.IndexFunc(evs[from:], want); i >= 0 {
			return evs[:from+i+1]
		}
	}
	t.Fatalf("no such event among %d", len(evs))
	return nil
}

// The life of a shell that runs a program: every step of it is an event, in
// order.
func TestLifeOfAProcess(t *testing.T) {
	w := watch(t, nil)
	sh, sleep := testutils.Oracle(t, "sh"), testutils.Oracle(t, "sleep")
	// "; :" keeps the shell from executing sleep in its own place.
	cmd := exec.Command(sh, "-c", "echo $$; "+sleep+" 0.01; :")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	pid, child := cmd.Process.Pid, 0
	sleepFile, err := filepath.EvalSymlinks(sleep)
	if err != nil {
		t.Fatal(err)
	}
	evs := until(t, w, func(ev Event) bool { return ev.Kind == Exit && ev.PID == pid })
	var got []string
	last := uint64(0)
	for _, ev := range evs {
		if ev.Kind == Fork && ev.Parent == pid {
			child = ev.PID
		}
		if ev.PID != pid && ev.PID != child {
			continue
		}
		who := "shell"
		if ev.PID == child {
			who = "child"
		}
		switch {
		case ev.Kind != Map:
			got = append(got, who+" "+ev.Kind.String())
		case ev.Mapping.Path == sleepFile:
			got = append(got, who+" map sleep")
		}
		if ev.Time < last {
			t.Errorf("%s of %d: time goes backwards", ev.Kind, ev.PID)
		}
		last = ev.Time
	}
	// exec.Command forks this process too.
	want := []string{"shell fork", "shell exec", "child fork", "child exec", "child map sleep", "child exit", "shell exit"}
	// The kernel maps the program before or after it says exec.
	if i := slices.Index(got, "child map sleep"); i >= 0 && i+1 < len(got) && got[i+1] == "child exec" {
		got[i], got[i+1] = got[i+1], got[i]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// memfd returns a file of two pages without a name.
func memfd(t *testing.T, name string) int {
	t.Helper()
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Ftruncate(fd, int64(2*os.Getpagesize())); err != nil {
		t.Fatal(err)
	}
	return fd
}

// A mapping is reported as /proc/PID/maps has it, whether it is executable from
// the beginning or becomes so.
func TestMappings(t *testing.T) {
	w := watch(t, nil)
	for _, later := range []bool{false, true} {
		t.Run(fmt.Sprintf("later=%t", later), func(t *testing.T) {
			name := fmt.Sprintf("mapped %t", later)
			fd := memfd(t, name)
			page := os.Getpagesize()
			prot := unix.PROT_READ | unix.PROT_EXEC
			if later {
				prot = unix.PROT_READ
			}
			mem, err := unix.Mmap(fd, int64(page), page, prot, unix.MAP_PRIVATE)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { unix.Munmap(mem) })
			if later {
				if err := unix.Mprotect(mem, unix.PROT_READ|unix.PROT_EXEC); err != nil {
					t.Fatal(err)
				}
			}
			evs := until(t, w, func(ev Event) bool { return strings.Contains(ev.Mapping.Path, name) })
			ev := evs[len(evs)-1]
			if ev.PID != os.Getpid() {
				t.Errorf("of process %d", ev.PID)
			}
			for m, err := range procmaps.Of(os.Getpid()) {
				if err != nil {
					t.Fatal(err)
				}
				if m.Start == ev.Mapping.Start {
					if diff := cmp.Diff(m, ev.Mapping); diff != "" {
						t.Errorf("(-maps +event):\n%s", diff)
					}
					return
				}
			}
			t.Errorf("no mapping at %#x", ev.Mapping.Start)
		})
	}
}

// A buffer that is too small for what happens says so, even if nothing happens
// afterwards.
func TestLost(t *testing.T) {
	w := watch(t, &Options{BufferSize: 1})
	fd := memfd(t, "again and again")
	page := os.Getpagesize()
	for range 2000 {
		mem, err := unix.Mmap(fd, 0, page, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
		if err != nil {
			t.Fatal(err)
		}
		unix.Munmap(mem)
	}
	if _, lost, err := w.Read(nil, 0); err != nil || !lost {
		t.Errorf("lost %t, error %v", lost, err)
	}
	// And it recovers.
	for range 10 {
		if _, lost, _ := w.Read(nil, 0); !lost {
			return
		}
	}
	t.Error("lost for good")
}

// A CPU that comes later is watched from the next Refresh on.
func TestRefresh(t *testing.T) {
	all, err := os.ReadFile(onlineFile)
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	var list atomic.Value
	list.Store("0")
	w, err := newWatcher(nil, func() (string, error) { return list.Load().(string), nil })
	if errors.Is(err, os.ErrPermission) {
		t.Skipf("skipped: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if len(w.rings) != 1 {
		t.Fatalf("%d rings for cpu 0", len(w.rings))
	}
	cpus, err := parseCPUs(strings.TrimSpace(string(all)))
	if err != nil {
		t.Fatal(err)
	}
	list.Store(strings.TrimSpace(string(all)))
	changed, err := w.Refresh()
	if err != nil || changed != (len(cpus) > 1) || len(w.rings) != len(cpus) {
		t.Errorf("changed %t, %d rings for %d cpus, error %v", changed, len(w.rings), len(cpus), err)
	}
	if changed, err := w.Refresh(); changed || err != nil {
		t.Errorf("changed %t, error %v when nothing has changed", changed, err)
	}
	list.Store("0")
	if _, err := w.Refresh(); err != nil || len(w.rings) != 1 {
		t.Errorf("%d rings after a cpu has gone, error %v", len(w.rings), err)
	}
}

func TestParseCPUs(t *testing.T) {
	for _, tt := range []struct {
		list string
		want []int // nil: an error
	}{
		{"0", []int{0}},
		{"0-3", []int{0, 1, 2, 3}},
		{"0-1,4,6-7", []int{0, 1, 4, 6, 7}},
		{"", nil},
		{"3-1", nil},
		{"-1", nil},
		{"0-", nil},
		{"0-99999999", nil},
		{"a", nil},
	} {
		got, err := parseCPUs(tt.list)
		if diff := cmp.Diff(tt.want, got); diff != "" || (err == nil) != (tt.want != nil) {
			t.Errorf("%q: error %v (-want +got):\n%s", tt.list, err, diff)
		}
	}
}

// Read comes back after its time, after Wake, and after Close.
func TestReadReturns(t *testing.T) {
	w := watch(t, nil)
	var woken atomic.Bool
	// Things happen on a machine, so Read returns at any time. It reads until
	// it was woken or there is an error.
	read := func(timeout time.Duration) chan error {
		done := make(chan error)
		go func() {
			_, _, err := w.Read(nil, timeout)
			for err == nil && timeout > time.Minute && !woken.Load() {
				_, _, err = w.Read(nil, timeout)
			}
			done <- err
		}()
		return done
	}
	if err := <-read(time.Millisecond); err != nil {
		t.Errorf("after the time: %v", err)
	}
	done := read(time.Hour)
	woken.Store(true)
	w.Wake()
	if err := <-done; err != nil {
		t.Errorf("after Wake: %v", err)
	}
	woken.Store(false)
	done = read(time.Hour)
	time.Sleep(10 * time.Millisecond)
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	w.Wake() // harmless
	if _, err := w.Refresh(); !errors.Is(err, ErrClosed) {
		t.Errorf("Refresh after Close: %v", err)
	}
}

// Without the right the missing capability is named.
func TestNeedsPerfmon(t *testing.T) {
	if feature.Effective().Has(feature.CapSysAdmin) || feature.Effective().Has(feature.CapPerfmon) {
		t.Skip("skipped: has the capability; bpfside/usdt tests following without")
	}
	w, err := New(nil)
	if err == nil {
		w.Close()
		t.Skip("skipped: perf_event_paranoid lets everybody watch")
	}
	if !strings.Contains(err.Error(), "CAP_PERFMON") {
		t.Errorf("error %v", err)
	}
}
