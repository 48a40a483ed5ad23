package usdt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// A Manager attaches the programs of a collection to USDT probes. For programs on
// libbpf's usdt.bpf.h it keeps the map that describes the arguments: equal
// descriptions are stored once, and free places are used again. Its methods may be
// called concurrently.
type Manager struct {
	spec *ebpf.CollectionSpec
	coll *ebpf.Collection

	// layout is nil for an object without usdt.bpf.h: then the cookie of the
	// user is that of the kernel, and nothing has to be kept.
	layout *specLayout
	specs  *ebpf.Map
	// ips maps addresses to spec ids; nil where the kernel's cookie does.
	ips *ebpf.Map

	mu      sync.Mutex
	ids     map[string]uint32 // by description
	entries []specEntry       // by id
	free    []uint32
	ipRefs  map[uint64]int
}

// A specEntry is one place of the spec map.
type specEntry struct {
	description string
	refs        int
}

// NewManager returns a manager for the programs of a loaded collection. The
// specification must be the one that it was loaded from, after PrepareCollection.
// Of the collection, Programs and Maps are looked at: a caller of LoadAndAssign can
// fill one in. There is nothing to close but the links.
func NewManager(spec *ebpf.CollectionSpec, coll *ebpf.Collection) (*Manager, error) {
	m := &Manager{spec: spec, coll: coll, ids: make(map[string]uint32), ipRefs: make(map[uint64]int)}
	ms := spec.Maps[specMapName]
	if ms == nil {
		return m, nil
	}
	if m.specs = coll.Maps[specMapName]; m.specs == nil {
		return nil, fmt.Errorf("map %s is not among those of the collection", specMapName)
	}
	var err error
	if m.layout, err = newSpecLayout(ms, spec.ByteOrder); err != nil {
		return nil, fmt.Errorf("map %s: %w", specMapName, err)
	}
	if v := spec.Variables["LINUX_HAS_BPF_COOKIE"]; v != nil && len(v.Value) > 0 && v.Value[0] == 0 {
		if m.ips = coll.Maps[ipMapName]; m.ips == nil {
			return nil, fmt.Errorf("map %s is not among those of the collection", ipMapName)
		}
	}
	return m, nil
}

// AttachUSDT attaches a program of the collection to all locations of a target.
// It is as the function of this name; but for a program on usdt.bpf.h the cookies
// of the options are what bpf_usdt_cookie returns, and the method is the one that
// the collection was prepared for. Arguments that the program cannot read are
// errors of bpf_usdt_arg for these alone: see Unreadable.
//
// The caller closes the link, which also frees what describes the arguments. If
// nobody does, that place of the map stays taken as long as the manager lives.
func (m *Manager) AttachUSDT(prog *ebpf.Program, t *Target, opts *Options) (link.Link, error) {
	links, err := m.AttachAll(prog, []*Target{t}, opts)
	if err != nil {
		return nil, err
	}
	return links[0], nil
}

// Unreadable returns why arguments of a location cannot be read by programs of
// the collection that are built on usdt.bpf.h: nil if all can. Each error wraps
// ErrUnreadable.
func (m *Manager) Unreadable(loc *Location) []error {
	if m.layout == nil {
		return nil
	}
	_, errs := m.layout.encode(loc, 0)
	return errs
}

// AttachAll attaches a program to several targets, as the function of this name,
// and otherwise as AttachUSDT.
func (m *Manager) AttachAll(prog *ebpf.Program, targets []*Target, opts *Options) ([]link.Link, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Method == Auto {
		o.Method = m.methodOf(prog)
	}
	groups, err := groupTargets(targets, &o)
	if err != nil {
		return nil, err
	}
	if m.layout == nil {
		return attachGroups(prog, groups, &o)
	}
	// Before the map is asked, which may be closed as well.
	if err := usable(prog); err != nil {
		return nil, groups[0].fail(o.Method, err)
	}
	leases := make([]*lease, 0, len(groups))
	release := func() {
		for _, l := range leases {
			l.release()
		}
	}
	for _, g := range groups {
		l := &lease{m: m}
		leases = append(leases, l)
		if err := l.take(g, o.Cookie); err != nil {
			release()
			return nil, g.fail(o.Method, err)
		}
	}
	links, err := attachGroups(prog, groups, &o)
	if err != nil {
		release()
		return nil, err
	}
	for i := range links {
		links[i] = &leasedLink{Link: links[i], lease: leases[i]}
	}
	return links, nil
}

// usable reports why a program cannot be attached at all.
func usable(prog *ebpf.Program) error {
	switch {
	case prog == nil:
		return errors.New("no program")
	case prog.FD() < 0:
		return fmt.Errorf("the program is closed: %w", os.ErrClosed)
	}
	return nil
}

// methodOf returns the method that a program of the collection was loaded for.
func (m *Manager) methodOf(prog *ebpf.Program) Method {
	for name, p := range m.coll.Programs {
		if p != prog || m.spec.Programs[name] == nil {
			continue
		}
		if m.spec.Programs[name].AttachType == ebpf.AttachTraceUprobeMulti {
			return UprobeMulti
		}
		return PerfEvent
	}
	return Auto
}

