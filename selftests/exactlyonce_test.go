//go:build linux && (amd64 || arm64)

package selftests

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/emit"
	"github.com/nopfire/nopfire/internal/testutils"
)

// firers is the number of goroutines that fire at the same time.
const firers = 16

// A life is one provider from NewProvider to Close, with what was fired in it.
// Every firer numbers its own fires from 1: started is the number of the last
// fire that has begun, ended of the last that has returned.
type life struct {
	id       int64
	provider *emit.Provider
	tick     *emit.Probe3[int64, int64, int64] // life, firer, number
	started  [firers]paddedInt64
	ended    [firers]paddedInt64
}

// paddedInt64 keeps the counters of two firers out of one cache line.
type paddedInt64 struct {
	atomic.Int64
	_ [56]byte
}

func newLife(t testing.TB, name string, id int64) *life {
	t.Helper()
	l := &life{id: id}
	var err error
	if l.provider, err = emit.NewProvider(name, nil); err != nil {
		t.Fatal(err)
	}
	l.tick, err = emit.NewProbe3[int64, int64, int64](l.provider, "tick", &emit.ProbeOptions{Args: []string{"life", "firer", "number"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.provider.Load(); err != nil {
		t.Fatal(err)
	}
	return l
}

// extend adds a probe to the living provider, in an object of its own, fires it
// and removes it, which closes that object.
func (l *life) extend(t testing.TB, n int) {
	t.Helper()
	extra, err := emit.NewProbe1[int64](l.provider, fmt.Sprintf("extra%d", n), nil)
	if err != nil {
		t.Error(err)
		return
	}
	if err := l.provider.Load(); err != nil {
		t.Error(err)
	}
	extra.Fire(int64(n))
	extra.Remove()
	extra.Fire(int64(n)) // a late fire is a no-op
}

// fireLoop fires the current life of cur until stop is closed.
func fireLoop(cur *atomic.Pointer[life], firer int, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		l := cur.Load()
		for range 16 {
			n := l.started[firer].Add(1)
			l.tick.Fire(l.id, int64(firer), n)
			l.ended[firer].Store(n)
		}
		// The ring buffer and its reader have to keep up: a full
		// buffer is a loss of its own kind, which this is not about.
		time.Sleep(500 * time.Microsecond)
	}
}

func snapshot(counters *[firers]paddedInt64) (s [firers]int64) {
	for i := range counters {
		s[i] = counters[i].Load()
	}
	return s
}

// A window is one tracer that comes, stays a while and goes. What it has to see
// are the fires that started after it had attached (numbers above after) and had
// ended before it began to detach (numbers up to before).
type window struct {
	life          *life
	session       *trace.Session
	cancel        context.CancelFunc
	done          chan struct{}
	seen          [firers]map[int64]int
	after, before [firers]int64
	err           error
}

func openWindow(t testing.TB, l *life, providerName string) *window {
	t.Helper()
	session, err := trace.Start(trace.Query{
		PID:     os.Getpid(),
		Clauses: []trace.Clause{{Pattern: providerName + ":tick"}},
		Options: &trace.Options{BufferSize: 32 << 20},
	})
	if err != nil {
		t.Fatal(err)
	}
	if p := session.Problems(); len(p) > 0 {
		t.Fatal(p)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &window{life: l, session: session, cancel: cancel, done: make(chan struct{})}
	w.after = snapshot(&l.started)
	go func() {
		defer close(w.done)
		for ev, err := range session.Events(ctx) {
			if err != nil {
				w.err = err
				return
			}
			id, firer, number := ev.Args[0].Value.(int64), ev.Args[1].Value.(int64), ev.Args[2].Value.(int64)
			if id != l.id {
				continue // another life of the same name
			}
			if w.seen[firer] == nil {
				w.seen[firer] = make(map[int64]int)
			}
			w.seen[firer][number]++
		}
	}()
	return w
}

// end is called before whatever ends the window: the detach, or the Close of the
// provider.
func (w *window) end() { w.before = snapshot(&w.life.ended) }

// check detaches and compares.
func (w *window) check(t testing.TB) (fires int64) {
	t.Helper()
	w.cancel()
	<-w.done
	if w.err != nil {
		t.Fatalf("life %d: %v", w.life.id, w.err)
	}
	if err := w.session.Close(); err != nil {
		t.Fatalf("life %d: close session: %v", w.life.id, err)
	}
	for firer := range firers {
		for number := w.after[firer] + 1; number <= w.before[firer]; number++ {
			fires++
			if n := w.seen[firer][number]; n != 1 {
				t.Fatalf("life %d, firer %d: fire %d of (%d, %d] was received %d times",
					w.life.id, firer, number, w.after[firer], w.before[firer], n)
			}
		}
		for number, n := range w.seen[firer] {
			if n > 1 {
				t.Fatalf("life %d, firer %d: fire %d was received %d times", w.life.id, firer, number, n)
			}
		}
	}
	return fires
}

// TestExactlyOnce has 16 goroutines fire two providers, one that lives through the
// test and is extended, one that is extended, closed and made again, while tracers
// come and go on both: each Fire that starts after an attach has returned and
// ends before the detach began is received exactly once.
func TestExactlyOnce(t *testing.T) {
	testutils.NeedBPF(t)
	lives, windows := 10_000, 100
	if testing.Short() {
		lives, windows = 500, 10
	}

	// What the first session and the first provider leave for good (poller,
	// caches, pools) is not a leak.
	warm := newLife(t, "stormwarm", 0)
	openWindow(t, warm, "stormwarm").check(t)
	if err := warm.provider.Close(); err != nil {
		t.Fatal(err)
	}
	settle()
	fds, maps := testutils.CountFDs(t), testutils.CountMaps(t, "")

	var wg sync.WaitGroup
	stop := make(chan struct{})
	var longLived, shortLived atomic.Pointer[life]
	longLived.Store(newLife(t, "stormlong", 1))
	shortLived.Store(newLife(t, "stormshort", 1))
	for i := range firers {
		wg.Go(func() { fireLoop(&longLived, i, stop) })
		wg.Go(func() { fireLoop(&shortLived, i, stop) })
	}

	var fires int64
	tracersDone := make(chan struct{})
	wg.Go(func() {
		defer close(tracersDone)
		for range windows {
			w := openWindow(t, longLived.Load(), "stormlong")
			time.Sleep(20 * time.Millisecond)
			w.end()
			atomic.AddInt64(&fires, w.check(t))
			if t.Failed() {
				return
			}
		}
	})

	for n := 2; n <= lives && !t.Failed(); n++ {
		old := shortLived.Load()
		old.extend(t, n)
		longLived.Load().extend(t, n)
		var w *window
		if n%(lives/windows) == 0 {
			w = openWindow(t, old, "stormshort")
			time.Sleep(5 * time.Millisecond)
			old.extend(t, -n)
			w.end()
		}
		if w != nil && n%(2*lives/windows) == 0 { // the tracer goes first
			atomic.AddInt64(&fires, w.check(t))
			w = nil
		}
		shortLived.Store(newLife(t, "stormshort", int64(n)))
		if err := old.provider.Close(); err != nil {
			t.Fatal(err)
		}
		if old.tick.Enabled() {
			t.Fatalf("life %d: enabled after Close", old.id)
		}
		if w != nil { // the provider went first
			atomic.AddInt64(&fires, w.check(t))
		}
	}
	<-tracersDone
	close(stop)
	wg.Wait()
	for _, l := range []*life{longLived.Load(), shortLived.Load()} {
		if err := l.provider.Close(); err != nil {
			t.Fatal(err)
		}
	}
	longLived.Store(nil)
	shortLived.Store(nil)
	t.Logf("%d lives, %d windows, %d fires checked", lives, 2*windows, fires)
	if fires < int64(windows) {
		t.Errorf("only %d fires were checked", fires)
	}

	settle()
	if n := testutils.CountFDs(t); n != fds {
		t.Errorf("%d file descriptors before, %d after", fds, n)
	}
	// A mapping of a few kinds is the runtime's own (new heap arenas,
	// thread stacks): what must not grow is bounded, not equal.
	if n := testutils.CountMaps(t, ""); n > maps+40 {
		t.Errorf("%d mappings before, %d after", maps, n)
	}
}

// settle lets the collector find what is unreachable and run its clean-ups.
func settle() {
	for range 3 {
		runtime.GC()
		time.Sleep(20 * time.Millisecond)
	}
}
