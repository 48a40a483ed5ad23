//go:build amd64 || arm64

package emit

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nopfire/nopfire/internal/call"
	"github.com/nopfire/nopfire/internal/testutils"
)

func TestMain(m *testing.M) {
	if child := children[os.Getenv("NOPFIRE_TEST_CHILD")]; child != nil {
		child()
		return
	}
	testutils.Main(m)
}

// children are what the test binary does in a process of its own.
var children = map[string]func(){}

// objects returns the number of probes of each object.
func objects(p *Provider) (n []int) {
	for _, o := range p.Objects() {
		n = append(n, o.Probes)
	}
	return n
}

func TestLifecycle(t *testing.T) {
	p, err := NewProvider("life", nil)
	if err != nil {
		t.Fatal(err)
	}
	check := func(step string, want ...int) {
		t.Helper()
		if got := objects(p); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: probes of the objects are %v, want %v", step, got, want)
		}
	}
	loaded := func(c *probe) bool { return c.site.Load() != nil }

	load(t, p) // nothing to do
	check("empty load")
	a, b := Must(NewProbe0(p, "a", nil)), Must(NewProbe1[int](p, "b", nil))
	if loaded(&a.probe) {
		t.Error("alive before Load")
	}
	load(t, p)
	check("first load", 2)
	siteA := a.probe.site.Load()
	c := Must(NewProbe0(p, "c", nil))
	load(t, p)
	check("second load", 2, 1)
	if a.probe.site.Load() != siteA {
		t.Error("the site of the first generation moved")
	}

	a.Remove()
	a.Remove() // once more does nothing
	check("one of two removed", 1, 1)
	if loaded(&a.probe) || !loaded(&b.probe) {
		t.Error("the wrong one is inert")
	}
	if h := Must(NewProbe0(p, "a", nil)); loaded(&h.probe) {
		t.Error("alive before Load")
	}
	load(t, p)
	check("name used again", 1, 1, 1)
	b.Remove()
	check("first object empty", 1, 1)

	pending := Must(NewProbe0(p, "pending", nil))
	pending.Remove()
	load(t, p)
	check("pending one removed", 1, 1)
	if loaded(&pending.probe) {
		t.Error("a removed probe was loaded")
	}

	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	check("closed")
	if loaded(&c.probe) {
		t.Error("alive after Close")
	}
	c.Fire()
	c.Remove()
	late, err := NewProbe0(p, "late", nil)
	if !errors.Is(err, ErrClosed) {
		t.Errorf("define after Close: %v", err)
	}
	late.Fire()
	if err := p.Load(); !errors.Is(err, ErrClosed) {
		t.Errorf("load after Close: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestTwoProvidersOfOneName(t *testing.T) {
	dir := t.TempDir()
	for _, backing := range []Backing{BackingMemfd, BackingFile, BackingShared} {
		o := &Options{Backing: backing, Dir: dir}
		p, q := newProvider(t, "twin", o), newProvider(t, "twin", o)
		a, b := Must(NewProbe0(p, "p", nil)), Must(NewProbe0(q, "p", nil))
		load(t, p)
		load(t, q)
		sa, sb := a.probe.site.Load(), b.probe.site.Load()
		if same := sa.entry == sb.entry; same != (backing == BackingShared) {
			t.Errorf("%v: one mapping: %v", backing, same)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if a.probe.site.Load() != nil || b.probe.site.Load() == nil {
			t.Errorf("%v: the close of one provider concerned the other", backing)
		}
		if backing != BackingMemfd {
			if _, err := os.Stat(q.Backing().Path); err != nil {
				t.Errorf("%v: %v", backing, err)
			}
		}
	}
}

// What the provider wanted, what it got, and why, are to be seen.
func TestBackingFallsBack(t *testing.T) {
	p := newProvider(t, "fallback", &Options{Backing: BackingFile, Dir: t.TempDir() + "/none"})
	if in := p.Backing(); in != (ObjectInfo{}) {
		t.Errorf("before Load: %+v", in)
	}
	h := Must(NewProbe0(p, "p", nil))
	load(t, p)
	in := p.Backing()
	if in.Backing != BackingMemfd || !errors.Is(in.Reason, os.ErrNotExist) {
		t.Errorf("backing is %v because of %v; want memfd, file does not exist", in.Backing, in.Reason)
	}
	if !strings.HasPrefix(in.Path, fmt.Sprintf("/proc/%d/fd/", os.Getpid())) || in.Probes != 1 || in.NopForm != p.NopForm() {
		t.Errorf("info is %+v", in)
	}
	if h.probe.site.Load() == nil {
		t.Error("not alive")
	}
}

func newProvider(t testing.TB, name string, o *Options) *Provider {
	t.Helper()
	p, err := NewProvider(name, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func load(t testing.TB, p *Provider) {
	t.Helper()
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
}

// Goroutines fire on, whatever happens to the providers. Some enter
// the sites as if they were traced.
func TestStress(t *testing.T) {
	cycles := 10000
	if testing.Short() {
		cycles = 500
	}
	runtime.GC()
	fds := testutils.CountFDs(t)

	// The probes that are fired; each slot is replaced all the time.
	var slots [4]atomic.Pointer[Probe2[int64, string]]
	var dynamic atomic.Pointer[Probe]
	var stop atomic.Bool
	var fired atomic.Int64
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			n := int64(0)
			for !stop.Load() {
				for i := range slots {
					h := slots[i].Load()
					if h == nil {
						continue
					}
					h.Fire(n, "some text")
					h.FireFunc(func() (int64, string) { return n, "lazy" })
					// Enter the site even though nobody traces it.
					if s := h.probe.site.Load(); s != nil && (g+i)%2 == 0 {
						call.Site(s.entry, new(call.Frame))
						runtime.KeepAlive(s)
					}
					n++
				}
				if d := dynamic.Load(); d != nil {
					if err := d.Fire(n, io.EOF); err != nil {
						t.Error(err)
						return
					}
				}
				runtime.Gosched()
			}
			fired.Add(n)
		})
	}

	o := &Options{Dir: t.TempDir()}
	for i := range cycles {
		o.Backing = BackingMemfd
		if i%32 == 0 {
			o.Backing = Backing(i / 32 % 3)
		}
		p, err := NewProvider("stress", o)
		if err != nil {
			t.Fatal(err)
		}
		for j := range slots {
			h := Must(NewProbe2[int64, string](p, fmt.Sprintf("p%d", j), &ProbeOptions{Semaphore: j == 0}))
			slots[j].Store(h)
			if j%2 == 1 {
				load(t, p) // in two generations
			}
		}
		d := Must(NewProbe(p, "dyn", []Arg{{Name: "n", Type: Int64}, {Name: "err", Type: Error}}, nil))
		load(t, p)
		dynamic.Store(d)
		if i%2 == 0 {
			slots[rand.IntN(len(slots))].Load().Remove()
		}
		if i%16 == 15 {
			continue // forgotten, with its handles
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	stop.Store(true)
	wg.Wait()
	for i := range slots {
		slots[i].Store(nil)
	}
	dynamic.Store(nil)
	if fired.Load() == 0 {
		t.Error("nothing was fired")
	}
	deadline := time.Now().Add(20 * time.Second)
	for {
		runtime.GC()
		time.Sleep(5 * time.Millisecond)
		f, m := testutils.CountFDs(t), testutils.CountMaps(t, "nopfire:stress")+testutils.CountMaps(t, "stress-")
		if f <= fds && m == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("descriptors %d → %d, %d mappings of objects are left", fds, f, m)
		}
	}
}

// A provider that is forgotten together with its handles is closed; one handle
// that is left keeps it alive.
func TestForgotten(t *testing.T) {
	name := fmt.Sprintf("forgotten%d", os.Getpid())
	define := func() *Probe0 {
		p, err := NewProvider(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		h := Must(NewProbe0(p, "p", nil))
		load(t, p)
		return h
	}
	h := define()
	for range 5 {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	if testutils.CountMaps(t, name) == 0 || h.probe.site.Load() == nil {
		t.Error("closed although a handle is left")
	}
	h.Fire()
	h = nil
	for range 1000 {
		runtime.GC()
		time.Sleep(time.Millisecond)
		if testutils.CountMaps(t, name) == 0 {
			return
		}
	}
	t.Error("still mapped")
}
