package usdt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/nopfire/nopfire/internal/testutils"
)

// newTestManager returns a manager of an object on usdt.bpf.h with room for n
// descriptions.
func newTestManager(t *testing.T, n uint32) (*Manager, *ebpf.Collection) {
	t.Helper()
	testutils.NeedBPF(t)
	spec := loadObject(t, buildObject(t))
	spec.Maps[specMapName].MaxEntries = n
	if err := PrepareProgram(spec.Programs["on_probe"], Auto); err != nil {
		t.Fatal(err)
	}
	kernel := *fakeKernel
	kernel.Cookies = func() (bool, error) { return true, nil }
	if err := fillKconfig(spec, &kernel); err != nil {
		t.Fatal(err)
	}
	c, err := ebpf.NewCollection(spec)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	t.Cleanup(c.Close)
	m, err := NewManager(spec, c)
	if err != nil {
		t.Fatal(err)
	}
	return m, c
}

// Equal descriptions share a place, places are used again, and what fails in the
// middle holds nothing.
func TestManagerPlaces(t *testing.T) {
	m, _ := newTestManager(t, 3)
	host, _ := HostMachine()
	locations := func(args ...string) *group {
		target := &Target{ID: FileID{Inode: 1}}
		for i, a := range args {
			target.Locations = append(target.Locations, Location{Machine: host, Offset: uint64(i), ArgString: a})
		}
		return &group{targets: []*Target{target}, cookies: make([][]uint64, 1)}
	}
	take := func(g *group, cookie uint64) (*lease, error) {
		l := &lease{m: m}
		err := l.take(g, cookie)
		if err != nil {
			l.release()
		}
		return l, err
	}
	used := func(want int) {
		t.Helper()
		if got, _ := m.inUse(); got != want {
			t.Errorf("%d descriptions in use, want %d", got, want)
		}
	}

	g := locations("8@$1", "8@$2", "8@$1")
	a, err := take(g, 0)
	if err != nil {
		t.Fatal(err)
	}
	used(2)
	if ids := g.cookies[0]; ids[0] != ids[2] || ids[0] == ids[1] {
		t.Errorf("ids %v, want the first and the last to be the same", ids)
	}
	b, err := take(locations("8@$1"), 0) // shared with a
	if err != nil {
		t.Fatal(err)
	}
	used(2)
	if _, err := take(locations("8@$1", "8@$2"), 9); err == nil { // another cookie, another description
		t.Error("four descriptions in three places")
	}
	used(2)
	a.release()
	a.release() // does nothing
	used(1)
	c, err := take(locations("8@$3", "8@$4"), 0) // one of them in the place of $2
	if err != nil {
		t.Fatal(err)
	}
	used(3)
	if len(m.entries) != 3 {
		t.Errorf("%d places were ever used, want 3", len(m.entries))
	}
	b.release()
	c.release()
	used(0)
	for i := range 100 {
		l, err := take(locations(fmt.Sprintf("8@$%d", i), "8@$1000"), uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		l.release()
	}
	used(0)

	// A location that cannot be attached to takes no place.
	bad := locations("8@$1", "8@$2", "8@$3", "8@$4")
	bad.targets[0].Locations[1].Err = ErrTombstone
	if _, err := take(bad, 0); err != nil {
		t.Errorf("three good locations of four: %v", err)
	}
}

// A pinned link keeps its places, since its program keeps running.
func TestManagerPinnedLink(t *testing.T) {
	m, _ := newTestManager(t, 3)
	l := &lease{m: m}
	host, _ := HostMachine()
	g := &group{targets: []*Target{{Probe: Probe{Locations: []Location{{Machine: host, ArgString: "8@$1"}}}}}, cookies: make([][]uint64, 1)}
	if err := l.take(g, 0); err != nil {
		t.Fatal(err)
	}
	pinned := &leasedLink{Link: fakeLink{}, lease: l}
	if err := pinned.Pin(filepath.Join(t.TempDir(), "pin")); err != nil {
		t.Fatal(err)
	}
	if err := pinned.Close(); err != nil {
		t.Fatal(err)
	}
	if n, _ := m.inUse(); n != 1 {
		t.Errorf("%d descriptions in use after a pinned link was closed, want 1", n)
	}
	failing := &leasedLink{Link: fakeLink{err: errors.New("no bpffs")}, lease: &lease{m: m}}
	if err := failing.Pin("x"); err == nil {
		t.Error("the error of Pin is lost")
	}
}

// A collection that lacks the maps is refused, one without usdt.bpf.h is not.
func TestNewManagerFaults(t *testing.T) {
	m, c := newTestManager(t, 3)
	if _, err := NewManager(m.spec, &ebpf.Collection{Programs: c.Programs}); err == nil {
		t.Error("a collection without the map was taken")
	}
	plain, err := NewManager(&ebpf.CollectionSpec{}, &ebpf.Collection{})
	if err != nil {
		t.Fatal(err)
	}
	if got := plain.Unreadable(&Location{ArgString: "4@?"}); got != nil {
		t.Errorf("unreadable %v without usdt.bpf.h", got)
	}
}

// fakeLink is a link that does nothing, or fails.
type fakeLink struct {
	link.Link
	err error
}

func (l fakeLink) Close() error     { return l.err }
func (l fakeLink) Pin(string) error { return l.err }

// After the collection was closed, the error says so; a target that is missing is an
// error as well.
func TestManagerOfClosedCollection(t *testing.T) {
	m, c := newTestManager(t, 3)
	prog := c.Programs["on_probe"]
	host, _ := HostMachine()
	target := &Target{Path: "/a", ID: FileID{Inode: 1}}
	target.Locations = []Location{{Machine: host, ArgString: "8@$1"}}
	if _, err := m.AttachAll(prog, []*Target{target, nil}, nil); err == nil || !strings.Contains(err.Error(), "target is nil") {
		t.Errorf("nil target: %v", err)
	}
	c.Close()
	if _, err := m.AttachUSDT(prog, target, nil); !errors.Is(err, os.ErrClosed) || !strings.Contains(err.Error(), "the program is closed") {
		t.Errorf("error %v, want %v", err, os.ErrClosed)
	}
	if specs, ips := m.inUse(); specs != 0 || ips != 0 {
		t.Errorf("%d descriptions and %d addresses in use", specs, ips)
	}
}
