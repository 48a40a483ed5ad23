package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"github.com/nopfire/nopfire/bpfside/btfvalue"
)

// A Table is the content of a map, or the global variables of a section.
type Table struct {
	// Name is that of the map, or of the section: ".bss".
	Name string
	// Globals says that the keys are names of variables.
	Globals bool
	Entries []Entry
	// Left is how many entries were not read, because there are more than
	// MaxEntries.
	Left int
	// Err is why the content, or the rest of it, could not be read.
	Err error
}

// An Entry is one element of a map, or one variable.
type Entry struct {
	// Key is the key; a btfvalue.Text with the name of a variable.
	Key btfvalue.Value
	// Value is the value; of a per-CPU map the sum over all CPUs, if its type
	// is one that can be added up, and a btfvalue.Array of the values of each
	// CPU otherwise.
	Value btfvalue.Value
}

// MaxEntries is how many entries of a map Snapshot reads.
const MaxEntries = 10000

// Snapshot reads the global variables and the maps that can be read, sorted by
// name. Elements of arrays that are zero all over are left out, and so are the maps
// of libbpf's usdt.bpf.h. A map that cannot be read costs itself only.
func (s *Session) Snapshot() []Table {
	var out []Table
	bySection := make(map[string]*Table)
	for _, name := range slices.Sorted(maps.Keys(s.coll.Variables)) {
		vs := s.spec.Variables[name]
		v := s.coll.Variables[name]
		if vs == nil || vs.Type == nil || v.ReadOnly() || !settable(vs) {
			continue
		}
		t := bySection[vs.SectionName]
		if t == nil {
			t = &Table{Name: vs.SectionName, Globals: true}
			bySection[vs.SectionName] = t
		}
		data := make([]byte, v.Size())
		err := v.Get(data)
		var value btfvalue.Value
		if err == nil {
			value, err = btfvalue.Decode(vs.Type.Type, data)
		}
		if err != nil {
			value = btfvalue.Text(fmt.Sprintf("(%v)", err))
		}
		t.Entries = append(t.Entries, Entry{btfvalue.Text(name), value})
	}
	for _, name := range slices.Sorted(maps.Keys(bySection)) {
		out = append(out, *bySection[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.coll.Maps)) {
		ms := s.spec.Maps[name]
		if ms == nil || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "__bpf_usdt") || !readable(ms.Type) {
			continue
		}
		out = append(out, readMap(name, s.coll.Maps[name], ms))
	}
	return out
}

// readable tells the kinds of maps whose elements are data.
func readable(t ebpf.MapType) bool {
	switch t {
	case ebpf.Hash, ebpf.LRUHash, ebpf.Array, ebpf.LPMTrie,
		ebpf.PerCPUHash, ebpf.LRUCPUHash, ebpf.PerCPUArray:
		return true
	}
	return false
}

func perCPU(t ebpf.MapType) bool {
	return t == ebpf.PerCPUHash || t == ebpf.LRUCPUHash || t == ebpf.PerCPUArray
}

func readMap(name string, m *ebpf.Map, ms *ebpf.MapSpec) Table {
	t := Table{Name: name}
	skipZero := ms.Type == ebpf.Array || ms.Type == ebpf.PerCPUArray
	it := m.Iterate()
	key := make([]byte, m.KeySize())
	var one []byte
	var all [][]byte
	for {
		var ok bool
		if perCPU(ms.Type) {
			all = nil
			ok = it.Next(&key, &all)
		} else {
			ok = it.Next(&key, &one)
			all = [][]byte{one}
		}
		if !ok {
			break
		}
		if skipZero && zero(all) {
			continue
		}
		if len(t.Entries) == MaxEntries {
			t.Left++
			continue
		}
		t.Entries = append(t.Entries, Entry{decodeOr(ms.Key, key), values(ms.Value, all)})
	}
	t.Err = it.Err()
	slices.SortStableFunc(t.Entries, func(a, b Entry) int { return btfvalue.Compare(a.Key, b.Key) })
	return t
}

// decodeOr decodes data, which stays bytes if its type is not known.
func decodeOr(t btf.Type, data []byte) btfvalue.Value {
	if t != nil {
		if v, err := btfvalue.Decode(t, data); err == nil {
			return v
		}
	}
	return btfvalue.Bytes(slices.Clone(data))
}

// values makes one value of those of each CPU.
func values(t btf.Type, all [][]byte) btfvalue.Value {
	sum := decodeOr(t, all[0])
	list := btfvalue.Array{sum}
	canAdd := true
	for _, data := range all[1:] {
		v := decodeOr(t, data)
		list = append(list, v)
		if canAdd {
			sum, canAdd = btfvalue.Add(sum, v)
		}
	}
	if !canAdd {
		return list
	}
	return sum
}

func zero(all [][]byte) bool {
	for _, data := range all {
		for _, b := range data {
			if b != 0 {
				return false
			}
		}
	}
	return true
}
