package trace

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
)

// maxComms bounds the names of processes that are remembered.
const maxComms = 1 << 14

// A countsKey tells maps of counts apart: each clause has its own, so that one that is
// full costs no other anything, and one for each size of keys.
type countsKey struct{ clause, size int }

// countsOf returns the map that counts keys of a size for a clause.
func (s *Session) countsOf(c *clause, size int) (*ebpf.Map, error) {
	s.countsMu.Lock()
	defer s.countsMu.Unlock()
	key := countsKey{c.index, size}
	if m := s.counts[key]; m != nil {
		return m, nil
	}
	m, err := ebpf.NewMap(&ebpf.MapSpec{
		Name: "nopfire_counts", Type: ebpf.Hash,
		KeySize: uint32(size), ValueSize: 8, MaxEntries: uint32(s.opts.MaxKeys),
	})
	if err != nil {
		return nil, explain("create map of counts", err)
	}
	s.counts[key] = m
	return m, nil
}

// Rows returns what has been counted so far, by clause, then by probe, process and
// key. Counting goes on, and later rows include it. It may be called while Events
// runs, and after it has ended, until Close.
func (s *Session) Rows() ([]Row, error) {
	t := rowTable{session: s, rows: make(map[string]*tableRow), comms: make(map[uint32]string)}
	s.countsMu.Lock()
	defer s.countsMu.Unlock()
	if s.counts == nil {
		return nil, fmt.Errorf("trace: rows: %w", os.ErrClosed)
	}
	for _, m := range s.counts {
		if err := eachCount(m, t.add); err != nil {
			return nil, fmt.Errorf("trace: read counts: %w", err)
		}
	}
	return t.sorted(), nil
}

// eachCount calls f for each entry of a map of counts, many of which are read at once
// if the kernel can (Linux 5.6). Entries stay where they are and never go, so that
// each is met once, though others are added meanwhile.
func eachCount(m *ebpf.Map, f func(key []byte, count uint64) error) error {
	const batch = 4096
	size := int(m.KeySize())
	// The package wants a slice with an element for each key.
	keys := reflect.MakeSlice(reflect.SliceOf(reflect.ArrayOf(size, reflect.TypeFor[byte]())), batch, batch)
	counts := make([]uint64, batch)
	var cursor ebpf.MapBatchCursor
	for {
		n, err := m.BatchLookup(&cursor, keys.Interface(), counts, nil)
		if errors.Is(err, ebpf.ErrNotSupported) {
			return iterateCounts(m, f)
		}
		if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return err
		}
		for i := range n {
			if err := f(keys.Index(i).Bytes(), counts[i]); err != nil {
				return err
			}
		}
		if err != nil {
			return nil // that was all
		}
	}
}

// iterateCounts is eachCount, entry by entry.
func iterateCounts(m *ebpf.Map, f func(key []byte, count uint64) error) error {
	key, count := make([]byte, m.KeySize()), uint64(0)
	it := m.Iterate()
	for it.Next(&key, &count) {
		if err := f(key, count); err != nil {
			return err
		}
	}
	return it.Err()
}

// A rowTable gathers rows.
type rowTable struct {
	session *Session
	rows    map[string]*tableRow
	comms   map[uint32]string
}

// A tableRow is a row in the making.
type tableRow struct {
	Row
	key     string
	clause  *clause
	signed  bool
	buckets map[uint32]uint64
}

// add adds an entry. Probes of one name, whose arguments are in several places, are
// one.
func (t *rowTable) add(key []byte, count uint64) error {
	if count == 0 {
		return nil // being made just now
	}
	order := binary.NativeEndian
	cookie := order.Uint64(key[keyCookie:])
	p := t.session.probes.get(cookie)
	if p == nil || !p.clause.counts() || len(key) < p.size {
		return fmt.Errorf("key of unknown probe %d", cookie)
	}
	values := slices.Clone(p.blank)
	pid := order.Uint32(key[keyPID:])
	var id strings.Builder
	fmt.Fprintf(&id, "%d %q %q %d", p.clause.index, p.provider, p.name, pid)
	for i := range p.fields {
		p.fields[i].readKey(&values[i], key)
		fmt.Fprintf(&id, " %T %s", values[i].Value, values[i])
	}
	r := t.rows[id.String()]
	if r == nil {
		r = &tableRow{
			Row: Row{Clause: p.clause.index, Provider: p.provider, Probe: p.name, PID: int(pid), Key: values, ValueType: p.typ},
			key: id.String(), clause: p.clause, buckets: make(map[uint32]uint64),
		}
		if p.clause.ByProcess {
			r.Comm = t.comm(pid)
		}
		t.rows[r.key] = r
	}
	if r.ValueType != p.typ {
		r.ValueType = ""
	}
	r.Count += count
	r.signed = r.signed || p.signed
	if p.clause.Aggregate != Count {
		r.buckets[order.Uint32(key[keyBucket:])] += count
	}
	return nil
}

// comm returns the name of a process: the one that it has, or else the one that it
// had when it was first counted.
func (t *rowTable) comm(pid uint32) string {
	if name, ok := t.comms[pid]; ok {
		return name
	}
	var name string
	if b, err := os.ReadFile("/proc/" + strconv.Itoa(int(pid)) + "/comm"); err == nil {
		name = strings.TrimSuffix(string(b), "\n")
	} else {
		var b [commLen]byte
		if err := t.session.comms.Lookup(pid, &b); err == nil {
			name = cString(b[:])
		}
	}
	t.comms[pid] = name
	return name
}

// sorted returns the rows.
func (t *rowTable) sorted() []Row {
	list := make([]*tableRow, 0, len(t.rows))
	for _, r := range t.rows {
		r.finish()
		list = append(list, r)
	}
	slices.SortFunc(list, compareRows)
	rows := make([]Row, len(list))
	for i, r := range list {
		rows[i] = r.Row
	}
	return rows
}

// finish makes the buckets of a histogram.
func (r *tableRow) finish() {
	numbers := make([]uint32, 0, len(r.buckets))
	for n := range r.buckets {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		b := r.clause.bucket(n, r.signed)
		b.Count = r.buckets[n]
		r.Buckets = append(r.Buckets, b)
	}
}

func compareRows(a, b *tableRow) int {
	if c := a.Clause - b.Clause; c != 0 {
		return c
	}
	if c := strings.Compare(a.Provider, b.Provider); c != 0 {
		return c
	}
	if c := strings.Compare(a.Probe, b.Probe); c != 0 {
		return c
	}
	if c := a.PID - b.PID; c != 0 {
		return c
	}
	for i := range min(len(a.Key), len(b.Key)) {
		if c := compareValues(a.Key[i], b.Key[i]); c != 0 {
			return c
		}
	}
	return strings.Compare(a.key, b.key)
}

// compareValues orders numbers by size, and others by their text.
func compareValues(a, b Value) int {
	x, okX := a.Value.(int64)
	y, okY := b.Value.(int64)
	if okX && okY {
		return cmp.Compare(x, y)
	}
	u, okU := unsigned(a.Value)
	v, okV := unsigned(b.Value)
	if okU && okV {
		return cmp.Compare(u, v)
	}
	f, okF := a.Value.(float64)
	g, okG := b.Value.(float64)
	if okF && okG {
		return cmp.Compare(f, g)
	}
	return strings.Compare(a.String(), b.String())
}

func unsigned(v any) (uint64, bool) {
	switch v := v.(type) {
	case uint64:
		return v, true
	case Pointer:
		return uint64(v), true
	}
	return 0, false
}