// acquire stores a description and returns its id.
func (m *Manager) acquire(description []byte) (uint32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if id, ok := m.ids[string(description)]; ok {
		m.entries[id].refs++
		return id, nil
	}
	id := uint32(len(m.entries))
	fresh := true
	if n := len(m.free); n > 0 {
		id, fresh = m.free[n-1], false
	}
	if most := m.specs.MaxEntries(); id >= most {
		return 0, fmt.Errorf("all %d places of %s are taken: build the object with a larger BPF_USDT_MAX_SPEC_CNT, or set MaxEntries of the map's specification", most, specMapName)
	}
	if err := m.specs.Put(id, description); err != nil {
		return 0, fmt.Errorf("describe arguments: %w", err)
	}
	if fresh {
		m.entries = append(m.entries, specEntry{})
	} else {
		m.free = m.free[:len(m.free)-1]
	}
	m.entries[id] = specEntry{string(description), 1}
	m.ids[string(description)] = id
	return id, nil
}

// drop gives an id back.
func (m *Manager) drop(id uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := &m.entries[id]
	if e.refs--; e.refs > 0 {
		return
	}
	delete(m.ids, e.description)
	*e = specEntry{}
	m.free = append(m.free, id)
}

// inUse returns the number of stored descriptions and addresses.
func (m *Manager) inUse() (specs, ips int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.ids), len(m.ipRefs)
}

// addIP makes an address known.
func (m *Manager) addIP(ip uint64, id uint32) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := make([]byte, m.ips.KeySize())
	if err := putUint(key, binary.NativeEndian, ip); err != nil {
		return err
	}
	if m.ipRefs[ip] > 0 {
		var old uint32
		if err := m.ips.Lookup(key, &old); err == nil && old != id {
			return fmt.Errorf("address %#x is attached to with other arguments or another cookie, which a kernel without cookies cannot tell apart", ip)
		}
	}
	if err := m.ips.Put(key, id); err != nil {
		return fmt.Errorf("map %s: %w", ipMapName, err)
	}
	m.ipRefs[ip]++
	return nil
}

// dropIP forgets an address.
func (m *Manager) dropIP(ip uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ipRefs[ip]--; m.ipRefs[ip] > 0 {
		return
	}
	delete(m.ipRefs, ip)
	key := make([]byte, m.ips.KeySize())
	if putUint(key, binary.NativeEndian, ip) == nil {
		_ = m.ips.Delete(key) // the map may be closed already
	}
}

// A lease is what one link holds of the maps.
type lease struct {
	m    *Manager
	once sync.Once
	ids  []uint32
	ips  []uint64
}

// take describes the locations of a group, and puts the ids into its cookies.
func (l *lease) take(g *group, cookie uint64) error {
	for i, t := range g.targets {
		ids := make([]uint64, len(t.Locations))
		for j := range t.Locations {
			loc := &t.Locations[j]
			if loc.Err != nil {
				continue
			}
			user := cookie
			if g.cookies[i] != nil {
				user = g.cookies[i][j]
			}
			description, _ := l.m.layout.encode(loc, user)
			id, err := l.m.acquire(description)
			if err != nil {
				return err
			}
			l.ids = append(l.ids, id)
			ids[j] = uint64(id)
			if l.m.ips == nil {
				continue
			}
			addrs, err := runtimeAddresses(t, loc, g.pid)
			if err != nil {
				return err
			}
			for _, ip := range addrs {
				if err := l.m.addIP(ip, id); err != nil {
					return err
				}
				l.ips = append(l.ips, ip)
			}
		}
		g.cookies[i] = ids
	}
	return nil
}

// release gives everything back, once.
func (l *lease) release() {
	l.once.Do(func() {
		for _, ip := range l.ips {
			l.m.dropIP(ip)
		}
		for _, id := range l.ids {
			l.m.drop(id)
		}
	})
}

// A leasedLink is a link that holds a lease. The embedded link makes it a
// link.Link, which other packages cannot implement.
type leasedLink struct {
	link.Link
	lease *lease
}

// Close closes the link and frees what describes its arguments.
func (l *leasedLink) Close() error {
	err := l.Link.Close()
	l.lease.release()
	return err
}

// Detach detaches the link, which remains to be closed.
func (l *leasedLink) Detach() error {
	err := l.Link.Detach()
	if err == nil {
		l.lease.release()
	}
	return err
}

// Pin pins the link. As it may then outlive this process, what describes its
// arguments is never freed.
func (l *leasedLink) Pin(path string) error {
	if err := l.Link.Pin(path); err != nil {
		return err
	}
	l.lease.once.Do(func() {})
	return nil
}

var errNoCookies = errors.New("the kernel has no bpf cookies, and without them the address at which a file is loaded must be known: give a pid")

// putUint writes the low bytes of n.
func putUint(dst []byte, order binary.ByteOrder, n uint64) error {
	switch len(dst) {
	case 1:
		dst[0] = byte(n)
	case 2:
		order.PutUint16(dst, uint16(n))
	case 4:
		order.PutUint32(dst, uint32(n))
	case 8:
		order.PutUint64(dst, n)
	default:
		return fmt.Errorf("variable of %d bytes", len(dst))
	}
	return nil
}
